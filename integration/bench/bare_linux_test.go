package main

import (
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The bare writers write every path of the load, leave nothing else behind, and
// count no more than they have written.
func TestBareWritersWrite(t *testing.T) {
	root := t.TempDir()
	writers, err := newBare(root)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(writers)
	defer s.Close()
	l := load{conns: 4, threads: 2, paths: 10, size: 100, duration: 50 * time.Millisecond}
	addr := s.Listener.(*net.TCPListener).Addr().String()

	// Without the directories that the paths are in no write succeeds.
	if _, err := askBare(t.Context(), l, addr); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without directories: %v, want an error", err)
	}
	if err := makeFolders(root, l); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	got, err := askBare(t.Context(), l, addr)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests < 1 || got.P50 < 1 || got.P99 < got.P50 || got.Micros < l.duration.Microseconds() {
		t.Errorf("the tally is %+v", got)
	}
	n, err := writtenSince(root, l, begun)
	if want := min(got.Requests, int64(l.paths)); err != nil || n < want/2 || n > int64(l.paths) {
		t.Errorf("%d files are whole after %d writes, %v", n, got.Requests, err)
	}
	left, err := os.ReadDir(filepath.Join(root, bareStaging))
	if err != nil || len(left) != l.conns { // of each writer, the body that it could not put in place before
		t.Errorf("%d files are left in the staging area, %v", len(left), err)
	}
}
