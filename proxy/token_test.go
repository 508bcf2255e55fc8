package proxy

import (
	"strconv"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/store/memory"
)

// Where tokens tell the time, one from the future is refused under any policy,
// whatever carries it, and marks nothing.
func TestTimeTokens(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ahead time.Duration) string { return strconv.FormatInt(now.Add(ahead).UnixMicro(), 10) }
	for _, p := range []fence.Policy{fence.Open, fence.Observe, fence.Adopt, fence.Require} {
		w := open(t, policy(p), func(pl *plan) {
			pl.opts.TokenKind, pl.opts.Now = fence.TimeTokens, func() time.Time { return now }
		})
		future := at(10*time.Minute + time.Microsecond)
		refused := want{status: 400, reason: reasonTokenImplausible, resource: "/a", token: future}
		w.says("PUT /a\nX-Fencing-Token: "+future+"\n\nv", refused)
		w.says("GET /a\nX-Fencing-Token: "+future, refused)
		const highest = "9007199254740991"
		w.says("DELETE /a\nX-Fencing-Token: "+highest, want{status: 400, reason: reasonTokenImplausible, resource: "/a", token: highest})
		w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"`+future+`"}`, want{status: 400, reason: reasonTokenImplausible, token: future})
		w.says("PUT /a\nX-Fencing-Token: 0"+future+"\n\nv", want{status: 400, reason: reasonTokenMalformed, resource: "/a"})
		w.saw()
		w.recorded("/a", 0)
		for _, token := range []string{"1", at(-time.Hour), at(0), at(10 * time.Minute)} {
			w.says("PUT /a\nX-Fencing-Token: "+token+"\n\nv", stored)
		}
		w.saw("PUT /a", "PUT /a", "PUT /a", "PUT /a")
	}
}

// Elsewhere a token is only a number.
func TestAnyTokensTellNoTime(t *testing.T) {
	w := open(t, func(p *plan) { p.ledger = memory.New(fence.Meta{Clean: true, Kind: fence.AnyTokens}) })
	w.says("PUT /a\nX-Fencing-Token: 9007199254740991\n\nv", stored)
	w.saw("PUT /a")
}
