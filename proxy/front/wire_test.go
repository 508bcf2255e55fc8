package front

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// wire is a connection in memory: it brings in, at most split bytes at a time
// (0: no limit), and then ends. What is sent goes to out. It has no SyscallConn,
// so that it is read through net.Conn.
type wire struct {
	in    []byte
	split int
	cut   int // where a Read ends too; 0: nowhere
	used  int
	out   bytes.Buffer
}

// over serves what is in the wire, to its end, without another goroutine.
func (w *wire) over(h http.HandlerFunc) {
	s := &Server{Handler: h, HeadTimeout: time.Hour, IdleTimeout: time.Hour, MaxHead: 64 << 10, Log: slog.New(slog.DiscardHandler)}
	s.take(w).serve()
}

func (w *wire) Read(b []byte) (int, error) {
	if w.used == len(w.in) {
		return 0, io.EOF
	}
	if w.split > 0 {
		b = b[:min(len(b), w.split)]
	}
	if w.used < w.cut {
		b = b[:min(len(b), w.cut-w.used)]
	}
	n := copy(b, w.in[w.used:])
	w.used += n
	return n, nil
}

func (w *wire) Write(b []byte) (int, error)      { return w.out.Write(b) }
func (w *wire) Close() error                     { return nil }
func (w *wire) CloseWrite() error                { return nil }
func (w *wire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
