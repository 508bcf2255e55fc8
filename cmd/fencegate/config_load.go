package main

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// given is a value from the environment or the command line.
type given struct {
	key, text string
	at        place
}

// defaults returns the configuration in which nothing is given.
func defaults() *serveConfig {
	c := &serveConfig{origins: map[string]origin{}}
	for _, s := range settings {
		if s.def != "" {
			if err := s.set(c, s.def); err != nil {
				panic("the default of " + s.key + ": " + err.Error())
			}
		}
	}
	return c
}

// loadConfig puts a configuration together from a file, if path is not empty,
// and from what else is given, of which flags take precedence over the
// environment and that over the file. The error tells everything that is wrong,
// whether or not something else takes its place.
func loadConfig(path string, others []given) (*serveConfig, error) {
	var text []byte
	if path != "" {
		var err error
		if text, err = readConfigFile(path); err != nil {
			return nil, &exitError{exitConfig, err}
		}
	}
	return parseConfig(path, text, others)
}

func parseConfig(name string, text []byte, others []given) (*serveConfig, error) {
	c := defaults()
	l := loader{c: c, broken: map[string]bool{}}
	l.file(name, text)
	for _, from := range []source{fromEnv, fromFlag} {
		for _, g := range others {
			if g.at.from == from {
				l.set(g.key, g.text, g.at)
			}
		}
	}
	l.finish()
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// loader fills in a configuration, the source of lowest precedence first.
type loader struct {
	c      *serveConfig
	faults faults
	broken map[string]bool // keys that have a fault: nothing is concluded from them
}

func settingOf(key string) *setting {
	i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
	return &settings[i]
}

func (l *loader) set(key, text string, at place) {
	if err := settingOf(key).set(l.c, text); err != nil {
		l.broken[key] = true
		l.faults.value(at, text, err)
		return
	}
	l.c.origins[key] = origin{text, at}
}

// file reads the text of a file.
func (l *loader) file(name string, text []byte) {
	f := &yamlFile{name: name, faults: &l.faults}
	root := f.root(text)
	if root == nil {
		return
	}
	l.mapping(f, root, place{file: name}, "")
}

// mapping reads the keys of the file, or those of a nested mapping of which
// prefix is the name with a ".".
func (l *loader) mapping(f *yamlFile, n ast.Node, at place, prefix string) {
	var known []string
	for _, s := range settings {
		if rest, ok := strings.CutPrefix(s.key, prefix); ok {
			if name, _, _ := strings.Cut(rest, "."); !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	if prefix == "" {
		known = append(known, "routes")
	}
	f.members(n, at, prefix, known, func(name string, at place, value ast.Node) {
		key := prefix + name
		i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
		switch {
		case key == "routes":
			l.c.Routes = f.routes(value, at)
		case i < 0:
			l.mapping(f, value, at, key+".")
		default:
			text, here, ok := f.scalar(value, at, settings[i].shape, func(text string) error {
				return settings[i].set(new(serveConfig), text)
			})
			if !ok {
				l.broken[key] = true
				return
			}
			l.set(key, text, here)
		}
	})
}
