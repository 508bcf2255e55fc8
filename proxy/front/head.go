package front

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// head is what is read of a request before its body. Its memory serves all
// requests of a connection.
type head struct {
	header http.Header
	lines  []string // of which the header's values are
	url    url.URL

	chunked bool
	length  int64 // of the body, if it is not chunked
	expects bool  // 100-continue
	ends    bool  // the connection, whatever is said in Connection
}

// maxKept is how many header lines a connection keeps memory for.
const maxKept = 64

// reset forgets the head: one string in memory is one of all of it.
func (h *head) reset() {
	h.url = url.URL{}
	if len(h.lines) > maxKept {
		h.header, h.lines = http.Header{}, nil
		return
	}
	clear(h.header)
	clear(h.lines)
	h.lines = h.lines[:0]
}

// refusal is an answer to a request that no handler sees.
type refusal struct {
	status int
	text   string
}

func malformed(text string) *refusal { return &refusal{http.StatusBadRequest, text} }

// request reads the head of the next request, of which something has come. It
// returns nil when there will be none: then the client has been told, or has
// left, or took too long.
func (c *conn) request() *http.Request {
	text, refused := c.readHead()
	if refused == nil && text == "" {
		return nil
	}
	var r *http.Request
	if refused == nil {
		c.visit, r = c.newVisit()
		refused = c.head.parse(text, r)
	}
	if refused != nil {
		c.refuse(refused)
		return nil
	}
	c.visit.body = body{v: c.visit, left: c.head.length, chunked: c.head.chunked, expects: c.head.expects, trailer: r.Trailer}
	r.ContentLength, r.Body = c.head.length, http.NoBody
	switch {
	case c.head.chunked:
		c.visit.body.r = r
		r.ContentLength, r.TransferEncoding, r.Body = -1, chunkedOnly, &c.visit.body
	case c.head.length > 0:
		r.Body = &c.visit.body
	default:
		c.visit.body.err = errEnd
	}
	c.answer.begin(r, c.head.ends)
	return r
}

var chunkedOnly = []string{"chunked"}

// readHead returns the lines of a head, without the empty one behind them; "" if
// there is none.
func (c *conn) readHead() (string, *refusal) {
	// Empty lines that some clients send behind a body, RFC 9112 section 2.2.
	skipped := 0
	seen := 0 // of what has come, without the end of a head
	for limited := c.first; ; {
		for c.from < c.to && skipped < 4 && (c.in[c.from] == '\r' || c.in[c.from] == '\n') {
			c.from++
			skipped++
		}
		have := c.in[c.from:c.to]
		if end, next := endOfHead(have, max(0, seen-3)); end >= 0 {
			if next > c.server.MaxHead {
				return "", &refusal{http.StatusRequestHeaderFieldsTooLarge, ""}
			}
			text := string(have[:end])
			c.from += next
			c.first = false
			_ = c.readBy.want(time.Time{}) // from here on it is the handler's
			return text, nil
		}
		if len(have) > c.server.MaxHead {
			return "", &refusal{http.StatusRequestHeaderFieldsTooLarge, ""}
		}
		if bytes.HasPrefix(have, preface) {
			return "", &refusal{http.StatusHTTPVersionNotSupported, "unsupported protocol version"}
		}
		seen = len(have)
		if !limited {
			limited = true
			_ = c.readBy.want(time.Now().Add(c.server.HeadTimeout))
		}
		c.makeRoom()
		if c.fill() != nil {
			return "", nil
		}
	}
}

// preface is what HTTP/2 begins with: a client that speaks it waits for an
// answer before it sends more.
var preface = []byte("PRI * HTTP/2.0\r\n")

// makeRoom enlarges in when a head fills it.
func (c *conn) makeRoom() {
	if c.from > 0 || c.to < len(c.in) {
		return
	}
	larger := make([]byte, min(2*len(c.in), c.server.MaxHead+4<<10))
	copy(larger, c.in)
	to := c.to
	c.freeInput()
	c.in, c.to = larger, to
}

