package proxy

import (
	"net/http"
	"net/url"
	"strings"

	"fencegate/proxy/protocol"
	"fencegate/proxy/protocol/dav"
)

// What is judged is the public path. Where the store has other names for the
// same objects (Options.Names), they are put in place on the way there, and the
// public ones on the way back.

// storeNames returns how the store that the request goes to names things. The
// origin is the one that the store is told in Host.
func (p *Proxy) storeNames(r *http.Request) dav.Map {
	m := p.opts.Names
	if p.opts.HostKept && m.Store.Origin != "" {
		scheme, _, _ := strings.Cut(m.Store.Origin, "://")
		if ref, err := dav.ParseRef(scheme + "://" + r.Host); err == nil {
			m.Store.Origin = ref.Origin
		}
	}
	return m
}

// rename puts the store's names into the head of a request to it. Its path has
// no prefix of the store's: that is for the upstream to add.
func (p *Proxy) rename(out *http.Request, u *url.URL, q *request) {
	path, _ := p.opts.Names.Public.Cut(q.path) // readHead has seen that it is there
	decoded, _ := url.PathUnescape(path)       // its escapes have been checked
	asks := q.query != "" || strings.HasSuffix(out.RequestURI, "?")
	// Not its own URL: that has no path where the target is "http://host".
	*u = url.URL{Path: decoded, RawPath: path, RawQuery: q.query}
	out.URL = u
	if out.RequestURI = path; asks {
		out.RequestURI += "?" + q.query
	}
	if out.Method == "LOCK" {
		out.Header["Timeout"] = []string{dav.CapTimeout(out.Header)}
	}
	if p.opts.Names == (dav.Map{}) && !q.moves() {
		return
	}
	m := p.storeNames(out)
	if q.moves() {
		if ref, err := dav.ParseDestination(out.Header); err == nil { // the protocol has read it
			to, _ := m.ToStore(ref)
			out.Header["Destination"] = []string{to.String()}
		}
		if out.Header["Overwrite"] == nil {
			out.Header["Overwrite"] = []string{"T"} // what none means, said to those who have it otherwise
		}
	}
	if lines := out.Header["If"]; len(lines) == 1 {
		if mapped, err := m.MapIf(lines[0]); err == nil {
			out.Header["If"] = []string{mapped}
		}
	}
	if p.answersXML(out.Method) {
		delete(out.Header, "Accept-Encoding") // its hrefs are to be read
	}
}

// moves reports whether the request has a destination.
func (q *request) moves() bool {
	for _, part := range q.intent.Parts {
		if part.Destination {
			return true
		}
	}
	return false
}

// answersXML reports whether the answer may have hrefs in it. An object's own
// content, whatever it is, has none.
func (p *Proxy) answersXML(method string) bool {
	_, isDAV := p.protocol.(protocol.WebDAV)
	return isDAV && p.opts.Names != (dav.Map{}) && method != http.MethodGet && method != http.MethodHead
}

// renameBack puts the public names into the head of an answer, and reports
// whether there are some in its body.
func (p *Proxy) renameBack(h http.Header, r *http.Request, m dav.Map) (inBody bool) {
	if m == (dav.Map{}) {
		return false
	}
	for _, name := range []string{"Location", "Content-Location"} {
		for i, line := range h[name] {
			h[name][i] = m.ToPublic(line)
		}
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/xml", "application/xml":
	default:
		return false
	}
	if !p.answersXML(r.Method) || h.Get("Content-Encoding") != "" {
		return false
	}
	h.Del("Content-Length") // of what the store has sent
	h.Del("Content-MD5")
	return true
}
