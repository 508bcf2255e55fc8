package integration

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// wire is one connection to fencegate, byte by byte, for what no HTTP client
// would send.
type wire struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, s *harness.Server) *wire {
	t.Helper()
	return dialAddr(t, strings.TrimPrefix(s.URL(), "http://"))
}

// dialAddr is dial for what leads to fencegate.
func dialAddr(t testing.TB, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * harness.Patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, conn, bufio.NewReader(conn)}
}

// send sends bytes; tests write lines that end in "\n" where "\r\n" is meant.
func (w *wire) send(text string) {
	w.t.Helper()
	w.raw(strings.ReplaceAll(text, "\n", "\r\n"))
}

func (w *wire) raw(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatalf("sending: %v", err)
	}
}

// next reads the next answer.
func (w *wire) next(method string) (answer, error) {
	res, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(text)}, err
}

// says compares the next answer.
func (w *wire) says(want, method string) answer {
	w.t.Helper()
	a, err := w.next(method)
	if err != nil || a.String() != want {
		w.t.Fatalf("the answer is %v, %v, want %s\n%s", a, err, want, a.body)
	}
	return a
}

// ends reads the answers until fencegate has closed the connection.
func (w *wire) ends() (answers []string) {
	w.t.Helper()
	for {
		if _, err := w.in.Peek(1); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				w.t.Fatalf("after %q the connection stays open", answers)
			}
			return answers
		}
		a, err := w.next(http.MethodPut)
		if err != nil {
			w.t.Fatalf("after %q: %v", answers, err)
		}
		answers = append(answers, a.String())
	}
}
