package proxy

import (
	"maps"
	"net/http"
	"strings"
)

// hopByHop headers concern one connection only (RFC 9110 section 7.6.1; Keep-
// Alive and the Proxy- ones from practice), so they are not sent on.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Proxy-Authorization", "Proxy-Authenticate",
		"Expect", "Http2-Settings":
		return true
	}
	return false
}

// rerouting headers make some servers act on another path than the one judged.
func rerouting(name string) bool { return name == "X-Original-Url" || name == "X-Rewrite-Url" }

// options are what the Connection lines of a message name: headers that concern
// only the connection which it came on, beside those that always do.
type options map[string]bool

func optionsOf(h http.Header) options {
	lines := h["Connection"]
	if len(lines) == 0 {
		return nil
	}
	named := options{}
	for _, line := range lines {
		for option := range strings.SplitSeq(line, ",") {
			named[http.CanonicalHeaderKey(strings.TrimSpace(option))] = true
		}
	}
	return named
}

// forConnection tells of the headers of the message which do.
func (o options) forConnection(name string) bool { return hopByHop(name) || o[name] }

// notForClient tells of the headers of a store's answer that are not for the
// client: those for the connection to the store, and what only we send.
func (o options) notForClient(name string) bool {
	return o.forConnection(name) || strings.HasPrefix(name, fencingPrefix)
}

// trimAnswer removes them.
func trimAnswer(h http.Header) {
	o := optionsOf(h)
	maps.DeleteFunc(h, func(name string, _ []string) bool { return o.notForClient(name) })
}

// outgoing returns the request as the store shall see it: its names where they
// differ, else path and query byte for byte, and without the headers that are
// not for it. Those it removes from the client's request, which has been
// understood by now.
func (p *Proxy) outgoing(x *exchange, q *request) *http.Request {
	h := x.r.Header
	o := optionsOf(h)
	for name, lines := range h {
		switch {
		case o.forConnection(name), rerouting(hyphenated(name)), strings.HasPrefix(name, fencingPrefix):
			delete(h, name)
		case name == "Prefer":
			if kept := withoutAsync(lines); len(kept) > 0 {
				h[name] = kept
			} else {
				delete(h, name)
			}
		}
	}
	x.out = *x.r
	x.out.Body, x.out.Trailer = http.NoBody, nil
	p.rename(&x.out, &x.outURL, q)
	return &x.out
}

// withoutAsync drops "respond-async" (RFC 7240 section 4.1): a store that
// answers before it has acted would make its answer worthless.
func withoutAsync(lines []string) []string {
	var out []string
	for _, line := range lines {
		if !strings.Contains(strings.ToLower(line), "respond-async") {
			out = append(out, line)
			continue
		}
		var kept []string
		for pref := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(pref), ";")
			if !strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				kept = append(kept, strings.TrimSpace(pref))
			}
		}
		if len(kept) > 0 {
			out = append(out, strings.Join(kept, ", "))
		}
	}
	return out
}
