package harness

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// exchange is one request to a FakeStore and its answer.
type exchange struct {
	store *FakeStore
	conn  *net.TCPConn
	in    *bufio.Reader
	head  *http.Request
	r     *Request
	plan  Plan
	last  time.Duration // when look has seen the connection
}

// run follows the plan and reports whether the connection may serve another
// request.
func (x *exchange) run() bool {
	for _, first := range x.plan.First {
		if !x.say("HTTP/1.1 " + first + "\r\n\r\n") {
			break // whoever is gone may still be planned to have an effect
		}
	}
	if !x.store.await(x.plan.WaitBody) {
		return false
	}
	if x.plan.Early {
		if !x.answer(cmp.Or(x.plan.Status, http.StatusRequestEntityTooLarge), x.plan.Body) || x.plan.Close {
			return false
		}
		_, err := x.receive()
		return err == nil
	}
	if strings.EqualFold(x.head.Header.Get("Expect"), "100-continue") && x.plan.CutBody == 0 {
		x.say("HTTP/1.1 100 Continue\r\n\r\n")
	}
	body, err := x.receive()
	if err != nil {
		if err == errCutHere {
			x.drop(Reset)
		}
		return false
	}
	x.look()
	x.drop(x.plan.Drop)
	if x.plan.UntilGone {
		x.untilGone()
	}
	if !x.store.await(x.plan.Wait) || !x.pass(x.plan.Delay) {
		return false
	}
	status, text := x.store.take(x, body)
	if status == 0 {
		return false
	}
	if x.plan.Then != nil {
		x.plan.Then()
	}
	if x.plan.Status > 0 {
		status = x.plan.Status
	}
	if x.plan.Body != "" {
		text = x.plan.Body
	}
	switch {
	case x.plan.Drop != Keep, x.plan.UntilGone, x.plan.Lose:
		return false
	case x.plan.Never:
		x.untilGone()
		return false
	}
	return x.store.await(x.plan.WaitAnswer) && x.answer(status, text) && !x.plan.Close
}

// receive takes the body in, whole or with an error.
func (x *exchange) receive() (string, error) {
	var body strings.Builder
	if _, err := io.Copy(&body, counted{x.head.Body, x}); err != nil {
		return "", err
	}
	x.store.note(x.r, func(r *Request) { r.Whole = Monotonic() })
	return body.String(), nil
}

// untilGone waits for the end of the connection, or for bytes of a next
// request, which nobody sends before the answer.
func (x *exchange) untilGone() {
	if x.plan.Settle <= 0 {
		_, _ = x.in.Peek(1)
		return
	}
	for x.look() && x.store.pass(settleLook) {
	}
}

func (x *exchange) drop(how Drop) {
	switch how {
	case Keep:
		return
	case Reset:
		_ = x.conn.SetLinger(0)
	}
	x.conn.Close()
}

// answer sends an answer as the plan has it and reports whether all of it went
// out as HTTP has it.
func (x *exchange) answer(status int, body string) bool {
	length := int64(len(body))
	if x.plan.Length > 0 {
		length = x.plan.Length
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if status != http.StatusNoContent && status != http.StatusNotModified {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	_ = x.plan.Header.Write(&b)
	b.WriteString("\r\n")
	if x.head.Method != http.MethodHead && status != http.StatusNoContent {
		b.WriteString(body)
	}
	text := b.String()
	cut := x.plan.CutAnswer > 0 && x.plan.CutAnswer < len(text)
	if cut {
		text = text[:x.plan.CutAnswer]
	}
	if !x.say(text) {
		return false
	}
	if cut {
		x.drop(Reset)
		return false
	}
	x.store.note(x.r, func(r *Request) { r.Answered = Monotonic() })
	return length == int64(len(body))
}

// say sends text, at the plan's pace.
func (x *exchange) say(text string) bool {
	if x.plan.Pace <= 0 {
		_, err := io.WriteString(x.conn, text)
		return err == nil
	}
	for i := range len(text) {
		if _, err := io.WriteString(x.conn, text[i:i+1]); err != nil || !x.store.pass(x.plan.Pace) {
			return false
		}
	}
	return true
}
