package proxy

import (
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/proxy/protocol"
)

// What is explained is what happens: for each request, the answer without a
// token, with one, and with one that is too old follow from the explanation.
func TestExplanationsAreTrue(t *testing.T) {
	routes := []Route{
		{Name: "tree", Path: "/t/*", FenceTree: true, Policy: fence.Require},
		{Name: "owned", Path: "/o", OwnerRequired: true, Policy: fence.Require},
		{Path: "/open", Policy: fence.Open, AlsoWrites: []string{"POST"}},
		{Path: "/F", Policy: fence.Observe, Names: fence.NameOptions{FoldCase: true}, ResourceQuery: "v"},
	}
	rest := Route{Policy: fence.Adopt}
	kinds := map[protocol.Kind]int{}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "POST", "DELETE", "MKCOL", "FROB"} {
		for _, target := range []string{"/", "/t", "/t/1", "/t/1/x", "/o/a", "/open/a", "/f/A?v=1&w=2", "/x", "/x/../y", "/x;y", "http://h/x?a=b"} {
			e, err := Explain(protocol.Plain{}, Options{Routes: routes, Rest: rest}, method, target)
			if err != nil {
				t.Fatal(err)
			}
			kinds[e.Tokened]++
			w := open(t, routed(routes...), func(p *plan) { p.opts.Rest = rest })
			request := func(token, owner string) *answer {
				text := method + " " + target
				if token != "" {
					text += "\nX-Fencing-Token: " + token
				}
				if owner != "" {
					text += "\nX-Fencing-Owner: " + owner
				}
				c := w.dial()
				defer c.Close()
				c.send(text + "\nConnection: close")
				return c.answer(method)
			}
			is := func(a *answer, status int, reason fence.Reason) {
				t.Helper()
				if got := a.Header.Get(headerReason); a.StatusCode != status || got != string(reason) {
					t.Errorf("%s %s is explained as %+v and answered %d %s, want %d %s", method, target, *e, a.StatusCode, got, status, reason)
				}
			}
			passes := map[bool]int{true: 201, false: 200}[e.Tokened == protocol.Write]
			switch {
			case e.Refusal != nil:
				is(request("", ""), e.Status, e.Refusal.Reason)
				is(request("5", secret), e.Status, e.Refusal.Reason)
				continue
			case e.Meaning == protocol.Write && e.Touches[0].Policy == fence.Require:
				is(request("", ""), 428, fence.TokenMissing)
			default:
				is(request("", ""), passes, "")
			}
			if e.OwnerRequired {
				is(request("5", ""), 428, reasonOwnerMissing)
			} else {
				is(request("5", ""), passes, "")
			}
			is(request("5", secret), passes, "")
			if len(e.Touches) == 0 {
				is(request("4", secret), passes, "")
				continue
			}
			touch := e.Touches[0]
			if touch.Policy == fence.Open {
				is(request("4", secret), passes, "")
				w.recorded(touch.Fence.Key(), 0)
				continue
			}
			w.recorded(touch.Fence.Key(), 5)
			if touch.Policy == fence.Observe {
				is(request("4", secret), passes, "")
				continue
			}
			a := request("4", secret)
			is(a, 412, fence.StaleToken)
			if method != "HEAD" && !strings.Contains(compact(a.text), `"resource":"`+touch.Fence.String()+`"`) {
				t.Errorf("%s %s is said to be fenced by %s, but %s", method, target, touch.Fence, a.text)
			}
		}
	}
	for _, kind := range []protocol.Kind{protocol.Read, protocol.Ask, protocol.Write, protocol.Refused} {
		if kinds[kind] < 5 {
			t.Errorf("only %d requests of the kind %d were tried", kinds[kind], kind)
		}
	}
	if e, err := Explain(protocol.Plain{}, Options{}, "PUT", claimsPath); err != nil || !e.Own || e.Route != "" {
		t.Errorf("an endpoint of ours: %+v, %v", e, err)
	}
	if _, err := Explain(protocol.Plain{}, Options{Routes: []Route{{Path: "x"}}}, "PUT", "/x"); err == nil {
		t.Error("faulty routes are not told")
	}
}
