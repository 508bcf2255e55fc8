package proxy

import (
	"context"
	"maps"
	"net/http"
	"strings"
)

// hopByHop headers concern one connection only (RFC 9110 section 7.6.1; Keep-
// Alive and the Proxy- ones from practice), so they are not sent on.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Proxy-Authorization": true, "Proxy-Authenticate": true,
	"Expect": true, "Http2-Settings": true,
}

func isHopByHop(name string) bool { return hopByHop[name] }

// rerouting headers make some servers act on another path than the one judged.
var rerouting = map[string]bool{"X-Original-Url": true, "X-Rewrite-Url": true}

// forConnection tells of the headers of one message which concern only the
// connection that it came on.
func forConnection(h http.Header) func(name string) bool {
	lines := h["Connection"]
	if len(lines) == 0 {
		return isHopByHop
	}
	named := map[string]bool{}
	for _, line := range lines {
		for option := range strings.SplitSeq(line, ",") {
			named[http.CanonicalHeaderKey(strings.TrimSpace(option))] = true
		}
	}
	return func(name string) bool { return hopByHop[name] || named[name] }
}

// notForClient tells of the headers of a store's answer that are not for the
// client: those for the connection to the store, and what only we send.
func notForClient(h http.Header) func(name string) bool {
	hop := forConnection(h)
	return func(name string) bool { return hop(name) || strings.HasPrefix(name, fencingPrefix) }
}

// trimAnswer removes them.
func trimAnswer(h http.Header) {
	ours := notForClient(h)
	maps.DeleteFunc(h, func(name string, _ []string) bool { return ours(name) })
}

// outgoing returns the request as the store shall see it: its names where they
// differ, else path and query byte for byte, and without the headers that are
// not for it.
func (p *Proxy) outgoing(ctx context.Context, r *http.Request, q *request) *http.Request {
	out := r.WithContext(ctx)
	out.Header = make(http.Header, len(r.Header))
	hop := forConnection(r.Header)
	for name, lines := range r.Header {
		if hop(name) || rerouting[hyphenated(name)] || strings.HasPrefix(name, fencingPrefix) {
			continue
		}
		if name == "Prefer" {
			if lines = withoutAsync(lines); len(lines) == 0 {
				continue
			}
		}
		out.Header[name] = lines
	}
	out.Body, out.Trailer = http.NoBody, nil
	p.rename(out, q)
	return out
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
