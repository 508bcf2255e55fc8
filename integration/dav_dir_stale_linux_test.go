package integration

import (
	"fmt"
	"strings"
	"testing"
)

// Every method that changes something comes from a holder who has lost the lock,
// to a directory served over WebDAV: to the object that the next one has written,
// to what is above and below it, and to it as a source and a destination. Shown:
// S1, files, properties and locks stay what they were; and each refusal is told
// once in the log.
func TestStaleHolderOverADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	url := s.URL()
	s.make(t, "5", "/up/", "/up/d/", "/up/d/in/", "/up/d/in/f", "/up/free", "/up/freed/", "/fenced/", "/fenced/f")
	for _, path := range []string{"/up/d/in/f", "/up/d/in/", "/fenced/f", "/up/free"} {
		asked(t, url, "207", "PROPPATCH "+path+"\nX-Fencing-Token: 5\n\n"+propertyUpdate("early"))
	}
	// The next holder writes one object and fences one tree, and locks both.
	asked(t, url, "204", "PUT /up/d/in/f\nX-Fencing-Token: 10\n\nnew")
	asked(t, url, "200", "POST /.well-known/fencegate/claims\nContent-Type: application/json\n\n"+`{"resource":"/fenced","token":"10","tree":true}`)
	const lock = "\n\n" + `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
	held := asked(t, url, "200", "LOCK /fenced\nX-Fencing-Token: 10"+lock).header.Get("Lock-Token")
	own := asked(t, url, "200", "LOCK /up/d/in/f\nDepth: 0\nX-Fencing-Token: 10"+lock).header.Get("Lock-Token")
	locks := func() (all string) {
		for _, path := range []string{"/", "/up/", "/up/d/in/", "/fenced/"} {
			all += asked(t, url, "207", "PROPFIND "+path+"\nDepth: 1\n\n"+`<D:propfind xmlns:D="DAV:"><D:prop><D:lockdiscovery/></D:prop></D:propfind>`).body
		}
		return withoutTimes(all)
	}
	before, locked := s.contents(t), locks()
	if !strings.Contains(before, "early") || !strings.Contains(locked, strings.Trim(held, "<>")) {
		t.Fatalf("the properties or locks are missing:\n%s\n%s", before, locked)
	}

	requests := staleRequests()
	for _, key := range []string{held, own} { // who knows a lock's token needs a fencing token still
		path := map[string]string{held: "/fenced", own: "/up/d/in/f"}[key]
		for _, r := range []string{"UNLOCK %s\nLock-Token: %s", "LOCK %s\nIf: (%s)", "PUT %s\nIf: (%s)\n\nlate", "DELETE %s\nIf: (%s)", "MOVE /up/free\nDestination: %s\nIf: <" + path + "> (%s)"} {
			requests = append(requests, staleRequest{fmt.Sprintf(r, path, key), "412 stale_token"})
		}
	}
	var refusals []string
	for _, r := range requests {
		for _, more := range []string{"", "\nOverwrite: F\nIf-None-Match: *"} {
			line, rest, _ := strings.Cut(r.text, "\n")
			id := fmt.Sprint("r-", len(refusals))
			asked(t, url, r.want, line+"\nX-Fencing-Token: 9\nX-Fencing-Client: "+id+more+"\n"+rest)
			refusals = append(refusals, id)
		}
	}
	if now := s.contents(t); now != before {
		t.Errorf("the store holds\n%s\nwant as before\n%s", now, before)
	}
	if now := locks(); now != locked {
		t.Errorf("the locks are\n%s\nwant as before\n%s", now, locked)
	}
	s.isSwept(t)
	asked(t, url, "204", "UNLOCK /fenced\nX-Fencing-Token: 10\nLock-Token: "+held)
	asked(t, url, "204", "PUT /up/d/in/f\nX-Fencing-Token: 10\nIf: ("+own+")\n\nand more")
	asked(t, url, "204", "MOVE /up\nX-Fencing-Token: 10\nIf: </up/d/in/f> ("+own+")\nDestination: /fenced\nOverwrite: T")
	countRefusals(t, s.Server, refusals)
}

// withoutTimes leaves out how long locks last still.
func withoutTimes(text string) string {
	parts := strings.Split(text, "Second-")
	for i, p := range parts[1:] {
		parts[i+1] = strings.TrimLeft(p, "0123456789")
	}
	return strings.Join(parts, "")
}
