package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ownProcess stands for a server that is played by the test itself.
func ownProcess(t *testing.T, s *httptest.Server) *server {
	t.Helper()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Release() })
	return &server{process: &process{cmd: &exec.Cmd{Process: p}}, addr: s.Listener.Addr().String()}
}

// A number beside clients that are gone would be that of no clients.
func TestIdleClientsMustStillBeThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(n int64, w http.ResponseWriter)
		want   string
	}{
		{"kept", func(_ int64, w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, ""},
		{"closed", func(_ int64, w http.ResponseWriter) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusNoContent)
		}, "closed: true"},
		{"refused", func(_ int64, w http.ResponseWriter) { w.WriteHeader(http.StatusPreconditionFailed) }, "412"},
		{"gone later", func(n int64, w http.ResponseWriter) {
			if n > 8 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusNoContent)
		}, "after being idle: "},
	} {
		var n atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.answer(n.Add(1), w) }))
		s := ownProcess(t, server)
		m, err := measureIdle(t.Context(), scene{idle: 8}, s, load{size: 10, duration: time.Millisecond})
		if c.want == "" && (err != nil || m.Figure <= 0 || n.Load() != 16) {
			t.Errorf("%s: %+v, %v after %d writes", c.name, m, err, n.Load())
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		server.Close()
	}
}

func TestMarksMustBeThere(t *testing.T) {
	for status, want := range map[int]string{http.StatusPreconditionFailed: "", http.StatusNoContent: "want 412"} {
		var n atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1); r.Header.Get("X-Fencing-Token") == fmt.Sprint(firstMark-1) {
				w.WriteHeader(status)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}))
		m, err := measureMarks(t.Context(), scene{raises: 20, marks: 100}, ownProcess(t, server), load{size: 10})
		if want == "" && (err != nil || m.Figure <= 0 || n.Load() != 21) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("late writes answered %d: %+v, %v after %d writes; want %q", status, m, err, n.Load(), want)
		}
		client.CloseIdleConnections()
		server.Close()
	}
}

func TestAtOnce(t *testing.T) {
	var seen [100]atomic.Int64
	failed := errors.New("failed")
	err := atOnce(7, len(seen), func(i int) error {
		seen[i].Add(1)
		if i%50 == 3 {
			return failed
		}
		return nil
	})
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Errorf("%d was called %d times", i, n)
		}
	}
	if !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "2 of 100") {
		t.Errorf("got %v", err)
	}
}
