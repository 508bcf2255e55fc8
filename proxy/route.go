package proxy

import (
	"net/url"
	"strings"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

// Route says how the paths that it matches are protected.
type Route struct {
	// Name labels metrics and logs. It comes from the configuration, so there
	// are few. Default: r and the route's index.
	Name string
	// Path is what the route matches, with everything below: "/blocks/*",
	// where "*" is any one segment. Default "/".
	Path string
	// Policy of the route.
	Policy fence.Policy
	// OwnerRequired: a token is not enough, the owner must be told too.
	OwnerRequired bool
	// FenceTree: the matched path is one resource, with one lock and one mark
	// for everything at and below it.
	FenceTree bool
	// Names says how the store compares names.
	Names fence.NameOptions
	// ResourceQuery names a query parameter that is part of the resource's
	// name, for stores that keep several objects at one path. Default: none.
	ResourceQuery string
	// AlsoWrites lists methods that write the object that they name (POST,
	// PATCH), beyond those of the protocol.
	AlsoWrites []string
	// Upstream is the proxy's store as it is for this route, where its answers
	// mean something else. Default: the proxy's.
	Upstream Upstream

	pattern pattern
}

// routes are tried in order; the last one matches everything.
type routes []*Route

// compile checks routes and completes them with one for everything that they
// do not match.
func compile(given []Route, rest Route) (routes, error) {
	var faults *multierror.Error
	for _, f := range CheckRoutes(given) {
		faults = multierror.Append(faults, f)
	}
	if faults != nil {
		return nil, faults
	}
	var rs routes
	for i, r := range given {
		r.Name, r.Path = nameOf(r, i), pathOf(r)
		rs = append(rs, &r)
	}
	if rest.Name == "" {
		rest.Name = defaultName
	}
	rest.Path = pathOf(Route{})
	rs = append(rs, &rest)
	for i, r := range rs {
		var err error
		if r.pattern, err = parsePattern(r.Path, r.Names); err != nil {
			return nil, err
		}
		if len(r.pattern) == 0 {
			return rs[:i+1], nil // nothing gets past it
		}
	}
	return rs, nil
}

// resolve finds the route of an escaped path, and the resource that it names
// there.
func (rs routes) resolve(path, query string) (fence.Resource, *Route, error) {
	// Routes match by the canonical name. What that is depends on the route, so
	// names are compared by what all routes agree on.
	base, err := fence.Canonical(path, fence.NameOptions{LiteralSemicolons: true})
	if err != nil {
		return fence.Resource{}, nil, err
	}
	for _, route := range rs {
		if _, ok := route.pattern.match(route.spelt(base)); !ok {
			continue
		}
		r, err := fence.Canonical(path, route.Names)
		if err == nil && route.ResourceQuery != "" {
			r, err = withQuery(r, route.ResourceQuery, query)
		}
		return r, route, err
	}
	panic("the last route matches everything")
}

// spelt returns a canonical name as the route's store compares it.
func (r *Route) spelt(name fence.Resource) fence.Resource {
	if r.Names.FoldCase {
		return name.Fold()
	}
	return name
}

// withQuery makes the query parameter called name part of the resource's name:
// "/r" with "v=2" is "/r?v=2". No path has that name unless it contains a "?"
// itself; such a path then shares the fence, which is safe.
func withQuery(r fence.Resource, name, query string) (fence.Resource, error) {
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
		return r, &fence.PathError{Reason: "the query cannot be read"}
	case len(values[name]) == 0:
		return r, nil
	case len(values[name]) > 1:
		return r, &fence.PathError{Reason: "the query has " + name + " more than once"}
	}
	return fence.ResourceOf(r.Key() + "?" + url.QueryEscape(name) + "=" + url.QueryEscape(values[name][0])), nil
}

// named finds the route of a name as claims and marks give it: an escaped path,
// in which a part from the query stands behind "?" or its escaped form.
func (rs routes) named(name string) (fence.Resource, *Route, error) {
	path, query, ok := strings.Cut(name, "?")
	if !ok {
		if i := strings.LastIndex(strings.ToUpper(name), "%3F"); i >= 0 {
			r, route, err := rs.resolve(name[:i], "")
			if err == nil && route.ResourceQuery != "" {
				if tail, err := url.QueryUnescape(name[i+3:]); err == nil && strings.HasPrefix(tail, route.ResourceQuery+"=") {
					r, err = withQuery(r, route.ResourceQuery, tail)
					return r, route, err
				}
			}
		}
		return rs.resolve(name, "")
	}
	r, route, err := rs.resolve(path, query)
	if err == nil && route.ResourceQuery == "" {
		err = &fence.PathError{Reason: `raw "?"; write %3F`}
	}
	return r, route, err
}

// touch returns how a route protects one object.
func (r *Route) touch(object fence.Resource, tree bool, stamp fence.Stamp) fence.Touch {
	t := fence.Touch{Fence: object, Object: object, Tree: tree, Policy: r.Policy, Stamp: stamp}
	if r.FenceTree {
		t.Fence, _ = r.pattern.match(object)
		t.FenceTree = true
	}
	return t
}

// strictest returns the policy that judges a change at path and everything
// below it, and whether an owner is required: the strictest of all routes that
// can match there.
func (rs routes) strictest(path fence.Resource) (policy fence.Policy, owner bool) {
	for _, r := range rs {
		if r.pattern.reaches(r.spelt(path)) {
			policy = max(policy, r.Policy)
			owner = owner || r.OwnerRequired
		}
		if _, ok := r.pattern.match(r.spelt(path)); ok {
			break // nothing at or below path gets past it
		}
	}
	return policy, owner
}
