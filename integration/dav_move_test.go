package integration

import (
	"testing"
)

// A holder moves between two locks with the token of each. Shown: S1 at both
// ends, whichever of them somebody else has taken meanwhile.
func TestMoveWithTwoTokens(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		s := davFence(t, store)
		url := s.URL()
		for _, r := range []string{"/a 5", "/b 50"} {
			asked(t, url, "201", "MKCOL "+r[:2]+"/")
			asked(t, url, "201", "PUT "+r[:2]+"/f\nX-Fencing-Token: "+r[3:]+"\nX-Fencing-Owner: of"+r[1:2]+"\n\nof "+r[:2])
		}
		move := "MOVE /a/f\nX-Fencing-Token: 5\nX-Fencing-Owner: ofa\nDestination: " + url + "/b/f"
		before := filesOf(t, store)
		asked(t, url, "412 stale_token", move) // 5 counts for both
		asked(t, url, "412 stale_token", move+"\nX-Fencing-Token-Destination: 49")
		asked(t, url, "409 owner_conflict", move+"\nX-Fencing-Token-Destination: 50")
		asked(t, url, "400 token_malformed", move+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Token-Destination: 51")
		asked(t, url, "400 owner_malformed", move+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: o p")
		asked(t, url, "428 token_missing", "MOVE /a/f\nX-Fencing-Token-Destination: 60\nDestination: /b/f")
		asked(t, url, "409 owner_conflict", "MOVE /a/f\nX-Fencing-Token: 5\nX-Fencing-Owner: other\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: ofb\nDestination: /b/f")
		asked(t, url, "400 token_malformed", "DELETE /a/f\nX-Fencing-Token: 5\nX-Fencing-Token-Destination: 50")
		if now := filesOf(t, store); now != before {
			t.Fatalf("the store holds\n%s\nwant\n%s", now, before)
		}
		asked(t, url, "204", move+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: ofb")
		holds(t, s, "/b/f", "of /a")
		// Both ends are fenced, each by its own token.
		asked(t, url, "412 stale_token", "PUT /a/f\nX-Fencing-Token: 4\n\nlate")
		asked(t, url, "412 stale_token", "PUT /b/f\nX-Fencing-Token: 49\n\nlate")
		asked(t, url, "201", "PUT /a/f\nX-Fencing-Token: 6\n\nnext")
		// Of what is copied the destination counts alone.
		asked(t, url, "412 stale_token", "COPY /a/f\nX-Fencing-Token: 6\nDestination: /b/f")
		asked(t, url, "204", "COPY /a/f\nX-Fencing-Token: 1\nX-Fencing-Token-Destination: 51\nDestination: /b/f")
		holds(t, s, "/b/f", "next")
	})
}

// Where a MOVE or COPY goes is said wrongly. Shown: nothing is sent, and why is
// answered.
func TestWrongDestinations(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		s := davFence(t, store)
		url := s.URL()
		asked(t, url, "201", "PUT /a\nX-Fencing-Token: 5\n\nv")
		before := filesOf(t, store)
		for _, method := range []string{"MOVE", "COPY"} {
			for to, want := range map[string]string{
				"Destination: http://elsewhere.test/b":                       "502 destination_foreign",
				"Destination: " + store.URL() + "/b":                         "502 destination_foreign", // the store's own name
				"Destination: ftp://" + s.URL()[7:] + "/b":                   "400 request_malformed",
				"Destination: b":                                             "400 request_malformed",
				"Destination: //elsewhere.test/b":                            "400 request_malformed",
				"Destination: /b\nDestination: /c":                           "400 request_malformed",
				"Destination: /b, /c":                                        "400 request_malformed",
				"Destination: ":                                              "400 request_malformed",
				"X-Nothing: /b":                                              "400 request_malformed",
				"Destination: /b?x=1":                                        "400 request_malformed",
				"Destination: /b#x":                                          "400 request_malformed",
				"Destination: /x/../b":                                       "400 path_ambiguous",
				"Destination: /b/%2e%2e/c":                                   "400 path_ambiguous",
				"Destination: /":                                             "405 method_refused",
				"Destination: " + url:                                        "405 method_refused",
				"Destination: /.well-known/fencegate/claims":                 "502 destination_foreign",
				"Destination: /b\nOverwrite: maybe":                          "400 request_malformed",
				"Destination: /b\nDepth: 1":                                  "400 request_malformed",
				"Destination: /b\nIf: <http://elsewhere.test/b> (<urn:x:1>)": "502 destination_foreign",
				"Destination: /b\nIf: </b> (<urn:x:1>) (<urn:x:2> <urn:x:3>": "400 request_malformed",
				"Destination: http://" + s.URL()[7:] + "@elsewhere.test/b":   "400 request_malformed",
				"Destination: http://" + s.URL()[7:] + ".elsewhere.test/b":   "400 request_malformed",
				"Destination: /b\nX-Http-Method-Override: PUT":               "400 request_malformed",
				"Destination: /b\nConnection: close, Destination":            "400 request_malformed",
				"Destination: /b\nX-Fencing-Token-Destination: 07":           "400 token_malformed",
				"Destination: /b\nConnection: X-Fencing-Token-Destination":   "400 token_malformed",
			} {
				asked(t, url, want, method+" /a\nX-Fencing-Token: 5\n"+to)
			}
		}
		if now := filesOf(t, store); now != before {
			t.Errorf("the store holds\n%s\nwant\n%s", now, before)
		}
		sentOnly(t, store, 1)
	})
}
