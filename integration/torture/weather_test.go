package torture

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fencegate/integration/harness"
)

// weather is what the store does to requests. It misbehaves in every way that a
// fence has to bear, and in none that it cannot: what has an effect has it
// before its answer, or within settle after the sender gave up.
type weather struct {
	foul *atomic.Bool

	mu      sync.Mutex
	random  *rand.Rand
	highest marks // tokens that came, by resource
	trap    *trap // nil: none is set
}

// misbehaviour is how the store treats one of so many requests.
type misbehaviour struct {
	oneIn int
	plan  func(random *rand.Rand) harness.Plan
}

// pick chooses one of items.
func pick[T any](random *rand.Rand, items ...T) T { return items[random.IntN(len(items))] }

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

var misbehaviours = []misbehaviour{
	{8, func(r *rand.Rand) harness.Plan { return harness.Plan{Delay: upTo(r, 4*time.Millisecond)} }},
	{400, func(r *rand.Rand) harness.Plan { return harness.Plan{Delay: upTo(r, giveUp)} }},
	{600, func(r *rand.Rand) harness.Plan { return harness.Plan{UntilGone: true, Delay: upTo(r, settle)} }},
	{400, func(r *rand.Rand) harness.Plan {
		return harness.Plan{Drop: pick(r, harness.FIN, harness.Reset), Delay: upTo(r, settle)}
	}},
	{600, func(*rand.Rand) harness.Plan { return harness.Plan{Never: true} }},
	{600, func(*rand.Rand) harness.Plan { return harness.Plan{UntilGone: true, NoEffect: true} }},
	{400, func(*rand.Rand) harness.Plan { return harness.Plan{Lose: true} }},
	{400, func(r *rand.Rand) harness.Plan { return harness.Plan{CutAnswer: 1 + r.IntN(60)} }},
	{400, func(r *rand.Rand) harness.Plan { return harness.Plan{CutBody: 1 + r.Int64N(100)} }},
	{400, func(r *rand.Rand) harness.Plan { return harness.Plan{Status: pick(r, 500, 502, 503, 504, 408, 202)} }},
	{400, func(r *rand.Rand) harness.Plan {
		return harness.Plan{Status: pick(r, 500, 503, 504, 403, 412, 507), NoEffect: true}
	}},
	{400, func(r *rand.Rand) harness.Plan {
		return harness.Plan{Early: true, Status: pick(r, 413, 503, 401), Close: r.IntN(2) == 0}
	}},
	{400, func(r *rand.Rand) harness.Plan { // answers at once, and takes effect when nobody waits any more
		status := pick(r, "500 Internal Server Error", "503 Service Unavailable", "408 Request Timeout", "202 Accepted")
		return harness.Plan{First: []string{status + "\r\nContent-Length: 0"}, UntilGone: true, Delay: upTo(r, settle)}
	}},
	{300, func(r *rand.Rand) harness.Plan { return harness.Plan{Pace: upTo(r, 3*time.Millisecond)} }},
	{300, func(r *rand.Rand) harness.Plan { return harness.Plan{First: []string{"103 Early Hints"}} }},
	{300, func(r *rand.Rand) harness.Plan { return harness.Plan{Close: true} }},
}

func (w *weather) plan(r harness.Request) harness.Plan {
	plan := harness.Plan{}
	if w.foul.Load() {
		w.mu.Lock()
		for _, m := range misbehaviours {
			if w.random.IntN(m.oneIn) == 0 {
				plan = m.plan(w.random)
			}
		}
		token, resource := written(r.Path, r.Header)
		if w.trap != nil && r.Method == http.MethodPut && (w.trap.any || token > w.highest[resource] && r.Header.Get(headerUnclaimed) != "") {
			plan = w.trap.plan(w.random)
			w.trap = nil
		}
		w.highest[resource] = max(w.highest[resource], token)
		w.mu.Unlock()
	}
	if r.Method == http.MethodGet && plan.Status/100 == 2 {
		plan.Status = 0 // an answer without the value is no answer to a read
	}
	plan.Settle = settle
	return plan
}
