package proxy

import (
	"testing"

	"fencegate/fence"
)

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

	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		for _, s := range stamps {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "claim"} {
				t.Run(p.String()+" "+s.name+" "+method, func(t *testing.T) {
					w := open(t, policy(p))
					w.says("PUT /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cretA\n\nv", stored)
					w.saw("PUT /a")

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
					case method == "claim" && s.token == "":
						answer = want{status: 428, reason: fence.TokenMissing} // what would it claim?
					case verdict == "" || p == fence.Open:
					case p == fence.Observe:
						answer.observed = verdict
					default:
						answer = want{status: statuses[verdict], reason: verdict, resource: "/a", token: s.token, highest: "5"}
					}
					w.says(requestOf(method, s.token, s.owner), answer)
					if answer.reason == "" && method != "claim" {
						w.saw(method + " /a")
					} else {
						w.saw()
					}
					w.marked(p, s.token == "6" && method != "OPTIONS")
				})
			}
		}
	}
}

func requestOf(method, token, owner string) string {
	if method == "claim" {
		body := `{"resource":"/a"`
		if token != "" {
			body += `,"token":"` + token + `"`
		}
		if owner != "" {
			body += `,"owner":"` + owner + `"`
		}
		return "POST " + claimsPath + "\n\n" + body + "}"
	}
	text := method + " /a"
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
func (w *world) marked(p fence.Policy, lifted bool) {
	w.t.Helper()
	want := fence.Token(5)
	switch {
	case p == fence.Open:
		want = 0
	case lifted:
		want = 6
	}
	w.recorded("/a", want)
}

// A resource without a mark: adopt lets writes without a token pass until a
// token has come.
func TestPoliciesWithoutAMark(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		for _, method := range []string{"PUT", "DELETE"} {
			w := open(t, policy(p))
			answer := stored
			switch p {
			case fence.Observe:
				answer.observed = fence.TokenMissing
			case fence.Require:
				answer = want{status: 428, reason: fence.TokenMissing, resource: "/a"}
			}
			w.says(requestOf(method, "", ""), answer)
			w.recorded("/a", 0)
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
	w = open(t, policy(fence.Adopt), func(p *plan) { p.ledger = memoryWithGlobal(3) })
	w.says("PUT /a\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/a", highest: "3"})
	w.saw()
}
