package dir

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fencegate/fence"
)

// A DELETE judges its condition in its turn: a version that is put while it
// waits is not the one it was meant for.
func TestDeleteTakesItsTurn(t *testing.T) {
	s := openDir(t)
	first := s.do(t, request("PUT", "/a", "1")).Header.Get("ETag")
	done := s.turns.take("a") // as a PUT on its way does
	answered := make(chan int, 1)
	go func() {
		res, _, err := s.serve(request("DELETE", "/a", "", "If-Match: "+first))
		if err != nil {
			t.Error(err)
			res = &http.Response{}
		}
		answered <- res.StatusCode
	}()
	waitBlocked(t, "sync.Mutex", "toTrash", answered)
	if err := os.WriteFile(filepath.Join(s.root, "new"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(s.root, "new"), filepath.Join(s.root, "a")); err != nil {
		t.Fatal(err)
	}
	done()
	if status := <-answered; status != http.StatusPreconditionFailed || s.content(t, "a") != "2" {
		t.Errorf("DELETE: %d, and then there is %s", status, s.content(t, "a"))
	}
}

// A DELETE removes the version that it names, whatever is put meanwhile.
func TestDeleteBesidePuts(t *testing.T) {
	s := openDir(t)
	removed := 0
	for range 200 {
		first := s.do(t, request("PUT", "/a", "1")).Header.Get("ETag")
		commit, _, err := s.Prepare(t.Context(), request("PUT", "/a", "2"), strings.NewReader("2"))
		if err != nil {
			t.Fatal(err)
		}
		var start, done sync.WaitGroup
		start.Add(1)
		var put, del *http.Response
		var putErr, delErr error
		done.Go(func() { start.Wait(); put, _, putErr = commit(t.Context()) })
		done.Go(func() { start.Wait(); del, _, delErr = s.serve(request("DELETE", "/a", "", "If-Match: "+first)) })
		start.Done()
		done.Wait()
		if putErr != nil || delErr != nil {
			t.Fatal(putErr, delErr)
		}
		if del.StatusCode == http.StatusNoContent {
			removed++
		}
		// The second version was made in place of the first, or after it.
		order := fmt.Sprintf("DELETE %d, PUT %d", del.StatusCode, put.StatusCode)
		if order != "DELETE 204, PUT 201" && order != "DELETE 412, PUT 204" || s.content(t, "a") != "2" {
			t.Fatalf("%s, and then there is %s", order, s.content(t, "a"))
		}
	}
	t.Logf("the DELETE came first %d times of 200", removed)
}

// Without the staging area nothing is deleted, and that is certain.
func TestDeleteWithoutTheStagingArea(t *testing.T) {
	root := t.TempDir()
	d, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() // which complains, rightly
	s := storage{d, root}
	s.do(t, request("PUT", "/a", "1"))
	if err := os.RemoveAll(filepath.Join(root, area)); err != nil {
		t.Fatal(err)
	}
	res, o, err := s.serve(request("DELETE", "/a", ""))
	if err != nil || o == fence.Uncertain || res.StatusCode != http.StatusInternalServerError || s.content(t, "a") != "1" {
		t.Errorf("DELETE: %v, %v, %v, and then there is %q", res, o, err, s.content(t, "a"))
	}
}
