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
	// Stream: bodies of objects are passed on while they arrive, after their
	// request has begun, instead of when they have arrived. For stores that
	// never show a part of an object. Upstream must be a Streamer then.
	Stream bool
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

// resolve finds the route of an escaped path, and the resource that the path
// names there.
func (rs routes) resolve(path string) (fence.Resource, *Route, error) {
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

// object returns the resource that a path and a query name together: under
// ResourceQuery, "/r" with "v=2" is "/r/?v=2". Being below the path, it is fenced
// by whatever fences the path as a tree. No other path has that name unless it
// contains a "?" itself; it then shares the fence, which is safe.
func (r *Route) object(path fence.Resource, query string) (fence.Resource, error) {
	if r.ResourceQuery == "" {
		return path, nil
	}
	values, err := url.ParseQuery(query)
	given := values[r.ResourceQuery]
	switch {
	case err != nil:
		return path, &fence.PathError{Reason: "the query cannot be read"}
	case len(given) == 0:
		return path, nil
	case len(given) > 1:
		return path, &fence.PathError{Reason: "the query has " + r.ResourceQuery + " more than once"}
	}
	key := strings.TrimSuffix(path.Key(), "/") + "/?" + url.QueryEscape(r.ResourceQuery) + "=" + url.QueryEscape(given[0])
	return r.spelt(fence.ResourceOf(key)), nil
}

// named finds the route of a name as claims and marks give it: an escaped path,
// with a query where that is part of the resource's name.
func (rs routes) named(name string) (fence.Resource, *Route, error) {
	path, query, asked := strings.Cut(name, "?")
	r, route, err := rs.resolve(path)
	if err != nil || !asked {
		return r, route, err
	}
	if route.ResourceQuery == "" {
		return r, route, &fence.PathError{Reason: `raw "?"; write %3F`}
	}
	r, err = route.object(r, query)
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

// tree is how a path and everything below it are protected together.
type tree struct {
	policy fence.Policy // the strictest of all routes that can match there
	owner  bool         // one of them requires an owner
	mixed  bool         // they do not compare names in one way
}

// below returns how everything at and below path is protected.
func (rs routes) below(path fence.Resource) tree {
	var t tree
	var folds, keeps bool
	for _, r := range rs {
		if r.pattern.reaches(r.spelt(path)) {
			t.policy = max(t.policy, r.Policy)
			t.owner = t.owner || r.OwnerRequired
			folds, keeps = folds || r.Names.FoldCase, keeps || !r.Names.FoldCase
		}
		if _, ok := r.pattern.match(r.spelt(path)); ok {
			break // nothing at or below path gets past it
		}
	}
	t.mixed = folds && keeps
	return t
}

// touch returns how one object, or with tree all at and below it, is protected,
// and whether its owner must be told.
func (rs routes) touch(route *Route, object fence.Resource, tree bool, stamp fence.Stamp) (fence.Touch, bool, *Refusal) {
	t := route.touch(object, tree, stamp)
	if !tree {
		return t, route.OwnerRequired, nil
	}
	below := rs.below(object)
	if below.mixed {
		// What is fenced below under one spelling would not be found under another.
		return t, false, &Refusal{Reason: reasonPath, Resource: object, Detail: "This is about everything below " + object.String() +
			", where some routes have fold_case and others do not. Set fold_case on all of them."}
	}
	t.Policy = below.policy
	return t, below.owner, nil
}
