package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// answer is the http.ResponseWriter of a connection. It holds back what it is
// given until there is more than fits, the handler flushes, or it returns.
type answer struct {
	c        *conn
	r        *http.Request
	header   http.Header
	names    []string // of header; kept for its memory
	status   int      // 0: not given yet
	sent     bool     // the head is in out, or has been sent
	length   int64    // of the body, as the header declares it; −1: it does not
	written  int64    // of the body
	chunked  bool
	bodiless bool // HEAD, or a status without a body
	ends     bool // the connection, after this answer
	hijacked bool
	err      error // of writing; of all further writes too

	out   *[]byte // what is held back; nil: nothing
	used  int     // of out
	open  bool    // the chunk at its end
	start int     // of that chunk's content in out
}

// begin prepares for the answer to r. ends: the connection ends in any case.
func (a *answer) begin(r *http.Request, ends bool) {
	a.r, a.ends, a.length = r, ends || r.Close, -1
}

// reset forgets the answer, which has been sent.
func (a *answer) reset() {
	h := a.header
	if len(h) > maxKept {
		h = http.Header{}
	}
	clear(h)
	a.free()
	*a = answer{c: a.c, header: h, names: a.names}
}

// outputs are for what is held back.
var outputs = sync.Pool{New: func() any {
	b := make([]byte, 4<<10)
	return &b
}}

func (a *answer) free() {
	if a.out != nil {
		outputs.Put(a.out)
		a.out, a.used = nil, 0
	}
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Informational answers (1xx) are
// sent at once, with the header as it is, to who knows them. It panics if status
// is none, as net/http's does: no other one may be answered in its place.
func (a *answer) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("%d is no status", status))
	}
	if a.status != 0 {
		return
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		a.inform(status)
		return
	}
	a.status = status
	a.ends = a.ends || status == http.StatusSwitchingProtocols // it cannot go on in HTTP/1
	a.bodiless = a.r.Method == http.MethodHead || !allowsBody(status)
	if line := a.header["Content-Length"]; len(line) == 1 {
		if n, err := strconv.ParseUint(line[0], 10, 63); err == nil {
			a.length = int64(n)
		}
	}
}

func allowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if err := a.mayWrite(int64(len(p))); err != nil || len(p) == 0 || a.bodiless {
		return a.swallowed(p, err)
	}
	if a.chunked {
		a.hold(p)
	} else {
		a.add(p)
	}
	if a.err != nil {
		return 0, a.err
	}
	return len(p), nil
}

func (a *answer) swallowed(p []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// mayWrite is the beginning of all writing of n bytes.
func (a *answer) mayWrite(n int64) error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.sent && n > 0 {
		a.head(false)
	}
	switch {
	case a.err != nil:
		return a.err
	case n > 0 && !allowsBody(a.status):
		return http.ErrBodyNotAllowed
	case a.length >= 0 && a.written+n > a.length:
		return http.ErrContentLength
	}
	a.written += n
	return nil
}

// add holds p back if there is room, and else sends it with what was held back.
func (a *answer) add(p []byte) {
	if a.err != nil {
		return
	}
	if a.out == nil {
		a.out = outputs.Get().(*[]byte)
	}
	out := *a.out
	if len(p) <= len(out)-a.used {
		a.used += copy(out[a.used:], p)
		return
	}
	held := out[:a.used]
	a.used = 0
	if len(held) == 0 {
		a.err = a.c.write(p)
	} else {
		a.err = a.c.writeAll(net.Buffers{held, p})
	}
}

func (a *answer) addText(s string) {
	if a.err != nil {
		return
	}
	if a.out == nil {
		a.out = outputs.Get().(*[]byte)
	}
	for len(s) > 0 && a.err == nil {
		if a.used == len(*a.out) {
			a.send()
		}
		n := copy((*a.out)[a.used:], s)
		a.used += n
		s = s[n:]
	}
}

// send sends what is held back.
func (a *answer) send() {
	a.closeChunk()
	if a.err == nil && a.used > 0 {
		held := (*a.out)[:a.used]
		a.used = 0
		a.err = a.c.write(held)
	}
}

// ReadFrom implements io.ReaderFrom. A file, limited or not, goes to the socket
// by sendfile(2) where its length has been declared.
func (a *answer) ReadFrom(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: 1<<63 - 1}
	}
	file, ok := limited.R.(*os.File)
	if ok && a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !ok || a.length < 0 || a.bodiless {
		return io.Copy(struct{ io.Writer }{a}, src)
	}
	if err := a.mayWrite(0); err != nil {
		return 0, err
	}
	if !a.sent {
		a.head(false)
	}
	a.send()
	if a.err != nil {
		return 0, a.err
	}
	within := min(limited.N, a.length-a.written)
	n, err := a.c.sendFile(file, within)
	a.written += n
	a.err = err
	limited.N -= n
	if err != nil || n < within || limited.N == 0 {
		return n, err
	}
	switch more, err := file.Read(make([]byte, 1)); {
	case more > 0:
		return n, http.ErrContentLength
	case err == io.EOF:
		return n, nil
	default:
		return n, err
	}
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.sent {
		a.head(false)
	}
	a.send()
	return a.err
}

// goOn has the client send its body, unless it has been answered.
func (a *answer) goOn() {
	if a.status == 0 {
		_ = a.c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n")) // an error shows when the body is read
	}
}

// finish sends what is left of the answer, and reports whether the connection
// can have another request.
func (a *answer) finish() bool {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.sent {
		a.head(true)
	}
	a.closeChunk()
	if a.chunked && !a.bodiless {
		a.addText("0\r\n\r\n")
	}
	a.send()
	return a.err == nil && !a.ends && a.c.visit.body.err == errEnd &&
		(a.bodiless || a.length < 0 || a.written == a.length)
}

// SetReadDeadline is for http.ResponseController.
func (a *answer) SetReadDeadline(t time.Time) error { return a.c.readBy.want(t) }

// SetWriteDeadline is for http.ResponseController.
func (a *answer) SetWriteDeadline(t time.Time) error { return a.c.writeBy.want(t) }

// Hijack implements http.Hijacker: the connection is the handler's, without
// deadlines, until it returns; then it has to be closed.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if a.hijacked {
		return nil, nil, http.ErrHijacked
	}
	if a.send(); a.err != nil {
		return nil, nil, a.err
	}
	a.hijacked = true
	a.c.visit.end()
	if err := a.c.socket.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	return a.c.socket, a.c.buffered(), nil
}
