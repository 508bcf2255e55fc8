package dir

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fencegate/fence"
)

// A COPY sees of each object one whole version.
func TestCopyBesideWrites(t *testing.T) {
	s := openDAV(t)
	s.do(t, request("MKCOL", "/s", ""))
	s.do(t, request("PUT", "/s/a", string(version(1))))
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := 2; ; n++ {
			select {
			case <-stop:
				return
			default:
				s.do(t, request("PUT", "/s/a", string(version(n))))
			}
		}
	})
	for range 50 {
		res, _, err := s.serve(request("COPY", "/s", "", to("/d")...))
		if err != nil || res.StatusCode >= 300 {
			t.Errorf("COPY: %v %v", res, err)
			break
		}
		content, err := os.ReadFile(filepath.Join(s.root, "d/a"))
		if err != nil || whichVersion(content) < 1 {
			t.Errorf("the copy is no whole version: %d bytes, %v", len(content), err)
			break
		}
	}
	close(stop)
	wait.Wait()
}

// A COPY whose source goes away is refused, rather than made of half a tree.
func TestCopyOfWhatVanishes(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "s/a/x 1", "s/b 2", "d/old 3")
	from, err := parsePath("/s")
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Dir.root.open("s")
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	staged, err := s.staged.open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer staged.close()
	// Between the name being read and the file being opened.
	vanished := func(name string) error {
		return s.copyName(t.Context(), transfer{from: from, to: from}, "", at, staged, name, func(string) {})
	}
	// Between the directory being opened and its names being read.
	fill(t, s.root, "removed/x 1")
	removed, err := s.Dir.root.open("removed")
	if err != nil {
		t.Fatal(err)
	}
	defer removed.close()
	if err := os.RemoveAll(filepath.Join(s.root, "removed")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		vanished("no longer"),
		s.copyNames(t.Context(), transfer{from: from, to: from}, "", removed, staged, func(string) {}),
		s.copyBelow(t.Context(), transfer{from: name{whole: "gone", parent: ".", base: "gone"}, to: from}, "x"),
	} {
		var own *StatusError
		if !errors.As(err, &own) || own.Status != http.StatusConflict {
			t.Errorf("%v, want a 409", err)
		}
	}
	// A listing then has nothing more.
	if err := s.children(from, removed, func(string, info) error { return nil }); err != nil {
		t.Errorf("listing: %v", err)
	}
	// And one that is given up changes nothing.
	overtaken := errors.New("overtaken")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(overtaken)
	for _, source := range []string{"/s", "/s/b"} {
		r := request("COPY", source, "", to("/d")...)
		if _, o, err := s.Write(ctx, r, r.Body, 0); !errors.Is(err, overtaken) || o != fence.NotSent {
			t.Errorf("COPY %s: %v %v", source, o, err)
		}
	}
	if got := tree(t, s.root, "d"); got != "/ /old=3" {
		t.Errorf("the destination is %q", got)
	}
}

// A tree is copied whole, however wide or deep, with few descriptors.
func TestCopyLargeTrees(t *testing.T) {
	s := openDAV(t)
	deep := strings.Repeat("deep/", 500)
	fill(t, s.root, "s/"+deep+"x 1")
	for i := range 700 {
		fill(t, s.root, fmt.Sprintf("s/d%d/file %d", i%50, i), fmt.Sprintf("s/wide/file%d %d", i, i))
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	converse(t, s, []step{
		{method: "COPY", path: "/s", header: to("/d"), status: 201},
		{method: "COPY", path: "/s", header: to("/d"), status: 204},
		{method: "MKCOL", path: "/" + strings.Repeat("n", 200), status: 201},
		{method: "PUT", path: "/" + strings.Repeat("n", 200) + "/a", body: "1", status: 201},
	})
	if s, d := tree(t, s.root, "s"), tree(t, s.root, "d"); s != d {
		t.Error("the copy differs")
	}
	// So deep that what is in it could not be named at the destination.
	long := strings.Repeat("n", 200)
	at := "/s/" + strings.TrimSuffix(deep, "/")
	for range 6 {
		at += "/" + long
		converse(t, s, []step{{method: "MKCOL", path: at, status: 201}})
	}
	converse(t, s, []step{
		{method: "COPY", path: "/s", header: to("/" + long + "/" + long), status: 414},
		{method: "COPY", path: "/s", header: to("/t"), status: 201},
	})
}
