package dir

import (
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// area is the name of the staging area in the root.
const area = ".fencegate"

// maxName is the longest name of a file in bytes on every file system that
// matters; those that allow less answer ENAMETOOLONG.
const maxName = 255

// maxPath is the longest path in bytes; Linux takes no longer one in a call.
const maxPath = 4096

// name is a request path, taken apart. The root has no base.
type name struct {
	whole  string // relative to the root: "." or "a/b/c"
	parent string // of it: "." or "a/b"
	base   string
	slash  bool // the path ended in "/", so it can only mean a directory
}

// rel returns the path relative to the root.
func (n name) rel() string { return n.whole }

// path returns the path from the root, without a slash at its end.
func (n name) path() string {
	if n.base == "" {
		return "/"
	}
	return "/" + n.rel()
}

// first returns the first segment, "" for the root.
func (n name) first() string {
	first, _, _ := strings.Cut(n.rel(), "/")
	if first == "." {
		return ""
	}
	return first
}

// reserved reports whether n spells the staging area or something in it. Other
// spellings that a file system may take for it are told by identity.
func (n name) reserved() bool { return strings.EqualFold(n.first(), area) }

// parsePath takes a decoded request path apart. The proxy has refused odd
// paths long before; this is the last line, so it trusts nothing.
func parsePath(path string) (name, error) {
	if path == "" || path[0] != '/' {
		return name{}, refuse(http.StatusBadRequest, `a path starts with "/"`)
	}
	if path == "/" {
		return name{whole: ".", parent: ".", slash: true}, nil
	}
	if strings.IndexByte(path, 0) >= 0 {
		return name{}, refuse(http.StatusBadRequest, "a name cannot contain a NUL character")
	}
	if len(path) > maxPath {
		return name{}, refused(syscall.ENAMETOOLONG)
	}
	n := name{parent: "."}
	rel, slash := strings.CutSuffix(path[1:], "/")
	n.slash = slash
	for segment := range strings.SplitSeq(rel, "/") {
		switch segment {
		case "", ".", "..":
			return name{}, refuse(http.StatusBadRequest, `a path cannot contain empty, "." or ".." segments`)
		}
		if len(segment) > maxName {
			return name{}, refused(syscall.ENAMETOOLONG)
		}
	}
	n.whole, n.base = rel, rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		n.parent, n.base = rel[:i], rel[i+1:]
	}
	return n, nil
}

// nameOfHref takes an escaped path apart.
func nameOfHref(escaped string) (name, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil || strings.Count(path, "/") != strings.Count(escaped, "/") {
		return name{}, refuse(http.StatusBadRequest, "the path in a URL is escaped in a wrong way, or has a slash inside a name")
	}
	return parsePath(path)
}
