package dav

import (
	"fmt"
	"net/url"
	"strings"
)

// Space is how a server's objects are named by those who ask it.
type Space struct {
	// Origin is scheme://host:port as Ref has it; empty: any, which is to say
	// that it does not matter.
	Origin string
	// Prefix stands in front of every path: "" or "/dav", escaped, without a
	// slash at its end.
	Prefix string
}

// ParseSpace reads a space from the URL of its root.
func ParseSpace(rawURL string) (Space, error) {
	ref, err := ParseRef(rawURL)
	if err != nil {
		return Space{}, err
	}
	if ref.Origin == "" {
		return Space{}, fmt.Errorf("the URL has no scheme and host")
	}
	return Space{Origin: ref.Origin, Prefix: strings.TrimSuffix(ref.Path, "/")}, nil
}

// Cut returns what an escaped path has behind the prefix, beginning with a
// slash. ok is false for a path that is not below it.
func (s Space) Cut(path string) (rest string, ok bool) {
	if strings.HasPrefix(path, s.Prefix) {
		rest = path[len(s.Prefix):]
	} else if rest, ok = cutDecoded(path, s.Prefix); !ok {
		return "", false
	}
	switch {
	case rest == "":
		return "/", true
	case rest[0] != '/':
		return "", false
	}
	return rest, true
}

// cutDecoded is Cut for a path that escapes other characters than prefix does.
func cutDecoded(path, prefix string) (rest string, ok bool) {
	for prefix != "" {
		// Both begin with a slash, since they end at one each time.
		if path == "" || path[0] != '/' {
			return "", false
		}
		var a, b string
		a, path = segment(path)
		b, prefix = segment(prefix)
		ua, errA := url.PathUnescape(a)
		ub, errB := url.PathUnescape(b)
		if errA != nil || errB != nil || ua != ub {
			return "", false
		}
	}
	return path, true
}

// segment splits "/a/b" into "a" and "/b".
func segment(path string) (first, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// Map leads from the names that clients use to those that the store uses, and
// back.
type Map struct{ Public, Store Space }

// Changes reports whether any name differs. Where only the origins do, an
// answer can still hold one.
func (m Map) Changes() bool { return m.Public != m.Store }

// ToStore returns where the store has what a client's URL names, as a whole
// URL, whatever form it came in. With ok false it is not in the clients' space.
func (m Map) ToStore(r Ref) (_ Ref, ok bool) {
	if r.Origin != "" && m.Public.Origin != "" && r.Origin != m.Public.Origin {
		return Ref{}, false
	}
	rest, ok := m.Public.Cut(r.Path)
	return Ref{Origin: m.Store.Origin, Path: m.Store.Prefix + rest}, ok
}

// ToPublic returns how clients name what the store calls s, in the form, URL or
// path, that it came in. What is not in the store's space stays as it is.
func (m Map) ToPublic(s string) string {
	path := s
	if s == "" || s[0] != '/' {
		scheme, rest, found := strings.Cut(s, "://")
		if !found {
			return s
		}
		host := rest
		path = "/"
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			host, path = rest[:i], rest[i:]
		}
		origin, err := originOf(strings.ToLower(scheme), host)
		if err != nil || origin != m.Store.Origin {
			return s
		}
	}
	tail := ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, tail = path[:i], path[i:]
	}
	rest, ok := m.Store.Cut(path)
	if !ok {
		return s
	}
	if rest == "/" && !strings.HasSuffix(path, "/") {
		rest = "" // the root itself, without its slash
	}
	public := m.Public.Prefix + rest + tail
	if public == "" {
		public = "/"
	}
	if s[0] == '/' {
		return public
	}
	if m.Public.Origin == "" {
		return public // a path is right for whatever name the client has for us
	}
	return m.Public.Origin + public
}
