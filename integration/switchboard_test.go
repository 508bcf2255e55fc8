package integration

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A switchboard stands between a client and a server and can become a black
// hole: connections stay, new ones are taken, and nothing gets through.
type switchboard struct {
	listener net.Listener
	target   string
	dead     atomic.Bool
	mu       sync.Mutex
	open     []net.Conn
}

func newSwitchboard(t testing.TB, target string) *switchboard {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &switchboard{listener: l, target: target}
	go w.accept()
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.open {
			c.Close()
		}
	})
	return w
}

func (w *switchboard) addr() string { return w.listener.Addr().String() }

// cut makes it a black hole, in both directions at once.
func (w *switchboard) cut() { w.dead.Store(true) }

func (w *switchboard) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.keep(client)
		if w.dead.Load() {
			continue
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			client.Close()
			continue
		}
		w.keep(server)
		go w.forward(client, server)
		go w.forward(server, client)
	}
}

func (w *switchboard) keep(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, c)
}

// forward copies what arrives while the switchboard lives. What it reads later
// vanishes.
func (w *switchboard) forward(from, to net.Conn) {
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if w.dead.Load() {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			from.Close()
			to.Close()
			return
		}
	}
}
