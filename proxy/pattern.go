package proxy

import (
	"errors"
	"fmt"
	"strings"

	"fencegate/fence"
)

// pattern is a route's path: segments, of which "*" stands for any one. It
// matches the paths that begin with such segments.
type pattern []string

// parsePattern reads a route's path such as "/blocks/*". Its segments are
// escaped as in a URL and mean what they mean in a request.
func parsePattern(text string, names fence.NameOptions) (pattern, error) {
	if strings.Contains(strings.ToUpper(text), "%2A") {
		return nil, errors.New(`a "*" of a name cannot be told from one that stands for a segment: leave out "%2A"`)
	}
	r, err := fence.Canonical(text, names)
	if err != nil {
		return nil, err
	}
	p := pattern(segments(r))
	for _, s := range p {
		if s != "*" && strings.Contains(s, "*") {
			return nil, fmt.Errorf(`%q: "*" stands for a whole segment`, s)
		}
	}
	return p, nil
}

func segments(r fence.Resource) []string {
	if r == fence.Root {
		return nil
	}
	return strings.Split(r.Key()[1:], "/")
}

func (p pattern) fits(i int, segment string) bool { return p[i] == "*" || p[i] == segment }

// match returns the path that p matches: r itself or what r is below.
func (p pattern) match(r fence.Resource) (matched fence.Resource, ok bool) {
	if len(p) == 0 {
		return fence.Root, true
	}
	key, at := r.Key(), 1
	for i := range p {
		if at > len(key) {
			return fence.Resource{}, false
		}
		segment, _, _ := strings.Cut(key[at:], "/")
		if segment == "" || !p.fits(i, segment) {
			return fence.Resource{}, false
		}
		at += len(segment) + 1
	}
	return fence.ResourceOf(key[:at-1]), true
}

// reaches reports whether p can match r or something below it.
func (p pattern) reaches(r fence.Resource) bool {
	for i, s := range segments(r) {
		if i == len(p) {
			break
		}
		if !p.fits(i, s) {
			return false
		}
	}
	return true
}
