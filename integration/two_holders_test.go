package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/integration/harness"
)

const (
	rivalTTL    = 300 * time.Millisecond
	rivalSettle = 200 * time.Millisecond
	// rivalBound is when the rightful holder has to be through; five times that
	// is given to a loaded machine.
	rivalBound = rivalTTL + rivalSettle + time.Second
)

// rivalries are what makes two clients believe to hold one lock. Each is done to
// a Redis whose lock A holds; asleep says that A is stopped meanwhile, since the
// key would stay A's otherwise.
var rivalries = []struct {
	name   string
	asleep bool
	// before comes before A takes the lock.
	before, happens func(*rivals)
}{
	{name: "pause", asleep: true},
	{name: "FLUSHALL", happens: func(r *rivals) { r.do("FLUSHALL") }},
	{name: "failover to an empty replica",
		before:  func(r *rivals) { r.do("FLUSHALL"); r.do("SAVE") },
		happens: func(r *rivals) { r.scene.redis.Restart() }},
	{name: "failover to a stale replica",
		before:  func(r *rivals) { r.do("SAVE") },
		happens: func(r *rivals) { r.scene.redis.Restart() }},
	{name: "SCRIPT FLUSH", asleep: true, happens: func(r *rivals) { r.do("SCRIPT", "FLUSH") }},
	{name: "DEBUG SLEEP", happens: func(r *rivals) { r.do("DEBUG", "SLEEP", fmt.Sprint(2*rivalTTL.Seconds())) }},
	{name: "counter deleted", asleep: true, happens: func(r *rivals) { r.do("DEL", counterKey) }},
	{name: "counter an hour ahead", asleep: true, happens: func(r *rivals) { r.setCounter(time.Hour) }},
	{name: "counter an hour back", asleep: true, happens: func(r *rivals) { r.setCounter(-time.Hour) }},
	{name: "FLUSHALL in a pause", asleep: true, happens: func(r *rivals) { r.do("FLUSHALL") }},
}

// Whatever makes two clients hold one lock, they never both write: once the
// later one has it, nothing of the earlier one takes effect, and the later one is
// not kept waiting. Shown: S1, S2 and liveness, over a store behind the network.
func TestTwoHoldersNeverBothWrite(t *testing.T) {
	t.Parallel()
	const lanes = 4
	rounds := harness.Scale(500)
	for lane := range lanes {
		for _, tokens := range []string{"time", "plain"}[lane%2 : lane%2+1] {
			t.Run(fmt.Sprintf("lane %d, %s tokens", lane, tokens), func(t *testing.T) {
				t.Parallel()
				r := newRivals(t, tokens, uint64(lane))
				var slowest time.Duration
				for n := lane; n < rounds; n += lanes {
					slowest = max(slowest, r.round(n))
				}
				t.Logf("the slowest took the lock over in %v", slowest)
			})
		}
	}
}

// rivals are two holders of the locks of one Redis.
type rivals struct {
	*scene
	store  *harness.FakeStore
	a, b   *holder
	random *rand.Rand
}

func newRivals(t *testing.T, tokens string, seed uint64) *rivals {
	t.Helper()
	store := harness.NewFakeStore(t)
	s := &scene{t: t, redis: harness.Redis(t, append(savesNow, "--enable-debug-command", "yes")...)}
	s.fence = harness.Fencegate(t, "--upstream", store.URL(), "--settle", rivalSettle.String())
	s.rdb = redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	t.Cleanup(func() { s.rdb.Close() })
	return &rivals{
		scene: s, store: store, random: rand.New(rand.NewPCG(seed, 1)),
		a: s.holder("host-a/1", rivalTTL, tokens), b: s.holder("host-b/2", rivalTTL, tokens),
	}
}

// do sends a command to Redis.
func (r *rivals) do(args ...any) {
	r.t.Helper()
	if err := r.rdb.Do(context.Background(), args...).Err(); err != nil {
		r.t.Fatalf("redis, %v: %v", args, err)
	}
}

func (r *rivals) setCounter(by time.Duration) {
	now := time.Now().Add(by).UnixMicro()
	r.do("SET", counterKey, strconv.FormatInt(now, 10))
}

// round has a hold a lock, b take it over, and a write once more. It returns how
// long b waited. Then they change places.
func (r *rivals) round(n int) time.Duration {
	r.t.Helper()
	rivalry := rivalries[n/4%len(rivalries)]
	path := fmt.Sprintf("/rival/%d", n%7)
	a, b := r.a, r.b
	r.a, r.b = b, a
	if rivalry.before != nil {
		rivalry.before(r)
	}
	a.lock(path)
	a.writes(fmt.Sprintf("%d first of A", n))
	if rivalry.asleep {
		a.Pause()
	}
	if rivalry.happens != nil {
		rivalry.happens(r)
	}
	start := time.Now()
	b.lock(path)
	waited := time.Since(start)
	if waited > 5*rivalBound {
		r.t.Errorf("round %d, %s: the next holder waited for %v, want %v at most on an idle machine", n, rivalry.name, waited, rivalBound)
	}
	taken := harness.Monotonic()
	early := r.random.IntN(2) == 0 // B's first write comes before A's late one, or after
	if early {
		b.writes(fmt.Sprintf("%d first of B", n))
	}
	if rivalry.asleep {
		a.Resume()
	}
	late := fmt.Sprintf("%d late of A", n)
	a.Send("put " + late)
	if answer := a.AwaitLine(""); !strings.HasPrefix(answer, "412 stale_token") && !strings.HasPrefix(answer, "409 owner_conflict") {
		r.t.Errorf("round %d, %s: A, with token %s, is answered %q after B has taken the lock with %s", n, rivalry.name, a.token, answer, b.token)
	}
	b.writes(fmt.Sprintf("%d last of B", n))
	b.Send("unlock")
	if told := b.AwaitLine(""); told != "unlocked" && !strings.Contains(told, "is not held") { // its lease is short
		r.t.Errorf("round %d, %s: B's release: %s", n, rivalry.name, told)
	}
	a.Send("unlock")
	if told := a.AwaitLine(""); !strings.Contains(told, "is not held") {
		r.t.Errorf("round %d, %s: A's release: %s", n, rivalry.name, told)
	}
	for _, e := range r.store.Effects() {
		if e.Path == path && e.At > taken && strings.Contains(e.Body, "of A") && strings.HasPrefix(e.Body, strconv.Itoa(n)+" ") {
			r.t.Errorf("round %d, %s: %v has taken effect after B had the lock", n, rivalry.name, e)
		}
	}
	if got := r.store.Objects()[path]; got != fmt.Sprintf("%d last of B", n) {
		r.t.Errorf("round %d, %s: the object holds %q", n, rivalry.name, got)
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
	return waited
}

// writes puts a text, which has to be stored.
func (h *holder) writes(text string) {
	h.t.Helper()
	h.Send("put " + text)
	if answer := h.AwaitLine(""); !strings.HasPrefix(answer, "20") {
		h.t.Fatalf("%s writes %q: answered %q", h.name, text, answer)
	}
}
