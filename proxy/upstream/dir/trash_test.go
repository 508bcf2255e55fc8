package dir

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A directory goes at once with all that is in it, however wide or deep.
func TestDeleteTrees(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/tree/a", "1"))
	for i := range 700 {
		if err := os.WriteFile(filepath.Join(s.root, "tree", fmt.Sprint("file", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(s.root, "tree", strings.Repeat("deep/", 500)), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := os.MkdirAll(filepath.Join(s.root, "tree", fmt.Sprint("dir", i), "x/y"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	converse(t, s, []step{
		{method: "DELETE", path: "/tree", status: 204},
		{method: "GET", path: "/tree/a", status: 404},
		{method: "PUT", path: "/tree", body: "now a file", status: 201},
	}) // and the clean-up looks into the trash
}

// What a killed process left is removed by the next Open.
func TestOpenSweeps(t *testing.T) {
	root := t.TempDir()
	for _, left := range []string{"staged/upload", "staged/odd/dir/file", "trash/tree/a/b", "trash/file"} {
		path := filepath.Join(root, area, left)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	openAt(t, root)
	entries, err := os.ReadDir(filepath.Join(root, area, "staged"))
	if err != nil || len(entries) != 0 {
		t.Errorf("Open left %v, %v", entries, err)
	}
}

// A PUT is never acknowledged into a directory that a DELETE takes away: if it
// was answered after the DELETE, its object is there; and if it was not, the
// directory is gone whole.
func TestPutBesideDelete(t *testing.T) {
	s := openDir(t)
	const writers, rounds = 8, 40
	for round := range rounds {
		dir := fmt.Sprintf("/r%d/d", round)
		s.do(t, request("PUT", dir+"/seed", "1"))
		var done sync.WaitGroup
		var mu sync.Mutex
		deleted := false // DELETE has been answered
		var after []string
		for w := range writers {
			done.Go(func() {
				for n := range 3 {
					path := fmt.Sprintf("%s/w%d-%d", dir, w, n)
					mu.Lock()
					late := deleted
					mu.Unlock()
					if res := s.do(t, request("PUT", path, "1")); res.StatusCode != http.StatusCreated {
						t.Errorf("PUT: %d", res.StatusCode)
					}
					if late {
						mu.Lock()
						after = append(after, path)
						mu.Unlock()
					}
				}
			})
		}
		done.Go(func() {
			if res := s.do(t, request("DELETE", dir, "")); res.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE: %d", res.StatusCode)
			}
			mu.Lock()
			deleted = true
			mu.Unlock()
		})
		done.Wait()
		for _, path := range after {
			if s.content(t, path) != "1" {
				t.Errorf("%s was stored after the DELETE and is gone", path)
			}
		}
	}
}
