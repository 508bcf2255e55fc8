package proxy

import (
	"errors"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/store/memory"
)

func TestTokensAreJudged(t *testing.T) {
	w := open(t)
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv5", stored)
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv5 again", stored)
	w.says("PUT /a\nX-Fencing-Token: 4\n\nv4", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	w.says("GET /a\nX-Fencing-Token: 4", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	w.says("HEAD /a\nX-Fencing-Token: 4", want{status: 412, reason: fence.StaleToken, highest: "5"})
	w.says("DELETE /a\nX-Fencing-Token: 4", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	w.says("PUT /a\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/a", highest: "5"})
	w.says("PUT /b c\n\nv", want{status: 400, closes: true}) // the server's own: not a request line
	w.says("PUT /b%20c\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/b%20c"})
	w.says("GET /a", read)
	w.saw("PUT /a", "PUT /a", "GET /a")
}

func TestTreesAreJudged(t *testing.T) {
	w := open(t)
	w.says("PUT /d/x\nX-Fencing-Token: 9\n\nv9", stored)
	w.says("DELETE /d\nX-Fencing-Token: 5", want{status: 409, reason: fence.TreeFenced, resource: "/d", token: "5", highest: "9"})
	w.says("DELETE /d", want{status: 428, reason: fence.TokenMissing, resource: "/d"}) // no scan for who has no token
	w.says("DELETE /d\nX-Fencing-Token: 10", stored)
	// The floor that the DELETE has raised judges names that are not yet there.
	w.says("PUT /d/y/z\nX-Fencing-Token: 9\n\nv9", want{status: 412, reason: fence.StaleToken, resource: "/d/y/z", token: "9", highest: "10"})
	w.saw("PUT /d/x", "DELETE /d")
}

func TestOwnersAreJudged(t *testing.T) {
	w := open(t)
	w.says("PUT /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cretA\n\nv", stored)
	w.says("PUT /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cretB\n\nv", want{status: 409, reason: fence.OwnerConflict, resource: "/a", token: "5", highest: "5"})
	w.says("GET /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cretB", want{status: 409, reason: fence.OwnerConflict, resource: "/a", token: "5", highest: "5"})
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /a\nX-Fencing-Token: 6\nX-Fencing-Owner: S3cretB\n\nv", stored)
	w.saw("PUT /a", "PUT /a", "PUT /a")
}

func TestOwnerRequired(t *testing.T) {
	w := open(t, func(p *plan) { p.opts.Rest.OwnerRequired = true })
	missing := want{status: 428, reason: reasonOwnerMissing, resource: "/a", token: "5"}
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", missing)
	w.says("GET /a\nX-Fencing-Token: 5", missing)
	w.says("DELETE /a\nX-Fencing-Token: 5", missing)
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"5"}`, missing)
	w.says("PUT /a\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/a"})
	w.says("OPTIONS /a\nX-Fencing-Token: 5", read)
	w.says("GET /a", read)
	w.says("PUT /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cret\n\nv", stored)
	w.saw("OPTIONS /a", "GET /a", "PUT /a")
}

func TestWhatCannotBegin(t *testing.T) {
	for _, c := range []struct {
		name  string
		with  []func(*plan)
		first string // sent before, for an answer of its own
		then  want
		want  want
	}{
		{"busy: an earlier write has not ended", []func(*plan){maxWait(300 * time.Millisecond)}, "", want{},
			want{status: 503, reason: fence.Busy, resource: "/a", token: "5"}},
		{"settling: an earlier write is in doubt", []func(*plan){maxWait(300 * time.Millisecond), settle(9 * time.Second)}, "PUT /doubt\nX-Fencing-Token: 4\n\nv",
			want{status: 504, reason: reasonUnknown, resource: "/doubt", token: "4", retry: "9"},
			want{status: 503, reason: fence.Settling, resource: "/doubt", token: "5", retry: "≤9"}},
		{"recovering: the last run did not stop clean", []func(*plan){maxWait(300 * time.Millisecond), settle(9 * time.Second), unclean}, "", want{},
			want{status: 503, reason: fence.Recovering, resource: "/a", token: "5", retry: "≤9"}},
		{"ledger_unavailable: it cannot be written", nil, "", want{},
			want{status: 503, reason: fence.LedgerUnavailable, resource: "/a", token: "5"}},
		{"ledger_unavailable: it is full", []func(*plan){maxWait(300 * time.Millisecond), onCommit(func([]fence.Row) error { return fence.ErrLedgerFull })}, "", want{},
			want{status: 503, reason: fence.LedgerUnavailable, resource: "/a", token: "5"}},
		{"ledger_unavailable: it cannot be read", []func(*plan){func(p *plan) { p.ledger.OnRead = func([]fence.Key) error { return errors.New("I/O error") } }}, "", want{},
			want{status: 503, reason: fence.LedgerUnavailable, resource: "/a", token: "5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, c.with...)
			w.uncertainAt("/doubt")
			if c.with == nil {
				w.ledger.OnCommit = func([]fence.Row) error {
					w.received(1) // a failure before would stop the body, and end the connection
					return errors.New("I/O error")
				}
			}
			target, seen := c.want.resource, []string(nil)
			if c.first != "" {
				w.says(c.first, c.then)
				seen = append(seen, "PUT /doubt")
			}
			release := func() {}
			if c.want.reason == fence.Busy {
				release = w.occupy("/a")
				seen = append(seen, "PUT /a")
			}
			w.says("PUT "+target+"\nX-Fencing-Token: 5\n\nv", c.want)
			w.says("GET "+target+"\nX-Fencing-Token: 5", c.want)
			w.says("HEAD "+target+"\nX-Fencing-Token: 5", want{status: 503, reason: c.want.reason, retry: c.want.retry})
			w.says("POST "+claimsPath+"\n\n"+`{"resource":"`+target+`","token":"5"}`, c.want)
			w.saw(seen...)
			w.says("GET "+target, read) // reads without a token need no fence
			release()
		})
	}
}

func unclean(p *plan) { p.ledger = memory.New(fence.Meta{}) }
