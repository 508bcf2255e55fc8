package dir

import (
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"fencegate/proxy/protocol/dav"
)

// Whatever is accepted names one place beneath the root and nothing else, and
// is the path that was given.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"/", "/a", "/a/", "/a/b/c", "", "a", "//", "/.", "/..", "/a/../b", "/a/./b", "/a//b", "/\x00", "/.fencegate",
		"/.FENCEGATE/x", "/...", "/a/..b", "/ ", "/\xff", `/a\..\b`, "/名前", "/" + strings.Repeat("x", 256),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		n, err := parsePath(path)
		if err != nil {
			return
		}
		if n.base == "" {
			if path != "/" || n.rel() != "." || n.reserved() {
				t.Fatalf("%q was taken for the root", path)
			}
			return
		}
		if !strings.HasPrefix(path, "/") {
			t.Fatalf("%q is not absolute", path)
		}
		again := "/" + n.rel()
		if n.slash {
			again += "/"
		}
		if again != path {
			t.Fatalf("%q became %q", path, again)
		}
		// fs.ValidPath also wants UTF-8, which the kernel does not.
		if !fs.ValidPath(strings.ToValidUTF8(n.rel(), "x")) || strings.Contains(n.base, "/") || strings.Contains(path, "\x00") {
			t.Fatalf("%q was accepted", path)
		}
		if first := strings.Split(path, "/")[1]; n.first() != first || n.reserved() != strings.EqualFold(first, area) {
			t.Fatalf("%q: first %q, reserved %v", path, n.first(), n.reserved())
		}
	})
}

// Whatever URL path is accepted names what it says, written in another way.
func FuzzNameOfHref(f *testing.F) {
	for _, seed := range []string{"/", "/a", "/a%2fb", "/a%2F..", "/%2e%2e/a", "/.%2e", "/%00", "/%", "/%zz", "/a%20b/", "//", "/%2Efencegate", "a", "/%c3%a9", "/a?b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		n, err := nameOfHref(escaped)
		if err != nil {
			return
		}
		path, err := url.PathUnescape(escaped)
		if err != nil {
			t.Fatalf("%q was accepted", escaped)
		}
		if want, err := parsePath(path); err != nil || n != want {
			t.Fatalf("%q is %+v, want %+v, %v", escaped, n, want, err)
		}
		if again, err := nameOfHref(dav.EscapePath(path)); err != nil || again != n {
			t.Fatalf("%q is %+v, escaped again %+v, %v", escaped, n, again, err)
		}
	})
}

// Whatever is accepted as a list of entity tags can be written down again.
func FuzzParseTagList(f *testing.F) {
	for _, seed := range []string{`*`, `"a"`, `W/"a", "b"`, `,,"a",`, ``, `"`, `W/`, `"a" "b"`, `*, "a"`, "\"\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		list, err := parseTagList(map[string][]string{"If-Match": {value}}, "If-Match")
		if err != nil || list.any {
			return
		}
		again, err := parseTagList(map[string][]string{"If-Match": list.tags}, "If-Match")
		if err != nil || strings.Join(again.tags, ",") != strings.Join(list.tags, ",") {
			t.Fatalf("%q: %q, again %+v, %v", value, list.tags, again, err)
		}
	})
}
