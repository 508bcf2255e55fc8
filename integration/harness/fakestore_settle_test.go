package harness

import (
	"net/http"
	"testing"
	"time"
)

// A store with a Settle has an effect while somebody waits for it, or soon after
// that, or never.
func TestFakeStoreSettles(t *testing.T) {
	const soon, late = 10 * time.Millisecond, 100 * time.Millisecond
	for name, c := range map[string]struct {
		plan  Plan
		stays bool // the client
		none  bool
	}{
		"there, and slow":        {plan: Plan{Settle: soon, Delay: late}, stays: true},
		"gone, and soon":         {plan: Plan{Settle: Patience, UntilGone: true, Delay: soon}},
		"gone, and too late":     {plan: Plan{Settle: soon, UntilGone: true, Delay: late}, none: true},
		"dropped, and soon":      {plan: Plan{Settle: Patience, Drop: Reset, Delay: soon}},
		"dropped, and too late":  {plan: Plan{Settle: soon, Drop: FIN, Delay: late}, none: true},
		"gone, without a settle": {plan: Plan{UntilGone: true, Delay: late}},
	} {
		for _, over := range []string{"", " over a line"} {
			t.Run(name+over, func(t *testing.T) {
				leaksNothing(t)
				s := NewFakeStore(t)
				addr := s.Addr()
				if over != "" {
					l := NewLine(t, addr)
					s.Behind(l)
					addr = l.Addr()
				}
				s.Queue(http.MethodPut, "/a", c.plan)
				conn := talkTo(t, addr)
				conn.put("/a", "new")
				s.AwaitRequest("the PUT whole", func(r Request) bool { return r.Whole > 0 })
				if !c.stays {
					_ = conn.SetLinger(0)
					conn.Close()
				}
				if !c.none {
					s.AwaitEffect("the PUT", func(e Effect) bool { return e.ID == "new" })
					return
				}
				Eventually(t, "the store to be done with it", func() (any, bool) {
					s.mu.Lock()
					defer s.mu.Unlock()
					return len(s.open), len(s.open) == 0
				})
				happened(t, s)
			})
		}
	}
}

// What a line has held back while its sender gave up comes too late.
func TestFakeStoreSettlesBehindAStalledLine(t *testing.T) {
	leaksNothing(t)
	s := NewFakeStore(t)
	l := NewLine(t, s.Addr())
	s.Behind(l)
	s.Plan(func(Request) Plan { return Plan{Settle: time.Nanosecond} })
	conn := talkTo(t, l.Addr())
	conn.send("PUT /a HTTP/1.1\r\nHost: store\r\nContent-Length: 3\r\n\r\nne")
	s.AwaitRequest("the PUT", func(r Request) bool { return r.Received == 2 })
	l.Stall(Up)
	conn.send("w")
	_ = conn.SetLinger(0)
	conn.Close()
	l.Resume(Up)
	Eventually(t, "the line to be free", func() (any, bool) { return l.Connections(), l.Connections() == 0 })
	s.close() // everything has happened then
	happened(t, s)
}
