package integration

import (
	"fmt"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Every method that changes something comes from a holder who has lost the lock,
// to the object that the next one has written, to what is above and below it, and
// to it as a source and a destination. Shown: S1, the store holds what it held;
// and that each refusal is told once in the log.
func TestStaleHolderOverWebDAV(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		s := davFence(t, store)
		for _, r := range []string{
			"MKCOL /up/", "MKCOL /up/d/", "MKCOL /up/d/in/", "PUT /up/d/in/f\n\nold",
			"PUT /up/free\n\nfree", "MKCOL /up/freed/", "MKCOL /fenced/", "PUT /fenced/f\n\nold",
		} {
			line, rest, _ := strings.Cut(r, "\n")
			asked(t, s.URL(), "201", line+"\nX-Fencing-Token: 5\n"+rest)
		}
		// The next holder writes one object and fences one tree.
		asked(t, s.URL(), "204", "PUT /up/d/in/f\nX-Fencing-Token: 10\n\nnew")
		asked(t, s.URL(), "200", `POST /.well-known/fencegate/claims`+"\n"+`Content-Type: application/json`+"\n\n"+`{"resource":"/fenced","token":"10","tree":true}`)
		sentOnly(t, store, 9)
		before := filesOf(t, store)
		var refusals []string
		for _, r := range staleRequests() {
			for _, more := range []string{"", "\nOverwrite: F"} {
				line, rest, _ := strings.Cut(r.text, "\n")
				id := fmt.Sprint("r-", len(refusals))
				asked(t, s.URL(), r.want, line+"\nX-Fencing-Token: 9\nX-Fencing-Client: "+id+more+"\n"+rest)
				refusals = append(refusals, id)
			}
		}
		if after := filesOf(t, store); after != before {
			t.Errorf("the store holds\n%s\nwant as before\n%s", after, before)
		}
		sentOnly(t, store, 9)
		countRefusals(t, s, refusals)
	})
}

type staleRequest struct{ text, want string }

// staleRequests are all that change something, with the answers.
func staleRequests() (all []staleRequest) {
	const stale, tree = "412 stale_token", "409 tree_fenced"
	propertyupdate := "\n\n" + `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="x:">late</x></D:prop></D:set></D:propertyupdate>`
	lock := "\n\n" + `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
	for _, to := range []string{"/up/d/in/f", "/fenced", "/fenced/f", "/fenced/new"} { // itself, below a fence
		for _, r := range []string{"PUT %s\n\nlate", "DELETE %s", "PROPPATCH %s" + propertyupdate, "LOCK %s" + lock, "LOCK %s\nDepth: 0" + lock,
			"UNLOCK %s\nLock-Token: <urn:x:1>", "MOVE %s\nDestination: /up/moved", "MOVE /up/free\nDestination: %s", "COPY /up/free\nDestination: %s",
			"MOVE /up/freed/\nDestination: %s/", "COPY /up/freed/\nDestination: %s/\nDepth: 0"} {
			all = append(all, staleRequest{fmt.Sprintf(r, to), stale})
		}
	}
	for _, above := range []string{"/up/d/in", "/up/d", "/up/d/", "/up"} {
		for _, r := range []string{"DELETE %s", "LOCK %s" + lock, "MOVE %s\nDestination: /moved", "MOVE /up/free\nDestination: %s", "COPY /up/free\nDestination: %s", "COPY /up/freed/\nDestination: %s\nDepth: 0"} {
			if above == "/up" && strings.Contains(r, "/up/free") {
				continue // into itself
			}
			all = append(all, staleRequest{fmt.Sprintf(r, above), tree})
		}
	}
	// Below the object is no fence, below the tree there is one.
	for _, r := range []string{"MKCOL /fenced/c", "MKCOL /fenced/c/", "PUT /fenced/f/below\n\nlate"} {
		all = append(all, staleRequest{r, stale})
	}
	return all
}

// countRefusals looks for one record of what each client was refused.
func countRefusals(t *testing.T, s *harness.Server, clients []string) {
	t.Helper()
	if code := s.Stop(); code != 0 { // and so tells what it still has to say
		t.Errorf("fencegate ends with %d", code)
	}
	told := map[string]int{}
	for _, r := range s.Logs() {
		if r.Text("msg") != "refused" {
			continue
		}
		told[r.Text("client")]++
		if r.Text("token") != "9" || r.Text("highest") != "10" {
			t.Errorf("the record is %v", r)
		}
	}
	for _, c := range clients {
		if told[c] != 1 {
			t.Errorf("of what %s was refused the log has %d records", c, told[c])
		}
	}
	if len(told) != len(clients) {
		t.Errorf("the log tells of %d refusals, want %d", len(told), len(clients))
	}
}
