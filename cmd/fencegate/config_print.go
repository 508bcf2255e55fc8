package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// yaml returns the configuration as a file. What was not given stands there as
// a comment: read back it is a default again, which may depend on the machine
// or the version.
func (c *serveConfig) yaml() string {
	var b strings.Builder
	b.WriteString("# Settings behind # have their default.\n")
	mapping := ""
	for _, s := range settings {
		indent, name := "", s.key
		if outer, inner, ok := strings.Cut(s.key, "."); ok {
			if mapping != outer {
				b.WriteString(commented(!c.anyGiven(outer+".")) + outer + ":\n")
			}
			mapping, indent, name = outer, "  ", inner
		}
		o, ok := c.origins[s.key]
		switch {
		case ok:
			fmt.Fprintf(&b, "%s%s: %s  # %s\n", indent, name, scalarYAML(o.text, s.shape), o.at.origin())
		case s.def != "":
			fmt.Fprintf(&b, "# %s%s: %s  # default\n", indent, name, scalarYAML(s.def, s.shape))
		default:
			fmt.Fprintf(&b, "# %s%s:  # default: %s\n", indent, name, s.note)
		}
	}
	if len(c.Routes) > 0 {
		b.WriteString("routes:\n")
	}
	for i := range c.Routes {
		c.Routes[i].yaml(&b, i)
	}
	return b.String()
}

func commented(yes bool) string {
	if yes {
		return "# "
	}
	return ""
}

func (c *serveConfig) anyGiven(prefix string) bool {
	for key := range c.origins {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// origin says what a printed value comes from.
func (p place) origin() string {
	switch p.from {
	case fromEnv:
		return "env " + p.name
	case fromFlag:
		return "flag " + p.name
	}
	return "file"
}

// yaml writes the route at an index: what was given, and in one comment what
// was not.
func (r *routeConfig) yaml(b *strings.Builder, index int) {
	dash := "- "
	var rest []string
	for _, s := range routeSettings {
		w, ok := r.given[s.key]
		if !ok {
			def := s.def
			switch s.key {
			case "name":
				def = fmt.Sprint("r", index)
			case "policy":
				def = r.Policy.String()
			case "body":
				def = map[bool]string{false: "stage", true: "stream"}[r.Stream]
			}
			rest = append(rest, s.key+" "+def)
			continue
		}
		texts := make([]string, len(w.texts))
		for i, text := range w.texts {
			texts[i] = scalarYAML(text, s.shape)
		}
		value := strings.Join(texts, ", ")
		if s.list {
			value = "[" + value + "]"
		}
		fmt.Fprintf(b, "  %s%s: %s  # file\n", dash, s.key, value)
		dash = "  "
	}
	if len(rest) > 0 {
		fmt.Fprintf(b, "    # default: %s\n", strings.Join(rest, ", "))
	}
}

// scalarYAML writes a value so that it is read back as what it is.
func scalarYAML(text string, s shape) string {
	if s == shapeNumber || s == shapeBool || s == shapeSize && decimal.MatchString(text) {
		return text
	}
	// In a list, "," and brackets are YAML's too.
	file, err := parse([]byte("k: [" + text + "]"))
	if err == nil && len(file.Docs) == 1 {
		if m, ok := file.Docs[0].Body.(*ast.MappingNode); ok && len(m.Values) == 1 {
			if list, ok := m.Values[0].Value.(*ast.SequenceNode); ok && len(list.Values) == 1 {
				if n, ok := list.Values[0].(*ast.StringNode); ok && n.Value == text && n.GetToken().Value == text {
					return text
				}
			}
		}
	}
	return strconv.Quote(text)
}
