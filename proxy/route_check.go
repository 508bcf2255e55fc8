package proxy

import (
	"errors"
	"fmt"
	"slices"

	"fencegate/fence"
)

// RouteFault is what is wrong with one route of a list.
type RouteFault struct {
	Index int
	// Field of the route that is wrong: "name" or "path".
	Field string
	Err   error
}

func (f *RouteFault) Error() string {
	return fmt.Sprintf("route %d: %s: %v", f.Index, f.Field, f.Err)
}

func (f *RouteFault) Unwrap() error { return f.Err }

// defaultName is the name of the route for what no other matches.
const defaultName = "default"

// nameOf returns a route's name as metrics and logs tell it.
func nameOf(r Route, index int) string {
	if r.Name == "" {
		return fmt.Sprint("r", index)
	}
	return r.Name
}

// CheckRoutes returns everything that is wrong with routes: patterns that
// cannot be read, names that are given twice, and routes that no request gets
// to, because one before them matches all that they match.
func CheckRoutes(given []Route) []*RouteFault {
	var faults []*RouteFault
	fault := func(i int, field string, err error) { faults = append(faults, &RouteFault{i, field, err}) }
	names := map[string]int{}
	var before []*Route // those whose pattern can be read
	for i, r := range given {
		name := nameOf(r, i)
		if first, ok := names[name]; ok {
			fault(i, "name", fmt.Errorf("route %d has the name %s already", first, name))
		} else if name == defaultName {
			fault(i, "name", errors.New(name+" is the name of the route for all other paths"))
		} else {
			names[name] = i
		}
		var err error
		if r.pattern, err = parsePattern(pathOf(r), r.Names); err != nil {
			fault(i, "path", err)
			continue
		}
		if b := slices.IndexFunc(before, func(b *Route) bool { return b.hides(&r) }); b >= 0 {
			fault(i, "path", fmt.Errorf("no request gets here: %s of route %s matches first", pathOf(*before[b]), before[b].Name))
			continue
		}
		r.Name = name
		before = append(before, &r)
	}
	return faults
}

func pathOf(r Route) string {
	if r.Path == "" {
		return fence.Root.String()
	}
	return r.Path
}

// hides reports whether r, being tried first, matches all that later matches.
func (r *Route) hides(later *Route) bool {
	if len(r.pattern) > len(later.pattern) {
		return false
	}
	for i, s := range r.pattern {
		switch {
		case s == "*":
		case later.Names.FoldCase && !r.Names.FoldCase:
			return false // later matches other spellings of s too
		case fence.ResourceOf(s) != r.spelt(fence.ResourceOf(later.pattern[i])):
			return false
		}
	}
	return true
}