// endOfHead looks for the empty line behind a head, from a place on before which
// there is none. It returns where the lines end, and where the next byte is; -1
// if the end has not come.
func endOfHead(b []byte, from int) (end, next int) {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1, 0
		}
		from += i + 1
		switch rest := b[from:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return from, from + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return from, from + 2
		}
	}
}

// parse reads the lines of a head into r.
func (h *head) parse(text string, r *http.Request) *refusal {
	line, text := cutLine(text)
	if refused := h.parseFirst(line, r); refused != nil {
		return refused
	}
	for text != "" {
		line, text = cutLine(text)
		if refused := h.parseField(line); refused != nil {
			return refused
		}
	}
	return h.understand(r)
}

// cutLine returns the first line without its end, and the others.
func cutLine(text string) (line, rest string) {
	i := strings.IndexByte(text, '\n') // there is one
	line, rest = text[:i], text[i+1:]
	return strings.TrimSuffix(line, "\r"), rest
}

// parseFirst reads method, target and version.
func (h *head) parseFirst(line string, r *http.Request) *refusal {
	method, rest, ok := strings.Cut(line, " ")
	target, version, more := strings.Cut(rest, " ")
	if !ok || !more {
		return malformed("malformed HTTP request line")
	}
	if !httpguts.ValidHeaderFieldName(method) { // a token too
		return malformed("invalid method")
	}
	major, minor, ok := http.ParseHTTPVersion(version)
	switch {
	case !ok:
		return malformed("malformed HTTP version")
	case major != 1:
		return &refusal{http.StatusHTTPVersionNotSupported, "unsupported protocol version"}
	}
	r.Method, r.RequestURI = method, target
	r.Proto, r.ProtoMajor, r.ProtoMinor = version, major, minor
	return h.parseTarget(r)
}

// parseTarget fills in the URL; what is no target for net/url, as "/%zz", is
// refused.
func (h *head) parseTarget(r *http.Request) *refusal {
	target := r.RequestURI
	if plainPath(target) {
		h.url = url.URL{Path: target}
		return nil
	}
	if r.Method == http.MethodConnect && !strings.HasPrefix(target, "/") {
		target = "http://" + target // its form is host:port, RFC 9112 section 3.2.3
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return malformed("malformed request target")
	}
	h.url = *u
	if r.Method == http.MethodConnect && !strings.HasPrefix(r.RequestURI, "/") {
		h.url.Scheme = ""
	}
	r.Host = h.url.Host // RFC 9112 section 3.2.2
	return nil
}

// plainPath reports whether a target is a path that net/url takes as it is.
func plainPath(target string) bool {
	if target == "" || target[0] != '/' || strings.HasPrefix(target, "//") {
		return false
	}
	for i := range len(target) {
		if !plain[target[i]] {
			return false
		}
	}
	return true
}

// plain are the bytes that stand for themselves in any path.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-._~", byte(c)) >= 0
	}
	return t
}()

// parseField reads one header line.
func (h *head) parseField(line string) *refusal {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return malformed("malformed header line")
	}
	name, ok = canonical(name)
	if !ok { // also a folded line, and a space before the colon
		return malformed("invalid header name")
	}
	value = strings.Trim(value, " \t") // and no CR, which some take for the end of the line
	if !httpguts.ValidHeaderFieldValue(value) {
		return malformed("invalid header value")
	}
	if before, ok := h.header[name]; ok {
		h.header[name] = append(before, value)
		return nil
	}
	h.lines = append(h.lines, value)
	n := len(h.lines)
	h.header[name] = h.lines[n-1 : n : n]
	return nil
}

// canonical returns a header's name as http.CanonicalHeaderKey spells it, and
// whether it is one.
func canonical(name string) (string, bool) {
	if !httpguts.ValidHeaderFieldName(name) {
		return "", false
	}
	first := true
	for i := range len(name) {
		c := name[i]
		if first && 'a' <= c && c <= 'z' || !first && 'A' <= c && c <= 'Z' {
			return textproto.CanonicalMIMEHeaderKey(name), true
		}
		first = c == '-'
	}
	return name, true
}
