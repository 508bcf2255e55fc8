package remote

import (
	"bytes"
	"net/http"
)

// framing is what the lines of an answer's head say about where it ends, and
// http.ReadResponse does not pass on.
type framing struct {
	lengths, codings, connections int  // lines of Content-Length, Transfer-Encoding, Connection
	folded                        bool // a line goes on in the next one
	interim                       bool // informational answers came before
}

// note takes in one line.
func (f *framing) note(line []byte) {
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		f.lengths++
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.codings++
	case bytes.EqualFold(name, []byte("Connection")):
		f.connections++
	case line[0] == ' ' || line[0] == '\t':
		f.folded = true
	}
}

// plain reports whether everybody who reads from res, whose head this is, finds
// its end where we do. With other answers it is open what the next bytes on
// their connection belong to.
func (f framing) plain(res *http.Response) bool {
	if f.interim || f.folded || f.lengths+f.codings > 1 {
		return false
	}
	// 204, 304 and what answers HEAD have no body, but may describe one. A store
	// that sends it nevertheless would have it taken for the next answer.
	length := res.Header.Get("Content-Length")
	return res.Body != http.NoBody || f.codings == 0 && (length == "" || length == "0")
}

// clean reports whether the next request may use the connection after the answer
// to m, of which end is how its body ended. Nothing of either may be left
// anywhere: what the next answer shows rests on that.
func (c *conn) clean(m *message, status int, end ending) bool {
	switch {
	case !c.whole():
	case status >= 300 && m.size != 0:
		// The store may not have read the body that it did not want.
	case !c.keeps || end != marked:
	case c.pending() > 0 || c.secure != nil && !c.under.drained(c.secure):
	default:
		return true
	}
	return false
}
