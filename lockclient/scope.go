package lockclient

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"fencegate/fence"
)

// scope returns what a request acts on, or why this lock does not cover it.
func (l *Lock) scope(req *http.Request) (fence.Resource, string) {
	if req.URL.Opaque != "" {
		return fence.Resource{}, "its URL is opaque"
	}
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	r, err := fence.Canonical(path, l.set.names)
	if err != nil {
		return fence.Resource{}, err.Error()
	}
	// The first token of a COPY is the destination's, its source is only read.
	if req.Method == "COPY" || req.Method == "MOVE" {
		dst, why := l.destination(req)
		if why != "" {
			return fence.Resource{}, why
		}
		if !l.covers(dst) {
			return fence.Resource{}, l.outside("the destination")
		}
		if req.Method == "COPY" {
			return dst, ""
		}
	}
	if !l.covers(r) {
		return fence.Resource{}, l.outside("it")
	}
	return r, ""
}

func (s *shared) covers(r fence.Resource) bool { return s.match(r) >= 0 }

// match returns the locked resource that covers r, by its index: r itself or
// the deepest of the trees that r is in; -1 if there is none.
func (s *shared) match(r fence.Resource) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := -1
	for i, own := range s.set.resources {
		switch {
		case own == r:
			return i
		case s.tree != nil && s.tree[i] && own.Covers(r) &&
			(found < 0 || len(own.Key()) > len(s.set.resources[found].Key())):
			found = i
		}
	}
	return found
}

// outside is why a request is refused that the lock does not cover.
func (s *shared) outside(what string) string {
	if n := len(s.set.resources); n > 1 {
		return fmt.Sprintf("%s is none of the %d that are locked", what, n)
	}
	return what + " is another resource"
}

// destination reads the Destination header (RFC 4918 section 10.3).
func (l *Lock) destination(req *http.Request) (fence.Resource, string) {
	values := req.Header.Values("Destination")
	if len(values) != 1 {
		return fence.Resource{}, fmt.Sprintf("it has %d Destination headers", len(values))
	}
	u, err := req.URL.Parse(values[0])
	if err != nil || u.Opaque != "" {
		return fence.Resource{}, "its Destination is not a URL"
	}
	if originOf(u) != *l.set.fence {
		return fence.Resource{}, "its Destination is on another server"
	}
	r, err := fence.Canonical(u.EscapedPath(), l.set.names)
	if err != nil {
		return fence.Resource{}, "its Destination: " + err.Error()
	}
	return r, ""
}

// leaves refuses the redirect of a write to another origin. http.Client would
// follow it and report success there, where nothing fences the write (or, after
// 301 and 302, report that of a GET). 303 passes: it says that the write is done
// and where to read about it.
func (l *Lock) leaves(req *http.Request, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	if err != nil || originOf(to) == *l.set.fence {
		return nil // http.Client reports what it cannot parse
	}
	return &ScopeError{Method: req.Method, URL: bareURL(to), Lock: l.Resource(),
		Why: fmt.Sprintf("the answer to the write was %d and leads to another server", resp.StatusCode)}
}

// isRead lists the methods that change nothing. Whatever is not known to read
// is a write.
func isRead(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND", "REPORT", "SEARCH":
		return true
	}
	return false
}

// bareURL leaves out what may be secret.
func bareURL(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + u.Host + u.EscapedPath()
}
