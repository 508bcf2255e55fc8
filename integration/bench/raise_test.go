package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fencegate/fence"
)

// Both kinds of raisers are opened on copies of one ledger, and end with the marks
// that they were told to raise.
func TestRaisersRaise(t *testing.T) {
	at := place{dir: t.TempDir()}
	const marks = 50
	for _, open := range []struct {
		name string
		open func(dir string) (raiser, func(context.Context) error, error)
	}{
		{"gate", func(dir string) (raiser, func(context.Context) error, error) {
			g, err := openGate(t.Context(), dir)
			return g, g.close, err
		}},
		{"bare", func(dir string) (raiser, func(context.Context) error, error) {
			b, err := openBare(dir)
			return b, b.close, err
		}},
	} {
		dir, err := copyLedger(t.Context(), at, open.name, marks)
		if err != nil {
			t.Fatal(err)
		}
		on, end, err := open.open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := on.mark(marks - 1); got != firstMark || err != nil {
			t.Errorf("%s begins with %v, %v; want %d", open.name, got, err, firstMark)
		}
		for range 2 { // tokens of the second run are above those of the first
			tally, err := raising{callers: 3, marks: marks, duration: 20 * time.Millisecond}.run(t.Context(), on)
			if err != nil || tally.Requests < 3 || tally.Micros < 20_000 || tally.P99 < tally.P50 || tally.P50 < 1 {
				t.Errorf("%s: %+v, %v", open.name, tally, err)
			}
		}
		if err := end(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if files, err := filepath.Glob(filepath.Join(at.dir, "marks-*")); len(files) != 1 || err != nil {
		t.Errorf("ledgers made: %v, %v; want one, to be copied", files, err)
	}
}

// fakeRaiser says that it has raised.
type fakeRaiser struct {
	calls atomic.Int64
	fails bool
}

func (f *fakeRaiser) raise(context.Context, int, fence.Token) error {
	f.calls.Add(1)
	if f.fails {
		return errors.New("no disk")
	}
	return nil
}

func (f *fakeRaiser) mark(int) (fence.Token, error) { return firstMark, nil }

func TestRaisesThatAreNoneAreFound(t *testing.T) {
	for want, on := range map[string]*fakeRaiser{"it was raised to": {}, "no disk": {fails: true}} {
		_, err := raising{callers: 2, marks: 4, duration: time.Millisecond}.run(t.Context(), on)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if on.fails && on.calls.Load() != 2 {
			t.Errorf("%d raises after the first has failed, want one of each caller", on.calls.Load())
		}
	}
}

func TestRaisesAreTold(t *testing.T) {
	dir, err := copyLedger(t.Context(), place{dir: t.TempDir()}, "gate", 10)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := openGate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- serveRaises(l, gate) }()
	defer func() {
		client.CloseIdleConnections()
		l.Close()
		<-ended
		if err := gate.close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	addr := l.Addr().String()
	tally, err := tellToRaise(t.Context(), addr, raising{callers: 2, marks: 10, duration: 10 * time.Millisecond})
	if err != nil || tally.Requests < 2 {
		t.Errorf("got %+v, %v", tally, err)
	}
	if n, err := tellToPass(t.Context(), addr, 100); n < 0 || n > 100 || err != nil {
		t.Errorf("a pass costs %v allocations, %v", n, err)
	}
	var wrong wrongError
	if _, err := tellToRaise(t.Context(), addr, raising{callers: 11, marks: 10}); !errors.As(err, &wrong) {
		t.Errorf("more callers than marks: %v, want a wrong run", err)
	}
	status, _, err := get(t.Context(), "http://"+addr+passPath+"?"+url.Values{"n": {"x"}}.Encode())
	if status != http.StatusInternalServerError || err != nil {
		t.Errorf("a number that is none is answered %d, %v", status, err)
	}
}
