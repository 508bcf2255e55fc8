package proxy

import (
	"testing"

	"fencegate/fence"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		matched       string // "" for no match
		reaches       bool
	}{
		{"/", "/", "/", true},
		{"/", "/a/b", "/", true},
		{"/a", "/a", "/a", true},
		{"/a", "/a/b/c", "/a", true},
		{"/a", "/ab", "", false},
		{"/a", "/b", "", false},
		{"/a", "/", "", true}, // what is below the root includes /a
		{"/a/b", "/a", "", true},
		{"/a/b", "/a/c", "", false},
		{"/a/b", "/a/bc", "", false},
		{"/*", "/", "", true},
		{"/*", "/a", "/a", true},
		{"/*", "/a/b", "/a", true},
		{"/*/x", "/a", "", true},
		{"/*/x", "/a/x/y", "/a/x", true},
		{"/*/x", "/a/y", "", false},
		{"/blocks/*", "/blocks", "", true},
		{"/blocks/*", "/blocks/t1", "/blocks/t1", true},
		{"/blocks/*", "/blocks/t1/a/b", "/blocks/t1", true},
		{"/blocks/*/meta", "/blocks/t1", "", true},
		{"/blocks/*/meta", "/blocks/t1/meta", "/blocks/t1/meta", true},
		{"/blocks/*/meta", "/blocks/t1/data", "", false},
		{"/a%20b/caf%C3%A9/", "/a b/café/x", "/a b/café", true}, // escaped as in a URL
		{"/cafe%CC%81", "/café", "/café", true},
	} {
		p, err := parsePattern(c.pattern, fence.NameOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		r := fence.ResourceOf(c.path)
		got, ok := p.match(r)
		if ok != (c.matched != "") || got.Key() != c.matched {
			t.Errorf("%s matches %s of %s (%v), want %q", c.pattern, got, c.path, ok, c.matched)
		}
		if got := p.reaches(r); got != c.reaches {
			t.Errorf("%s reaches something at or below %s: %v, want %v", c.pattern, c.path, got, c.reaches)
		}
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	for _, text := range []string{"/a/%2A", "/%2a", "", "a", "//", "/a//b", "/a/../b", "/.", "/a*", "/*a", "/**", "/a/%2A*", "/a;b", "/a?b", "/a#b", "/a%2Fb", `/a\b`, "/%00", "/%"} {
		if p, err := parsePattern(text, fence.NameOptions{}); err == nil {
			t.Errorf("%q is read as %q", text, p)
		}
	}
	for text, names := range map[string]fence.NameOptions{"/a;b": {LiteralSemicolons: true}, "/A.b": {FoldCase: true}} {
		if _, err := parsePattern(text, names); err != nil {
			t.Errorf("%q with %+v: %v", text, names, err)
		}
	}
	if _, err := parsePattern("/a:b", fence.NameOptions{FoldCase: true}); err == nil {
		t.Error("a store that ignores case gives : a meaning")
	}
}
