package front

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves a handler. Its fields must not be changed once it serves; its
// methods may be called from many goroutines.
type Server struct {
	Handler http.Handler
	// HeadTimeout limits how long the head of a request may take. Of the first
	// one of a connection it counts from the beginning. Required.
	HeadTimeout time.Duration
	// IdleTimeout is how long a connection waits for its next request. Required.
	IdleTimeout time.Duration
	// MaxHead is the largest head of a request in bytes. Required.
	MaxHead int
	// Log is told of handlers that panic and listeners that fail for a while.
	// Required.
	Log *slog.Logger

	stopping atomic.Bool // changed under mu

	mu        sync.Mutex
	listeners map[*net.Listener]struct{}
	conns     map[*conn]struct{}
	ended     chan struct{} // closed when stopping and the last connection has ended
}

// Serve accepts the connections of l until the server is stopped, and returns
// http.ErrServerClosed then; or until l fails for good. It closes l.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.open(&l) {
		return http.ErrServerClosed
	}
	defer s.forget(&l)
	var pause time.Duration
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			if c := s.take(c); c != nil {
				go c.serve()
			}
			continue
		case s.stopping.Load():
			return http.ErrServerClosed
		case !temporary(err):
			return err
		}
		// As when there are no file descriptors left.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.Log.Warn("accepting a connection failed", "error", err.Error(), "again_in", pause.String())
		time.Sleep(pause)
	}
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) open(l *net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	if s.listeners == nil {
		s.listeners = map[*net.Listener]struct{}{}
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) forget(l *net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// take makes a connection of one that was accepted. It returns nil, and closes
// it, when the server has been stopped.
func (s *Server) take(accepted net.Conn) *conn {
	c := newConn(s, accepted)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		accepted.Close()
		return nil
	}
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	return c
}

// leave gives up a connection that has ended.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.last()
}

// last is called under mu.
func (s *Server) last() {
	if s.stopping.Load() && len(s.conns) == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// Shutdown closes the listeners and what is idle, and waits until the requests
// in progress have been answered, each the last of its connection, or ctx ends,
// whose error it returns then.
func (s *Server) Shutdown(ctx context.Context) error {
	ended := s.stop((*conn).closeIdle)
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes listeners and connections at once. Handlers find that out by
// themselves; they are not waited for.
func (s *Server) Close() error {
	s.stop((*conn).cut)
	return nil
}

// stop closes the listeners and tells all connections. What it returns is closed
// when the last of them has ended.
func (s *Server) stop(tell func(*conn)) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for l := range s.listeners {
		(*l).Close() // Serve returns why
	}
	for c := range s.conns {
		tell(c)
	}
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	ended := s.ended
	s.last()
	return ended
}
