package remote

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// ours are the request headers that concern this connection only: we write
// them ourselves or not at all.
var ours = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true,
	"Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Http2-Settings": true,
}

// sized are the methods that always tell the length of their body, 0 included
// (RFC 9110 section 8.6).
var sized = map[string]bool{"PUT": true, "POST": true, "PATCH": true, "PROPPATCH": true}

// head writes to b what goes out before a body of size bytes, or before one
// in chunks if size is -1. Target and
// Host are taken as they are, so what would end a line early is refused.
func (u *Remote) head(b *bytes.Buffer, r *http.Request, size int64) error {
	host := u.host
	if u.opts.HostKeep {
		host = r.Host
	}
	switch {
	case !token(r.Method):
		return fmt.Errorf("the method %q cannot be sent", r.Method)
	case !strings.HasPrefix(r.RequestURI, "/") || !visible(r.RequestURI):
		return fmt.Errorf("the request target %q cannot be sent", r.RequestURI)
	case !visible(host):
		return fmt.Errorf("the host %q cannot be sent", host)
	}
	for _, text := range [...]string{r.Method, " ", u.prefix, r.RequestURI, " HTTP/1.1\r\nHost: ", host, "\r\n"} {
		b.WriteString(text)
	}
	if size < 0 {
		b.WriteString("Transfer-Encoding: chunked\r\n")
	} else if size > 0 || sized[r.Method] {
		b.WriteString("Content-Length: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), size, 10))
		b.WriteString("\r\n")
	}
	for name, lines := range r.Header {
		if ours[name] {
			continue
		}
		if !token(name) {
			return fmt.Errorf("the header name %q cannot be sent", name)
		}
		for _, line := range lines {
			if strings.ContainsAny(line, "\r\n\x00") {
				return fmt.Errorf("the header %s has a value that cannot be sent", name)
			}
			for _, text := range [...]string{name, ": ", strings.Trim(line, " \t"), "\r\n"} {
				b.WriteString(text)
			}
		}
	}
	if u.opts.Idle == 0 {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	return nil
}

// visible reports whether s stays one word in a request line or Host header.
func visible(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f }) < 0
}

// token reports whether s is a method, RFC 9110 section 5.6.2.
func token(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}) < 0
}
