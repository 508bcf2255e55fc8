package front

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// head writes the head of the answer. whole: there is nothing behind it, and
// nothing has been written; the handler has returned.
func (a *answer) head(whole bool) {
	a.sent = true
	_, coded := a.header["Transfer-Encoding"] // "identity": to the end of the connection
	if httpguts.HeaderValuesContainsToken(a.header["Connection"], "close") {
		a.ends = true
	}
	if a.c.server.stopping.Load() {
		a.ends = true
	}
	if whole && a.c.visit.body.err != errEnd { // nobody reads it any more
		a.ends = true
	}
	length := a.length
	switch {
	case !allowsBody(a.status):
		length = -1
	case length >= 0:
	case whole && !a.bodiless && !coded:
		length, a.length = 0, 0
	case a.bodiless:
	case coded || !a.r.ProtoAtLeast(1, 1):
		a.ends = true
	default:
		a.chunked = true
	}
	a.statusLine(a.status)
	a.fields()
	if _, ok := a.header["Date"]; !ok {
		a.addText("Date: ")
		a.addText(date())
		a.addText("\r\n")
	}
	if length >= 0 {
		a.addText("Content-Length: ")
		a.addText(strconv.FormatInt(length, 10))
		a.addText("\r\n")
	}
	if a.chunked {
		a.addText("Transfer-Encoding: chunked\r\n")
	}
	switch {
	case a.ends:
		a.addText("Connection: close\r\n")
	case !a.r.ProtoAtLeast(1, 1):
		a.addText("Connection: keep-alive\r\n") // it has asked for that
	}
	a.addText("\r\n")
}

// inform sends an informational answer.
func (a *answer) inform(status int) {
	if !a.r.ProtoAtLeast(1, 1) {
		return
	}
	a.statusLine(status)
	a.fields()
	a.addText("\r\n")
	a.send()
}

func (a *answer) statusLine(status int) {
	version := "HTTP/1.1 "
	if !a.r.ProtoAtLeast(1, 1) {
		version = "HTTP/1.0 "
	}
	a.addText(version)
	a.addText(statusText(status))
	a.addText("\r\n")
}

// statusText is a status as a status line has it.
func statusText(status int) string {
	if text := statusTexts[status%len(statusTexts)]; text != "" && status < len(statusTexts) {
		return text
	}
	return strconv.Itoa(status) + " "
}

var statusTexts = func() (t [600]string) {
	for status := range t {
		if text := http.StatusText(status); text != "" {
			t[status] = strconv.Itoa(status) + " " + text
		}
	}
	return t
}()

// fields writes the header, in the order of its names, without what is up to us:
// where the answer ends, and the connection. Trailers are not sent.
func (a *answer) fields() {
	a.names = a.names[:0]
	for name := range a.header {
		switch len(name) {
		case len("Trailer"), len("Connection"), len("Content-Length"), len("Transfer-Encoding"):
			switch http.CanonicalHeaderKey(name) {
			case "Trailer", "Connection", "Content-Length", "Transfer-Encoding":
				continue
			}
		}
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		a.field(name, a.header[name])
	}
}

// field writes the lines of one name. What would be none, or more than that, is
// left out, or made harmless.
func (a *answer) field(name string, lines []string) {
	if !httpguts.ValidHeaderFieldName(name) {
		return
	}
	for _, line := range lines {
		if !httpguts.ValidHeaderFieldValue(line) {
			line = strings.Map(harmless, line)
		}
		a.addText(name)
		a.addText(": ")
		a.addText(line)
		a.addText("\r\n")
	}
}

// harmless takes a space for a control character, as RFC 9110 section 5.5 has it.
func harmless(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return ' '
	}
	return r
}

// dated is a second with its text.
type dated struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dated]

// date returns the time as RFC 9110 section 6.6.1 wants it.
func date() string {
	now := time.Now()
	d := lastDate.Load()
	if d == nil || d.second != now.Unix() {
		d = &dated{now.Unix(), now.UTC().Format(http.TimeFormat)}
		lastDate.Store(d)
	}
	return d.text
}
