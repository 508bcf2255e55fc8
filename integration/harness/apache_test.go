package harness

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDAVServersStore(t *testing.T) {
	t.Parallel()
	for _, s := range []interface {
		URL() string
		Root() string
		Requests() []string
	}{Apache(t), NginxDAV(t)} {
		for _, r := range []struct {
			method, path, to string
			status           int // 0: any that says done, -1: none that does
		}{
			{"MKCOL", "/d/", "", http.StatusCreated},
			{"PUT", "/d/a", "", http.StatusCreated},
			{"MOVE", "/d/a", "/d/b", 0},
			{"PUT", "/no/a", "", -1},
		} {
			q, err := http.NewRequest(r.method, s.URL()+r.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.method == "PUT" {
				q.Body, q.ContentLength = http.NoBody, 0
			}
			if r.to != "" {
				q.Header.Set("Destination", s.URL()+r.to)
			}
			res, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if done := res.StatusCode < 300; done != (r.status >= 0) || r.status > 0 && res.StatusCode != r.status {
				t.Errorf("%s %s of %s is answered %s", r.method, r.path, s.URL(), res.Status)
			}
		}
		if _, err := os.Stat(filepath.Join(s.Root(), "d", "b")); err != nil {
			t.Error(err)
		}
		Eventually(t, "its log to have all", func() (any, bool) {
			got := s.Requests()
			return got, len(got) == 4 && slices.Contains(got, "MOVE /d/a HTTP/1.1")
		})
	}
}
