package dir

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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

// Directories come and go only while no object is being replaced, and the other
// way round.
func TestTreeIsHeld(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/d/a", "1"))
	begin := func(method, path string) (answered chan int) {
		answered = make(chan int, 1)
		go func() {
			res, _, err := s.serve(request(method, path, "2"))
			if err != nil {
				t.Error(err)
				res = &http.Response{}
			}
			answered <- res.StatusCode
		}()
		return answered
	}
	s.tree.RLock() // as a PUT on its way does
	answered := begin("DELETE", "/d")
	waitBlocked(t, "sync.RWMutex", "removeAny", answered)
	s.tree.RUnlock()
	if status := <-answered; status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	s.tree.RLock()
	answered = begin("PUT", "/d/a") // has to make /d
	waitBlocked(t, "sync.RWMutex", "placeBelowNew", answered)
	s.tree.RUnlock()
	if status := <-answered; status != 201 {
		t.Errorf("PUT that makes a directory: %d", status)
	}
	s.tree.Lock() // as a DELETE of a directory does
	put, del := begin("PUT", "/d/a"), begin("DELETE", "/d/none")
	waitBlocked(t, "sync.RWMutex", "placeBelow", put)
	waitBlocked(t, "sync.RWMutex", "removeFile", del)
	s.tree.Unlock()
	if status := <-put; status != 204 {
		t.Errorf("PUT: %d", status)
	}
	if status := <-del; status != 404 {
		t.Errorf("DELETE: %d", status)
	}
}

// waitBlocked waits until a goroutine that runs the method is waiting for such a
// lock; it fails if the request is answered instead.
func waitBlocked(t *testing.T, lock, method string, answered chan int) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for {
		select {
		case status := <-answered:
			t.Fatalf("%s did not wait, and answered %d", method, status)
		default:
		}
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, calls, _ := strings.Cut(stack, "\n")
			if strings.Contains(head, "["+lock+".") && strings.Contains(calls, ".(*Dir)."+method+"(") {
				return
			}
		}
		runtime.Gosched()
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
					if res, o, err := s.serve(request("PUT", path, "1")); err != nil || res.StatusCode != http.StatusCreated {
						t.Errorf("PUT: %v %v %v", res, o, err)
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
			if res, o, err := s.serve(request("DELETE", dir, "")); err != nil || res.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE: %v %v %v", res, o, err)
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
