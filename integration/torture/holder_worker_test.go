package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
	"fencegate/integration/harness"
	"fencegate/integration/history"
	"fencegate/lockclient"
)

// patience of a holder with one request; then the request is lost to it.
const patience = 2 * time.Second

// runHolder is a process of lock holders that lock, read and write until a line
// comes, or the end of standard input; then it says "done".
func runHolder(args []string) int {
	flags := flag.NewFlagSet("holder", flag.ExitOnError)
	redisAddr := flags.String("redis", "", "")
	url := flags.String("fence", "", "")
	name := flags.String("name", "", "the start of all ids, of no other process")
	file := flags.String("record", "", "")
	seed := flags.Uint64("seed", 0, "")
	holders := flags.Int("holders", 0, "")
	plain := flags.Bool("plain", false, "tokens from the counter alone")
	_ = flags.Parse(args)

	out, err := os.OpenFile(*file, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rdb := redis.NewClient(&redis.Options{
		Addr: *redisAddr, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		ContextTimeoutEnabled: true, MaxRetries: -1, // lockclient has its own
	})
	requests := recording{
		base:     &http.Transport{MaxIdleConnsPerHost: *holders, ResponseHeaderTimeout: patience},
		recorder: history.NewRecorder(out, func() int64 { return int64(harness.Monotonic()) }),
		name:     *name, last: new(atomic.Int64),
	}
	opts := []lockclient.Option{lockclient.WithClient(*name), lockclient.WithMaxWait(patience)}
	if *plain {
		opts = append(opts, lockclient.WithPlainCounter())
	}
	unclaimed, err := lockclient.New(rdb, opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	locks, err := lockclient.New(rdb, append(opts, lockclient.WithFence(*url),
		lockclient.WithHTTPClient(&http.Client{Transport: requests, Timeout: patience}))...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range *holders {
		h := &holder{
			ctx: ctx, random: rand.New(rand.NewPCG(*seed, uint64(i))), locks: locks, unclaimed: unclaimed,
			requests: requests, url: *url, name: fmt.Sprint(*name, "-", i),
		}
		running.Go(h.run)
	}
	bufio.NewScanner(os.Stdin).Scan()
	stop()
	running.Wait()
	fmt.Println("done")
	return 0
}

// holder is one client.
type holder struct {
	ctx       context.Context
	random    *rand.Rand
	locks     *lockclient.Client
	unclaimed *lockclient.Client // knows nothing of the fence, as other lock libraries
	requests  recording
	url       string
	name      string
	writes    int
	old       []held // stamps of locks that are given back
}

// held is a stamp and what it is for.
type held struct {
	place
	fence.Stamp
	unclaimed bool // the first that the fence hears of it is a write
}

func (h *holder) chance(percent int) bool { return h.random.IntN(100) < percent }

func (h *holder) run() {
	for h.ctx.Err() == nil {
		if len(h.old) > 0 && h.chance(12) {
			h.haunt()
			continue
		}
		h.hold()
	}
}

// hold takes a lock, works under it and gives it back.
func (h *holder) hold() {
	p := places[h.random.IntN(len(places))]
	opts := []lockclient.Option{lockclient.WithTTL(time.Duration(100+h.random.IntN(200)) * time.Millisecond)}
	if p.tree {
		opts = append(opts, lockclient.WithTree())
	}
	locks, unclaimed := h.locks, h.chance(20)
	if unclaimed {
		locks = h.unclaimed
	}
	l, err := locks.Lock(h.ctx, p.lock, opts...)
	if err != nil {
		h.think(20)
		return
	}
	now := held{p, l.Stamp(), unclaimed}
	if h.old = append(h.old, now); len(h.old) > 4 {
		h.old = h.old[1:]
	}
	unlock := func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = l.Unlock(ctx) // lost, or Redis is: both are meant
	}
	// A careless holder looks at its lease when it gets it and never again.
	if unclaimed || h.chance(25) {
		early := h.chance(20)
		if early {
			unlock()
		}
		h.work(now, h.requests)
		if !early {
			unlock()
		}
		return
	}
	h.work(now, l.Transport(h.requests))
	unlock()
}

// haunt goes on under a lock that was given back, as a process that was paused
// for long does.
func (h *holder) haunt() {
	was := h.old[h.random.IntN(len(h.old))]
	switch h.random.IntN(8) {
	case 0:
		h.claim(was)
		return
	case 1:
		was.Owner = fence.Owner(h.name) // somebody else who got the same number
	case 2:
		was.Stamp = fence.Stamp{}
	}
	h.work(was, h.requests)
}

// work reads and writes a few objects with the stamp. Errors are in the record.
func (h *holder) work(with held, by http.RoundTripper) {
	careless := by == http.RoundTripper(h.requests)
	client := &http.Client{Transport: by, Timeout: patience}
	for range 1 + h.random.IntN(40) {
		object := with.objects[h.random.IntN(len(with.objects))]
		method, body := http.MethodPut, ""
		switch n := h.random.IntN(20); {
		case n < 3:
			method = http.MethodGet
		case n < 5, with.tree && object == with.lock: // which holds the others, as a directory does
			method = http.MethodDelete
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), patience)
		h.writes++
		id := fmt.Sprint(h.name, ".", h.writes)
		if method == http.MethodPut {
			body = bodyOf(id, h.size())
		}
		req, err := http.NewRequestWithContext(ctx, method, h.url+object, h.upload(body))
		if err != nil {
			panic(err)
		}
		if body != "" && h.chance(50) { // else one that comes in pieces comes in chunks
			req.ContentLength = int64(len(body))
		}
		if method != http.MethodGet {
			req.Header.Set(headerWriteID, id)
		}
		if with.unclaimed {
			req.Header.Set(headerUnclaimed, "1")
		}
		if careless && with.Token != fence.NoToken {
			req.Header.Set("X-Fencing-Token", with.Token.String())
			req.Header.Set("X-Fencing-Owner", string(with.Owner))
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		cancel()
		if err != nil || resp.StatusCode >= 500 {
			h.think(10)
		}
		// Whoever is told that its token is stale stops, or tries a little more.
		if h.ctx.Err() != nil || (err != nil || resp.StatusCode == http.StatusPreconditionFailed) && h.chance(60) {
			return
		}
	}
}

// claim claims by hand, sometimes a tree.
func (h *holder) claim(with held) {
	body, err := json.Marshal(map[string]any{
		"resource": with.lock, "token": with.Token.String(), "owner": with.Owner, "tree": with.tree || h.chance(10),
	})
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequest(http.MethodPost, h.url+claimsPath, strings.NewReader(string(body)))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: h.requests, Timeout: patience}
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
	}
}

// upload is a body, which now and then comes in pieces.
func (h *holder) upload(body string) io.Reader {
	if body == "" || !h.chance(3) {
		return strings.NewReader(body)
	}
	cut := h.random.IntN(len(body))
	return io.MultiReader(strings.NewReader(body[:cut]), &pause{time.Duration(h.random.IntN(100)) * time.Millisecond}, strings.NewReader(body[cut:]))
}

// pause is a reader that takes its time and has nothing.
type pause struct{ d time.Duration }

func (p *pause) Read([]byte) (int, error) {
	time.Sleep(p.d)
	return 0, io.EOF
}

// size is mostly small, sometimes more than buffers hold.
func (h *holder) size() int {
	if h.chance(2) {
		return 200_000
	}
	return h.random.IntN(400)
}

// think waits up to so many ms.
func (h *holder) think(ms int) {
	select {
	case <-time.After(time.Duration(h.random.IntN(ms*1000)) * time.Microsecond):
	case <-h.ctx.Done():
	}
}
