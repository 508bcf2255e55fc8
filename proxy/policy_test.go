package proxy

import (
	"strconv"
	"testing"

	"fencegate/fence"
)

// ground is where a request meets the mark of an earlier one.
type ground struct {
	name  string
	tree  bool   // the route's fence is a tree
	first string // the path that the earlier request wrote
	path  string // that of the request
	fence string // of both
}

// grounds returns those below one route, each called name.
func grounds(name string) []ground {
	at := "/g/" + name
	return []ground{
		{"object", false, at, at, at},
		{"tree", true, at + "/a", at + "/b/c", at}, // another name below the same fence
	}
}

// Every policy with every kind of request, on a resource that token 5 of
// owner S3cretA has marked (unless the policy is open).
func TestPolicies(t *testing.T) {
	type stamp struct{ name, token, owner string }
	stamps := []stamp{
		{"no token", "", ""}, {"older", "4", "S3cretA"}, {"same", "5", "S3cretA"}, {"same without owner", "5", ""},
		{"another owner", "5", "S3cretB"}, {"newer", "6", "S3cretB"},
	}
	// What an enforcing policy says to each of them.
	verdicts := map[string]fence.Reason{"no token": fence.TokenMissing, "older": fence.StaleToken, "another owner": fence.OwnerConflict}
	statuses := map[fence.Reason]int{fence.TokenMissing: 428, fence.StaleToken: 412, fence.OwnerConflict: 409}

	each := func(run func(w *world, g ground, p fence.Policy, s stamp, method string)) {
		for kind := range grounds("") {
			for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
				w := open(t, func(pl *plan) {
					pl.opts.Routes = []Route{{Path: "/g/*", FenceTree: grounds("")[kind].tree, Policy: p}}
				})
				for i, s := range stamps {
					for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "MKCOL", "claim"} {
						run(w, grounds(method + strconv.Itoa(i))[kind], p, s, method)
					}
				}
			}
		}
	}
	each(func(w *world, g ground, p fence.Policy, s stamp, method string) {
		t.Run(g.name+" "+p.String()+" "+s.name+" "+method, func(t *testing.T) {
			defer func(outer *testing.T) { w.t, w.conn = outer, nil }(w.t)
			w.t, w.conn = t, nil
			w.says("PUT "+g.first+"\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cretA\n\nv", stored)
			w.saw("PUT " + g.first)

			reads := method == "GET" || method == "HEAD"
			verdict := verdicts[s.name]
			if method == "OPTIONS" || reads && s.token == "" {
				verdict = "" // reads need no token, and other reads ignore it
			}
			answer := want{status: 200}
			if method == "PUT" || method == "DELETE" {
				answer = stored
			}
			switch {
			case method == "MKCOL": // whatever the policy
				answer = want{status: 405, reason: reasonMethod, resource: g.path, token: s.token, allow: "GET, HEAD, OPTIONS, PUT, DELETE"}
			case method == "claim" && s.token == "":
				answer = want{status: 428, reason: fence.TokenMissing} // what would it claim?
			case verdict == "" || p == fence.Open:
			case p == fence.Observe:
				answer.observed = verdict
			default:
				answer = want{status: statuses[verdict], reason: verdict, resource: g.fence, token: s.token, highest: "5"}
			}
			w.says(g.request(method, s.token, s.owner), answer)
			if answer.reason == "" && method != "claim" {
				w.saw(method + " " + g.path)
			} else {
				w.saw()
			}
			w.marked(g.fence, p, s.token == "6" && method != "OPTIONS" && method != "MKCOL")
		})
	})
}

func (g ground) request(method, token, owner string) string {
	if method == "claim" {
		body := `{"resource":"` + g.fence + `"`
		if token != "" {
			body += `,"token":"` + token + `"`
		}
		if owner != "" {
			body += `,"owner":"` + owner + `"`
		}
		return "POST " + claimsPath + "\n\n" + body + "}"
	}
	text := method + " " + g.path
	if token != "" {
		text += "\nX-Fencing-Token: " + token
	}
	if owner != "" {
		text += "\nX-Fencing-Owner: " + owner
	}
	if method == "PUT" {
		text += "\n\nv"
	}
	return text
}

// marked checks what the ledger has recorded: nothing if the policy is open,
// else token 5, or 6 if that has lifted it.
func (w *world) marked(path string, p fence.Policy, lifted bool) {
	w.t.Helper()
	want := fence.Token(5)
	switch {
	case p == fence.Open:
		want = 0
	case lifted:
		want = 6
	}
	w.recorded(path, want)
}

// A resource without a mark: adopt lets writes without a token pass until a
// token has come.
func TestPoliciesWithoutAMark(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		for _, method := range []string{"PUT", "DELETE"} {
			w, g := open(t, policy(p)), grounds("a")[0]
			answer := stored
			switch p {
			case fence.Observe:
				answer.observed = fence.TokenMissing
			case fence.Require:
				answer = want{status: 428, reason: fence.TokenMissing, resource: g.fence}
			}
			w.says(g.request(method, "", ""), answer)
			w.recorded(g.fence, 0)
		}
	}
	w := open(t, policy(fence.Adopt))
	w.says("PUT /d/x\n\nv", stored)
	w.says("PUT /d/x\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /d/x\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/d/x", highest: "5"})
	w.says("DELETE /d", want{status: 428, reason: fence.TokenMissing, resource: "/d", highest: "5"})
	w.says("PUT /d/y\n\nv", stored)
	w.says("DELETE /e\nX-Fencing-Token: 1", stored)
	w.says("PUT /e/z\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/e/z", highest: "1"})
	w.saw("PUT /d/x", "PUT /d/x", "PUT /d/y", "DELETE /e")
	w.ended()
	if n := w.gauge("fencegate_requests_total{decision=adopted,operation=write}"); n != 2 { // /d/x at first, and /d/y
		t.Errorf("%v writes are counted that passed only for want of a token, want 2", n)
	}
	w = open(t, policy(fence.Adopt), func(p *plan) { p.ledger = memoryWithGlobal(3) })
	w.says("PUT /a\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/a", highest: "3"})
	w.saw()
}
