package lockclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// record holds what has been seen of one lock's tokens.
type record struct {
	t       *testing.T
	mu      sync.Mutex
	highest fence.Token
	seen    map[fence.Token]bool
}

// next notes an acquisition that began when highest was before. While its
// lease holds nobody else can have been given the lock since.
func (r *record) next(l *Lock, before fence.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, held := l.Token(), l.Err() == nil
	switch {
	case r.seen[token]:
		r.t.Errorf("token %s was given twice", token)
	case token <= before:
		r.t.Errorf("token %s, although %s was given before it was asked for", token, before)
	case held && token <= r.highest:
		r.t.Errorf("token %s after %s", token, r.highest)
	}
	r.seen[token] = true
	r.highest = max(r.highest, token)
}

func (r *record) before() fence.Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.highest
}

// Tokens rise in every run: nodes are frozen and killed with all their data, a
// minority at a time; commands arrive long after their senders have given up;
// holders crash. The counters alone make the tokens: the nodes' clocks, which in
// a test are the same one, would hide every fault. FENCEGATE_SOAK=1 runs all
// 5,000 acquisitions, otherwise a tenth.
func TestTokensRiseInAQuorum(t *testing.T) {
	total := 500
	if os.Getenv("FENCEGATE_SOAK") != "" {
		total = 5000
	}
	for _, tc := range []struct{ nodes, share int }{{3, total * 3 / 5}, {5, total * 2 / 5}} {
		t.Run(fmt.Sprintf("%d nodes", tc.nodes), func(t *testing.T) { tokensRiseInAQuorum(t, tc.nodes, tc.share) })
	}
}

func tokensRiseInAQuorum(t *testing.T, nodes, total int) {
	const ttl = 400 * time.Millisecond
	g := startGroup(t, nodes)
	var ghosts, crashes, faults atomic.Int64
	// Some acquisitions and write-backs reach their node when nobody waits for
	// them any more.
	late := func(int) redis.Hook {
		return hookFunc(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			if (runs(cmd, acquireScript) || runs(cmd, writebackScript)) && rand.N(20) == 0 {
				ghosts.Add(1)
				ctx = context.WithoutCancel(ctx)
				time.Sleep(rand.N(3 * nodeTimeout(ttl)))
			}
			return next(ctx, cmd)
		})
	}
	r := &record{t: t, seen: map[fence.Token]bool{}}
	var done atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range 4 {
		c := g.hooked(late, WithPlainCounter(), WithTTL(ttl))
		for range 2 {
			wg.Go(func() {
				for done.Load() < int64(total) {
					before := r.before()
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					l, err := c.Lock(ctx, "/r")
					cancel()
					if err != nil {
						t.Errorf("not in a minute: %v", err)
						return
					}
					r.next(l, before)
					if done.Add(1)%100 == 0 { // it crashes: nobody releases
						crashes.Add(1)
						_ = l.lose(Expired, errors.New("crashed"))
						continue
					}
					if rand.N(4) == 0 {
						time.Sleep(rand.N(2 * time.Millisecond))
					}
					_ = l.Unlock(context.Background())
				}
			})
		}
	}
	stop := make(chan struct{})
	var fault sync.WaitGroup
	fault.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(rand.N(100 * time.Millisecond)):
			}
			faults.Add(1)
			// Any minority: of five nodes one or two.
			minority := rand.Perm(nodes)[:1+rand.N(nodes/2)]
			var frozen sync.WaitGroup
			var killed []int
			for _, i := range minority {
				if rand.N(2) == 0 {
					g.nodes[i].kill()
					killed = append(killed, i)
					continue
				}
				frozen.Go(func() {
					g.nodes[i].freeze()
					time.Sleep(rand.N(ttl))
					g.nodes[i].thaw()
				})
			}
			frozen.Wait()
			if killed != nil {
				time.Sleep(ttl) // the rule for nodes without data
			}
			for _, i := range killed {
				g.rejoin(i)
			}
		}
	})
	wg.Wait()
	close(stop)
	fault.Wait()
	t.Logf("%d acquisitions in %v, %d times a minority failed, %d commands came late, %d holders crashed",
		len(r.seen), time.Since(begin).Round(time.Millisecond), faults.Load(), ghosts.Load(), crashes.Load())
	if faults.Load() == 0 || ghosts.Load() == 0 || crashes.Load() == 0 {
		t.Error("nothing failed: this test showed nothing")
	}
}
