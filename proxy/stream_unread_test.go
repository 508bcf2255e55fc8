package proxy

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// A client that does not take its answers cannot even be told to send its body,
// once what the kernels take is full to the last byte. That holds back neither a
// newer token nor, for longer than Idle, the same one.
func TestStreamOfAClientThatTakesNothing(t *testing.T) {
	var s *fakeStreamer
	w := open(t, streaming(&s))
	size, token := 32<<10, fence.Token(1)
	for _, step := range []int{8 << 10, 512, 12} { // up to where the answer to the read no longer fits
		for size < 8<<20 && w.stuck(size+step, token, token+1) {
			size, token = size+step, token+1
		}
		token++
	}
	if size >= 8<<20 {
		t.Error("the kernels take everything, so that this shows nothing")
	}
	// The same pieces as before, so that the kernels are as full.
	w = open(t, streaming(&s), limits(BodyLimits{Idle: 500 * time.Millisecond, MinRate: 60 << 10}))
	for range 3 {
		w.stuck(size, 1, 1)
	}
}

// stuck sends a stream behind a read whose answer, of that size, is not taken,
// and then a write with the next token, which must pass soon. It reports whether
// the stream has begun, as it does not where that answer does not fit.
func (w *world) stuck(size int, token, next fence.Token) (begun bool) {
	w.t.Helper()
	w.store.mu.Lock()
	w.store.read = func(rw http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
		_, err := rw.Write([]byte(strings.Repeat("x", size)))
		return fence.Definite, err
	}
	w.store.mu.Unlock()
	c := w.dial()
	defer c.reset()
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		w.t.Fatal(err)
	}
	c.raw(message("GET /a") + message(fmt.Sprintf("PUT /a\nX-Fencing-Token: %v\nContent-Length: 10\nExpect: 100-continue", token)))
	for end := time.Now().Add(500 * time.Millisecond); !begun && time.Now().Before(end); time.Sleep(time.Millisecond) {
		begun = w.gate.State().Begun > 0
	}
	w.passes(fmt.Sprintf("PUT /a\nX-Fencing-Token: %v\n\nnext", next), stored)
	return begun
}
