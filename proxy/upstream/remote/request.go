package remote

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// ours reports whether a request header concerns this connection only: those we
// write ourselves or not at all.
func ours(name string) bool {
	switch name {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Te",
		"Trailer", "Upgrade", "Expect", "Http2-Settings":
		return true
	}
	return false
}

// sized reports whether a method always tells the length of its body, 0 included
// (RFC 9110 section 8.6).
func sized(method string) bool {
	switch method {
	case "PUT", "POST", "PATCH", "PROPPATCH":
		return true
	}
	return false
}

// head appends to b what goes out before a body of size bytes, or before one
// in chunks if size is -1. Target and
// Host are taken as they are, so what would end a line early is refused.
func (u *Remote) head(b []byte, r *http.Request, size int64) ([]byte, error) {
	host := u.host
	if u.opts.HostKeep {
		host = r.Host
	}
	switch {
	case !token(r.Method):
		return b, fmt.Errorf("the method %q cannot be sent", r.Method)
	case !strings.HasPrefix(r.RequestURI, "/") || !visible(r.RequestURI):
		return b, fmt.Errorf("the request target %q cannot be sent", r.RequestURI)
	case !visible(host):
		return b, fmt.Errorf("the host %q cannot be sent", host)
	}
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, u.prefix...)
	b = append(b, r.RequestURI...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\n"...)
	if size < 0 {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	} else if size > 0 || sized(r.Method) {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, size, 10)
		b = append(b, "\r\n"...)
	}
	for name, lines := range r.Header {
		if ours(name) {
			continue
		}
		if !token(name) {
			return b, fmt.Errorf("the header name %q cannot be sent", name)
		}
		for _, line := range lines {
			if !oneLine(line) {
				return b, fmt.Errorf("the header %s has a value that cannot be sent", name)
			}
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, trimBlanks(line)...)
			b = append(b, "\r\n"...)
		}
	}
	if u.opts.Idle == 0 {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...), nil
}

// kind tells what a byte may be part of.
var kind = func() (kind [256]byte) {
	for c := range kind {
		if c > ' ' && c != 0x7f {
			kind[c] |= visibleByte
		}
		if c > ' ' && c <= '~' && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, rune(c)) {
			kind[c] |= tokenByte
		}
		if c != '\r' && c != '\n' && c != 0 {
			kind[c] |= lineByte
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			kind[c] |= valueByte
		}
	}
	return kind
}()

const (
	visibleByte = 1 << iota
	tokenByte   // RFC 9110 section 5.6.2
	lineByte    // of a value that we send
	valueByte   // of a value that we take: RFC 9110 section 5.5
)

// all reports whether all bytes of s are of a kind.
func all(s string, of byte) bool {
	for i := range len(s) {
		if kind[s[i]]&of == 0 {
			return false
		}
	}
	return true
}

// visible reports whether s stays one word in a request line or Host header.
func visible(s string) bool { return all(s, visibleByte) }

// token reports whether s is a method or name.
func token(s string) bool { return s != "" && all(s, tokenByte) }

// oneLine reports whether s stays the value of one header.
func oneLine(s string) bool { return all(s, lineByte) }

func blank(c byte) bool { return c == ' ' || c == '\t' }

// trimBlanks returns s without the blanks around it.
func trimBlanks(s string) string {
	for len(s) > 0 && blank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && blank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
