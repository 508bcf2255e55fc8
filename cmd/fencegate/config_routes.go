package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"fencegate/proxy"
)

// routeConfig is a route, with what only an upstream behind HTTP needs.
type routeConfig struct {
	proxy.Route
	Definite []int // statuses

	at    place              // of the route as a whole
	given map[string]written // by key
}

// written is what a route's key was given, a list as its elements.
type written struct {
	texts []string // without those that have a fault
	at    place
}

// routeSetting is one key of a route.
type routeSetting struct {
	key   string
	shape shape
	list  bool   // of such values
	def   string // what applies when it is not given; name, policy and body depend
	// remote: it is for stores behind HTTP only. A directory knows no queries, so
	// one that names a resource would lead around the fence of the file.
	remote bool
	local  string // of what is remote, the value that a directory knows too
	// set reads a text, of a list each element. The error says what was expected.
	set func(r *routeConfig, text string) error
}

// routeSettings are the keys of a route, in the order in which they are printed.
var routeSettings = []routeSetting{
	{key: "name", set: func(r *routeConfig, s string) error { return setRouteName(&r.Name, s) }},
	{key: "path", set: func(r *routeConfig, s string) error {
		return setText(&r.Path, s, "a path such as /reports or /blocks/*")
	}},
	{key: "policy", set: func(r *routeConfig, s string) error { return setPolicy(&r.Policy, s) }},
	{key: "owner", def: "optional", set: func(r *routeConfig, s string) error { return setSwitch(&r.OwnerRequired, s, "optional", "required") }},
	{key: "fence", def: "object", set: func(r *routeConfig, s string) error { return setSwitch(&r.FenceTree, s, "object", "tree") }},
	{key: "body", def: "stage", remote: true, local: "stage", set: func(r *routeConfig, s string) error { return setSwitch(&r.Stream, s, "stage", "stream") }},
	{key: "fold_case", shape: shapeBool, def: "false", set: func(r *routeConfig, s string) error { return setSwitch(&r.Names.FoldCase, s, "false", "true") }},
	{key: "semicolons", def: "refused", set: func(r *routeConfig, s string) error {
		return setSwitch(&r.Names.LiteralSemicolons, s, "refused", "literal")
	}},
	{key: "resource_query", def: "none", remote: true, set: func(r *routeConfig, s string) error { return setQueryName(&r.ResourceQuery, s) }},
	{key: "also_writes", list: true, def: "none", remote: true, set: (*routeConfig).addMethod},
	{key: "definite_statuses", shape: shapeNumber, list: true, def: "none", remote: true, set: (*routeConfig).addStatus},
}

func routeKeys() (keys []string) {
	for _, s := range routeSettings {
		keys = append(keys, s.key)
	}
	return keys
}

var routeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func setRouteName(to *string, text string) error {
	if !routeName.MatchString(text) {
		return errors.New("expected up to 64 letters, digits, _, . and -: metrics are labelled with it")
	}
	*to = text
	return nil
}

var queryName = regexp.MustCompile(`^[A-Za-z0-9_.~-]+$`)

func setQueryName(to *string, text string) error {
	if !queryName.MatchString(text) {
		return errors.New("expected the name of a query parameter: letters, digits, _, ., ~ and -")
	}
	*to = text
	return nil
}

// addMethod accepts those methods of which it is certain that they change, if
// anything, the object that they name.
func (r *routeConfig) addMethod(text string) error {
	if err := oneOf(text, []string{http.MethodPost, http.MethodPatch}); err != nil {
		return err
	}
	if slices.Contains(r.AlsoWrites, text) {
		return errors.New("expected once")
	}
	r.AlsoWrites = append(r.AlsoWrites, text)
	return nil
}

// addStatus accepts statuses that are not clear by themselves.
func (r *routeConfig) addStatus(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || !decimal.MatchString(text) || n < 200 || n > 599:
		return errors.New("expected a status from 200 to 599")
	case slices.Contains(r.Definite, n):
		return errors.New("expected once")
	}
	r.Definite = append(r.Definite, n)
	return nil
}

// routes reads the list of routes.
func (f *yamlFile) routes(n ast.Node, at place) (routes []routeConfig) {
	f.elements(n, at, "a list of routes, each beginning with - path:", func(_ int, at place, n ast.Node) {
		r := routeConfig{at: at, given: map[string]written{}}
		f.members(n, at, at.name+".", routeKeys(), func(key string, at place, value ast.Node) {
			i := slices.IndexFunc(routeSettings, func(s routeSetting) bool { return s.key == key })
			r.read(f, &routeSettings[i], at, value)
		})
		if _, ok := n.(*ast.MappingNode); ok && !r.has("path") {
			f.faults.add(at, "expected a path")
		}
		routes = append(routes, r)
	})
	return routes
}

// has reports whether a key is there, whatever its value.
func (r *routeConfig) has(key string) bool {
	_, ok := r.given[key]
	return ok
}

// read reads the value of one key.
func (r *routeConfig) read(f *yamlFile, s *routeSetting, at place, value ast.Node) {
	w := written{at: at}
	one := func(_ int, at place, n ast.Node) {
		text, here, ok := f.scalar(n, at, s.shape, func(text string) error { return s.set(new(routeConfig), text) })
		if !ok {
			return
		}
		w.at = here
		if err := s.set(r, text); err != nil {
			f.faults.value(here, text, err)
			return
		}
		w.texts = append(w.texts, text)
	}
	if s.list {
		f.elements(value, at, fmt.Sprintf("a list such as [%s]", map[shape]string{shapeText: "POST", shapeNumber: "500, 503"}[s.shape]), one)
		w.at = at
	} else {
		one(0, at, value)
	}
	r.given[s.key] = w
}
