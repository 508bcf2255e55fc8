package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// A tree is deleted, or moved, while something large is copied into it. Shown: S1
// for trees; what has begun below takes effect first, what is older is refused
// meanwhile, and what comes later finds the tree gone.
func TestTreeWaitsForWhatHasBegunBelow(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	token := 10
	for _, tree := range []string{"DELETE /d", "MOVE /d\nDestination: /moved\nOverwrite: T", "MOVE /other/\nDestination: /d"} {
		waited := false
		for n := 200; !waited; n *= 2 {
			if n > 20_000 {
				t.Fatalf("%s never came while something was copied", tree)
			}
			token += 10
			s.prepare(t, token, n)
			waited = s.meets(t, token, tree)
			if _, err := os.Stat(filepath.Join(s.Data, "d/in/copied")); !os.IsNotExist(err) {
				t.Fatalf("after %s the copy is there still: %v", tree, err)
			}
			if strings.Contains(tree, "/moved") {
				if files, err := filepath.Glob(filepath.Join(s.Data, "moved/in/copied/f*")); err != nil || len(files) != n {
					t.Fatalf("%d of %d copied files have moved: %v", len(files), n, err)
				}
			}
		}
	}
	s.isSwept(t)
}

// prepare makes a source of n files, and a place for it.
func (s served) prepare(t *testing.T, token, n int) {
	t.Helper()
	for _, name := range []string{"d", "moved", "src", "other"} {
		if err := os.RemoveAll(filepath.Join(s.Data, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"d/in", "src", "other"} {
		if err := os.MkdirAll(filepath.Join(s.Data, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(s.Data, "src", fmt.Sprint("f", i)), []byte("v"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// meets makes a tree write while a copy is on its way, and reports whether it has
// waited.
func (s served) meets(t *testing.T, token int, tree string) (waited bool) {
	t.Helper()
	said := func(text string) chan string {
		c := make(chan string, 1)
		go func() {
			a, err := tryAsk(s.URL(), text)
			c <- strings.TrimSpace(fmt.Sprint(a, " ", map[bool]any{true: "", false: err}[err == nil]))
		}()
		return c
	}
	copied := said(fmt.Sprint("COPY /src/\nDestination: /d/in/copied\nX-Fencing-Token: ", token))
	harness.Eventually(t, "the copy to have begun", func() (any, bool) {
		left, err := os.ReadDir(filepath.Join(s.Data, ".fencegate/staged"))
		return left, err == nil && len(left) > 0 || len(copied) > 0
	})
	method, rest, _ := strings.Cut(tree, "\n")
	changed := said(fmt.Sprint(method, "\nX-Fencing-Token: ", token+1, "\n", rest))
	harness.Eventually(t, "the tree's turn, or its waiting", func() (any, bool) {
		waited = waited || waiting(s.Metrics(), 1) && len(copied) == 0
		return len(changed), waited || len(changed) > 0
	})
	if waited {
		asked(t, s.URL(), "412 stale_token", fmt.Sprint("PUT /d/in/late\nX-Fencing-Token: ", token, "\n\nlate"))
	}
	want := map[string]string{"DELETE /d": "204", "MOVE /d": "201", "MOVE /other/": "204"}[method]
	if a, b := <-copied, <-changed; a != "201" || b != want {
		t.Fatalf("the copy is answered %s, and %s %s, want 201 and %s", a, method, b, want)
	}
	asked(t, s.URL(), "412 stale_token", fmt.Sprint("PUT /d/in/late\nX-Fencing-Token: ", token, "\n\nlate"))
	asked(t, s.URL(), "409", fmt.Sprint("PUT /d/in/next\nX-Fencing-Token: ", token+1, "\n\nlate")) // WebDAV: there is no parent
	return waited
}

// An upload takes its time while the tree around it goes. Shown: the tree does
// not wait for a client; an older upload is stopped at once, and one of the same
// holder is told that it has no place any more.
func TestTreeGoesUnderAnUpload(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	s.make(t, "7", "/d/", "/d/f")
	older := startUpload(s.Server, "/d/f", stampOf(7, "a"))
	older.arrive(t, s.Server, strings.Repeat("half", 10_000))
	same := startUpload(s.Server, "/d/new", stampOf(8, "b"))
	same.arrive(t, s.Server, strings.Repeat("half", 20_000))
	says(t, s.Server, "204", "DELETE", "/d", stampOf(8, "b"), "")
	if got := <-older.answer; got != "412 stale_token" {
		t.Errorf("the older upload is answered %s", got)
	}
	older.body.Close()
	same.body.Close()
	if got := <-same.answer; got != "409" {
		t.Errorf("the upload of the same holder is answered %s", got)
	}
	if now := s.contents(t); strings.Count(now, "\n") != 1 {
		t.Errorf("the store holds\n%s\nwant nothing", now)
	}
	s.isSwept(t)
}

// A holder moves between two locks of one directory with the token of each, and
// claims both trees. Shown: S1 at both ends, also below them, and S3.
func TestMoveWithTwoTokensInADirectory(t *testing.T) {
	t.Parallel()
	s := serveDAV(t)
	url := s.URL()
	for _, r := range []string{"/a 5", "/b 50"} {
		path, token := r[:2], r[3:]
		s.make(t, token, path+"/", path+"/d/", path+"/d/f")
		asked(t, url, "200", "POST /.well-known/fencegate/claims\nContent-Type: application/json\n\n"+
			fmt.Sprintf(`{"resource":%q,"token":%q,"owner":"of%s","tree":true}`, path, token, path[1:]))
	}
	const first = "X-Fencing-Token: 5\nX-Fencing-Owner: ofa"
	move := "MOVE /a/d/\n" + first + "\nDestination: " + url + "/b/d"
	before := s.contents(t)
	asked(t, url, "412 stale_token", move) // 5 counts for both
	asked(t, url, "412 stale_token", move+"\nX-Fencing-Token-Destination: 49")
	asked(t, url, "409 owner_conflict", move+"\nX-Fencing-Token-Destination: 50")
	asked(t, url, "409 owner_conflict", move+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: ofa")
	asked(t, url, "412", move+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: ofb\nOverwrite: F") // the store's word
	asked(t, url, "400 token_malformed", "DELETE /a/d\n"+first+"\nX-Fencing-Token-Destination: 50")
	asked(t, url, "502 destination_foreign", "MOVE /a/d\n"+first+"\nDestination: http://elsewhere.test/b/d")
	asked(t, url, "405 method_refused", "MOVE /a/d\n"+first+"\nDestination: /")
	asked(t, url, "400 path_ambiguous", "MOVE /a/d\n"+first+"\nDestination: /b/../c")
	asked(t, url, "502 destination_foreign", "MOVE /a/d\n"+first+"\nDestination: /.well-known/fencegate/x")
	asked(t, url, "404", "MOVE /a/none\n"+first+"\nDestination: /c") // and what it raised stays
	for _, hidden := range []string{"/.fencegate", "/.fencegate/staged/x", "/%2Efencegate/x", "/.FENCEGATE/x/y"} {
		for _, r := range []string{"MOVE /a/d\nDestination: ", "COPY /a/d\nDestination: "} {
			if a := ask(t, url, r+hidden+"\nX-Fencing-Token: 90"); a.status < 400 {
				t.Errorf("%s%s is answered %v", r, hidden, a)
			}
		}
	}
	if now := s.contents(t); now != before {
		t.Fatalf("the store holds\n%s\nwant\n%s", now, before)
	}
	token := "91"
	asked(t, url, "204", "MOVE /a/d/\nX-Fencing-Token: "+token+"\nX-Fencing-Token-Destination: 50\nX-Fencing-Owner-Destination: ofb\nDestination: "+url+"/b/d")
	holds(t, s.Server, "/b/d/f", "of /a/d/f")
	asked(t, url, "412 stale_token", "PUT /a/d/f\nX-Fencing-Token: 90\n\nlate")
	asked(t, url, "412 stale_token", "PUT /b/d/f\nX-Fencing-Token: 49\n\nlate")
	asked(t, url, "409 tree_fenced", "DELETE /a\nX-Fencing-Token: 90")
	asked(t, url, "204", "DELETE /b\nX-Fencing-Token: 51")
}
