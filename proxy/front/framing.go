package front

import (
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// understand reads what the header says about the message itself, and takes it
// out where net/http's server does.
func (h *head) understand(r *http.Request) *refusal {
	h.chunked, h.length, h.expects, h.ends = false, 0, false, false
	if refused := h.takeHost(r); refused != nil {
		return refused
	}
	h.readConnection(r)
	if refused := h.readLength(r); refused != nil {
		return refused
	}
	if refused := h.takeTrailer(r); refused != nil {
		return refused
	}
	if expect, ok := r.Header["Expect"]; ok && r.ProtoAtLeast(1, 1) {
		if len(expect) != 1 || !isWord(expect[0], "100-continue") {
			return &refusal{http.StatusExpectationFailed, "only 100-continue can be expected"}
		}
		h.expects = true
	}
	return nil
}

// takeHost leaves the host of an absolute target, which goes before Host (RFC
// 9112 section 3.2.2).
func (h *head) takeHost(r *http.Request) *refusal {
	hosts, ok := r.Header["Host"]
	switch {
	case len(hosts) > 1:
		return malformed("too many Host headers")
	case !ok && r.ProtoAtLeast(1, 1):
		return malformed("missing required Host header")
	case ok && !httpguts.ValidHostHeader(hosts[0]):
		return malformed("malformed Host header")
	case !httpguts.ValidHostHeader(r.Host): // net/url takes more than Host may have
		return malformed("malformed host in the request target")
	}
	if ok && r.Host == "" {
		r.Host = hosts[0]
	}
	delete(r.Header, "Host")
	return nil
}

// readConnection finds out whether the connection ends with this request.
func (h *head) readConnection(r *http.Request) {
	options := r.Header["Connection"]
	r.Close = httpguts.HeaderValuesContainsToken(options, "close") ||
		!r.ProtoAtLeast(1, 1) && !httpguts.HeaderValuesContainsToken(options, "keep-alive")
}

// readLength finds out where the body ends, RFC 9112 section 6.3.
func (h *head) readLength(r *http.Request) *refusal {
	codings, coded := r.Header["Transfer-Encoding"]
	lengths, sized := r.Header["Content-Length"]
	switch {
	case len(lengths) > 1:
		return malformed("too many Content-Length headers")
	case sized:
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil { // also of a sign, a comma, or nothing
			return malformed("bad Content-Length")
		}
		h.length = int64(n)
	}
	if !coded {
		return nil
	}
	delete(r.Header, "Transfer-Encoding")
	h.ends = sized || !r.ProtoAtLeast(1, 1) // section 6.1
	switch {
	case !r.ProtoAtLeast(1, 1):
		return nil // there are no chunks in HTTP/1.0
	case len(codings) != 1 || !isWord(codings[0], "chunked"):
		return &refusal{http.StatusNotImplemented, "unsupported transfer encoding"}
	}
	delete(r.Header, "Content-Length")
	h.chunked, h.length = true, 0
	return nil
}

// takeTrailer notes what is announced to come behind the chunks.
func (h *head) takeTrailer(r *http.Request) *refusal {
	lines, ok := r.Header["Trailer"]
	if !ok || !h.chunked {
		return nil
	}
	delete(r.Header, "Trailer")
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			switch name = http.CanonicalHeaderKey(strings.Trim(name, " \t")); name {
			case "":
				continue // RFC 9110 section 5.6.1
			case "Transfer-Encoding", "Trailer", "Content-Length":
				return malformed("bad trailer name")
			}
			if r.Trailer == nil {
				r.Trailer = http.Header{}
			}
			r.Trailer[name] = nil
		}
	}
	return nil
}

// isWord compares without regard to case, of ASCII alone: in Unicode the sign
// for Kelvin is a "k", which would be another reading than anybody else's.
func isWord(s, word string) bool {
	return len(s) == len(word) && strings.EqualFold(s, word)
}
