package remote

import (
	"bytes"
	"net/http"
	"strings"
)

// simple is an answer of the form that most have: HTTP/1.1, a final status, a
// head of plain lines, which is shorter than an input, and a body whose length is
// told, or none. It is the same as http.ReadResponse makes of it, after trim. All
// others are left to that.
type simple struct {
	http.Response
	values [8]string // of its header
	keeps  bool      // everybody finds its end where we do, and goes on after it
}

// receiveSimple takes the next answer, if that is held whole and simple.
func (c *conn) receiveSimple(method string) *simple {
	held := c.in.held()
	end := bytes.Index(held, []byte("\r\n\r\n"))
	if end < 0 || c.seen.interim {
		return nil
	}
	head := held[:end+len("\r\n\r\n")]
	if c.told != string(head) { // a store says the same all the time
		c.told = string(head)
	}
	a := parseSimple(c.told, method)
	if a == nil {
		return nil
	}
	c.in.take(len(head))
	if a.Body == nil {
		c.fixed.left = a.ContentLength
		a.Body = &c.fixed
	}
	return a
}

// parseSimple returns the answer to a method whose head, with the empty line, is
// text; nil if it is not surely simple. Its Body is nil where one follows, of
// ContentLength bytes.
func parseSimple(text, method string) *simple {
	const version = "HTTP/1.1 "
	line, rest, ok := strings.Cut(text, "\r\n")
	if !ok || len(line) < len(version)+3 || line[:len(version)] != version {
		return nil
	}
	status := 0
	for _, digit := range []byte(line[len(version) : len(version)+3]) {
		if digit < '0' || digit > '9' {
			return nil
		}
		status = 10*status + int(digit-'0')
	}
	reason := line[len(version)+3:]
	if status < 200 || reason != "" && reason[0] != ' ' || !all(reason, valueByte) {
		return nil
	}
	a := &simple{}
	a.Proto, a.ProtoMajor, a.ProtoMinor = version[:len(version)-1], 1, 1
	a.Status, a.StatusCode = line[len(version):], status

	// Room for the lines, and for what trim adds.
	n := strings.Count(rest, "\n")
	values := a.values[:0]
	if n > cap(values) {
		values = make([]string, 0, n)
	}
	a.Header = make(http.Header, n)
	length := ""
	for {
		line, rest, ok = strings.Cut(rest, "\r\n")
		if !ok {
			return nil
		}
		if line == "" {
			break
		}
		name, value, ok := field(line)
		if !ok {
			return nil
		}
		switch name {
		case "Transfer-Encoding", "Trailer", "Pragma":
			return nil
		case "Connection":
			if value != "keep-alive" {
				return nil
			}
			continue
		case "Content-Length":
			if length != "" || !digits(value) {
				return nil
			}
			length = value
		default:
			if perHop[name] {
				continue
			}
		}
		values = append(values, value)
		last := len(values)
		if others := a.Header[name]; others != nil {
			a.Header[name] = append(others, value)
		} else {
			a.Header[name] = values[last-1 : last : last]
		}
	}
	if rest != "" {
		return nil
	}
	return a.measure(method, length)
}

// measure says where the answer to a method ends; length is its Content-Length.
func (a *simple) measure(method, length string) *simple {
	for _, digit := range []byte(length) {
		a.ContentLength = 10*a.ContentLength + int64(digit-'0')
	}
	none := a.StatusCode == http.StatusNoContent || a.StatusCode == http.StatusNotModified
	switch {
	case method == http.MethodHead:
		a.Body = http.NoBody
		if length == "" {
			a.ContentLength = -1
		}
	case none:
		a.Body, a.ContentLength = http.NoBody, 0
	case length == "":
		return nil // until the connection is closed
	case a.ContentLength == 0:
		a.Body = http.NoBody
	}
	a.keeps = a.Body == nil || length == "" || length == "0" // as framing.plain
	return a
}

// digits reports whether s is a length that everybody reads alike.
func digits(s string) bool {
	if s == "" || len(s) > 18 {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// field returns what one line of a head says, the name in its canonical form.
func field(line string) (name, value string, ok bool) {
	colon, canonical, first := 0, true, true
	for ; colon < len(line) && line[colon] != ':'; colon++ {
		c := line[colon]
		if kind[c]&tokenByte == 0 {
			return "", "", false
		}
		if first && 'a' <= c && c <= 'z' || !first && 'A' <= c && c <= 'Z' {
			canonical = false
		}
		first = c == '-'
	}
	if colon == 0 || colon == len(line) {
		return "", "", false
	}
	name, value = line[:colon], trimBlanks(line[colon+1:])
	if !canonical {
		name = http.CanonicalHeaderKey(name)
	}
	return name, value, all(value, valueByte)
}
