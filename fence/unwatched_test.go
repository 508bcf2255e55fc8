package fence

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// doneCounts is a context that is told when somebody asks for its Done.
type doneCounts struct {
	context.Context
	asked int
}

func (c *doneCounts) Done() <-chan struct{} {
	c.asked++
	return c.Context.Done()
}

// A short wait does not ask for the end of its context, a longer one goes by it,
// and both have MaxWait.
func TestUnwatchedWait(t *testing.T) {
	for _, c := range []struct {
		name          string
		settles, ends time.Duration // when the one before is done, and the context ends
		takes         time.Duration
		asked         int
		want          Reason
	}{
		{"short", 9 * time.Millisecond, 5 * time.Millisecond, 9 * time.Millisecond, 0, ""},
		{"longer", 500 * time.Millisecond, time.Hour, 500 * time.Millisecond, 1, ""},
		{"left early", time.Hour, 5 * time.Millisecond, 10 * time.Millisecond, 1, ClientGone},
		{"left later", time.Hour, 50 * time.Millisecond, 50 * time.Millisecond, 1, ClientGone},
		{"gone before", time.Hour, 0, 0, 1, ClientGone},
		{"too long", time.Hour, time.Hour, time.Second, 1, Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := Start(t.Context(), newFakeLedger(), Options{MaxWait: time.Second, Unwatched: 10 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Stop(context.Background())
				request := Request{Touches: []Touch{{Fence: ResourceOf("/a"), Object: ResourceOf("/a"), Policy: Require, Stamp: Stamp{Token: 5}}}}
				first, v := g.Arrive(t.Context(), request)
				if !v.OK() || !first.Begin(t.Context()).OK() {
					t.Fatal(v)
				}
				request.Touches[0].Token = 6 // waits for the first
				second, v := g.Arrive(t.Context(), request)
				if !v.OK() {
					t.Fatal(v)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				counts := &doneCounts{Context: ctx}
				time.AfterFunc(c.settles, func() { first.Done(Definite) })
				if c.ends == 0 {
					cancel()
				} else {
					time.AfterFunc(c.ends, cancel)
				}
				start := time.Now()
				if v := second.Begin(counts); v.Reason != c.want {
					t.Errorf("it is told %+v, want %q", v, c.want)
				}
				if took := time.Since(start); took != c.takes || counts.asked != c.asked {
					t.Errorf("after %v, and Done was asked for %d times; want %v and %d", took, counts.asked, c.takes, c.asked)
				}
				second.Withdraw()
				first.Done(Definite)
			})
		})
	}
}
