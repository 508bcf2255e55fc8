package dav

import (
	"net/http"
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  Depth
		fault string
	}{
		{nil, One, ""}, {[]string{"0"}, Zero, ""}, {[]string{" 1 "}, One, ""}, {[]string{"Infinity"}, Infinity, ""},
		{[]string{"2"}, One, `"2"`}, {[]string{""}, One, `""`}, {[]string{"0", "0"}, One, "2 times"}, {[]string{"0, 1"}, One, `"0, 1"`},
	} {
		h := http.Header{}
		if c.lines != nil {
			h["Depth"] = c.lines
		}
		got, err := ParseDepth(h, One)
		checkFault(t, c.lines, err, c.fault)
		if got != c.want {
			t.Errorf("%q: %v, want %v", c.lines, got, c.want)
		}
	}
}

func TestOverwrite(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   bool
		fault  string
	}{
		{http.Header{}, true, ""}, {http.Header{"Overwrite": {"T"}}, true, ""}, {http.Header{"Overwrite": {"f"}}, false, ""},
		{http.Header{"Overwrite": {"no"}}, true, `"no"`}, {http.Header{"Overwrite": {"T", "F"}}, true, "2 times"},
	} {
		got, err := ParseOverwrite(c.header)
		checkFault(t, c.header, err, c.fault)
		if got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestDestination(t *testing.T) {
	for _, c := range []struct {
		lines  []string
		origin string
		path   string
		fault  string
	}{
		{[]string{"/a/b%20c"}, "", "/a/b%20c", ""},
		{[]string{"http://h/a"}, "http://h", "/a", ""},
		{[]string{"HTTP://H:80/a"}, "http://h", "/a", ""},
		{[]string{"https://h:443"}, "https://h", "/", ""},
		{[]string{"https://H:8443/a/"}, "https://h:8443", "/a/", ""},
		{[]string{"http://[::1]:80/a"}, "http://[::1]", "/a", ""},
		{[]string{"http://[::1]:81/a"}, "http://[::1]:81", "/a", ""},
		{[]string{" http://h/a\t"}, "http://h", "/a", ""},
		{nil, "", "", "no Destination"},
		{[]string{"/a", "/b"}, "", "", "2 times"},
		{[]string{""}, "", "", "empty"},
		{[]string{"//h/a"}, "", "", `"//"`},
		{[]string{"a/b"}, "", "", "absolute path"},
		{[]string{"ftp://h/a"}, "", "", "neither http"},
		{[]string{"http:/a"}, "", "", "neither http"},
		{[]string{"http:///a"}, "", "", "host"},
		{[]string{"http://u:p@h/a"}, "", "", "host"},
		{[]string{"http://h/a?b"}, "", "", "query"},
		{[]string{"/a#b"}, "", "", "fragment"},
		{[]string{"/a b"}, "", "", "contains"},
		{[]string{`/a\b`}, "", "", "contains"},
		{[]string{"</a>"}, "", "", "contains"},
		{[]string{"http://h:x/a"}, "", "", "host"},
		{[]string{"http://h%41/a"}, "", "", "host"},
	} {
		h := http.Header{}
		if c.lines != nil {
			h["Destination"] = c.lines
		}
		ref, err := ParseDestination(h)
		checkFault(t, c.lines, err, c.fault)
		if err == nil && (ref.Origin != c.origin || ref.Path != c.path) {
			t.Errorf("%q: %+v, want %q %q", c.lines, ref, c.origin, c.path)
		}
	}
	if _, err := ParseDestination(http.Header{"Destination": {"/a"}, "desti_nation": {"/b"}}); err != nil {
		t.Errorf("another header counts: %v", err)
	}
	if _, err := ParseOverwrite(http.Header{"Over_write": {"F"}}); err != nil {
		t.Errorf("another header counts: %v", err)
	}
}

func TestMap(t *testing.T) {
	for _, c := range []struct {
		public string
		store  string // "": not in the clients' space
	}{
		{"/dav/a", "http://127.0.0.1:6065/store/a"},
		{"/dav", "http://127.0.0.1:6065/store/"},
		{"/dav/", "http://127.0.0.1:6065/store/"},
		{"/%64av/a%20b/", "http://127.0.0.1:6065/store/a%20b/"},
		{"https://pub.example:8443/dav/a", "http://127.0.0.1:6065/store/a"},
		{"https://PUB.example:8443/dav/a", "http://127.0.0.1:6065/store/a"},
		{"https://pub.example/dav/a", ""},
		{"http://pub.example:8443/dav/a", ""},
		{"/davy/a", ""}, {"/", ""}, {"/DAV/a", ""}, {"/dav%2Fa", ""},
	} {
		ref, err := ParseRef(c.public)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := shop.ToStore(ref)
		if ok != (c.store != "") || ok && got.String() != c.store {
			t.Errorf("%s is %s (%v), want %s", c.public, got, ok, c.store)
		}
	}
	for _, c := range []struct{ store, public string }{
		{"http://127.0.0.1:6065/store/a?x#y", "https://pub.example:8443/dav/a?x#y"},
		{"http://127.0.0.1:6065/store", "https://pub.example:8443/dav"},
		{"HTTP://127.0.0.1:6065/store/", "https://pub.example:8443/dav/"},
		{"http://127.0.0.1/store/a", "http://127.0.0.1/store/a"},
		{"/store/a", "/dav/a"}, {"/stor%65/a", "/dav/a"}, {"/x", "/x"}, {"", ""}, {"mailto:a", "mailto:a"},
		{"opaquelocktoken:1", "opaquelocktoken:1"},
	} {
		if got := shop.ToPublic(c.store); got != c.public {
			t.Errorf("%s is %s to clients, want %s", c.store, got, c.public)
		}
	}
	bare := Map{Store: Space{Origin: "http://127.0.0.1:6065", Prefix: "/store"}}
	for _, c := range []struct{ store, public string }{
		{"http://127.0.0.1:6065/store/a", "/a"}, {"/store", "/"}, {"/store/a/", "/a/"},
	} {
		if got := bare.ToPublic(c.store); got != c.public {
			t.Errorf("without a prefix %s is %s, want %s", c.store, got, c.public)
		}
	}
	if ref, ok := bare.ToStore(Ref{Origin: "http://any", Path: "/a"}); !ok || ref.String() != "http://127.0.0.1:6065/store/a" {
		t.Errorf("without a public origin any is ours: %s %v", ref, ok)
	}
}

func TestParseSpace(t *testing.T) {
	s, err := ParseSpace("https://Pub.example:8443/dav/")
	if err != nil || s != shop.Public {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"/dav", "x", "http://h/?q"} {
		if s, err := ParseSpace(bad); err == nil {
			t.Errorf("%s is taken for %+v", bad, s)
		}
	}
}

func TestIf(t *testing.T) {
	for _, c := range []struct{ in, out, fault string }{
		{in: "(<urn:uuid:1>)", out: "(<urn:uuid:1>)"},
		{in: ` ( <urn:uuid:1>  ["a b"] )(Not <DAV:no-lock>) `, out: `(<urn:uuid:1> ["a b"]) (Not <DAV:no-lock>)`},
		{in: `([W/"x]y"])`, out: `([W/"x]y"])`},
		{in: `</dav/a> (<t:1>) (["e"]) <https://pub.example:8443/dav/b>(not["e"])`,
			out: `<http://127.0.0.1:6065/store/a> (<t:1>) (["e"]) <http://127.0.0.1:6065/store/b> (Not ["e"])`},
		{in: `<http://foreign/x> (<t:1>)`, out: `<http://foreign/x> (<t:1>)`},
		{in: "", fault: "no list"},
		{in: "()", fault: "condition"},
		{in: "(Not)", fault: "condition"},
		{in: "(<a>", fault: "not end"},
		{in: "<a>", fault: "without a list"},
		{in: "(<a>) <b> (<c>)", fault: "some lists"},
		{in: "(<c>) x", fault: "begins with"},
		{in: "<b> (<c>) x", fault: "some lists"},
		{in: "(x)", fault: "condition"},
		{in: "(<>)", fault: "brackets"},
		{in: "(<a b>)", fault: "brackets"},
		{in: "([x])", fault: "quotes"},
		{in: `(["x)`, fault: "does not end"},
		{in: `(["x" ])`, fault: "bracket"},
		{in: "<a?b> (<c>)", fault: "query"},
	} {
		got, err := shop.MapIf(c.in)
		checkFault(t, c.in, err, c.fault)
		if err != nil {
			continue
		}
		if strings.TrimSpace(c.in) != strings.TrimSpace(got) && got != c.out {
			t.Errorf("%q became %q, want %q", c.in, got, c.out)
		}
		lists, err := ParseIf(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseIf(FormatIf(lists)); err != nil || FormatIf(again) != FormatIf(lists) {
			t.Errorf("%q is not read back: %v", FormatIf(lists), err)
		}
	}
}

func FuzzIf(f *testing.F) {
	for _, s := range []string{"(<urn:uuid:1>)", `</dav/a> (Not [W/"x"] <t:1>) (["e"])`, "(<a>", "()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lists, err := ParseIf(s)
		if err != nil {
			return
		}
		text := FormatIf(lists)
		again, err := ParseIf(text)
		if err != nil || FormatIf(again) != text {
			t.Errorf("%q is read as %q, and that not back: %v", s, text, err)
		}
		_, _ = shop.MapIf(s)
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"/dav/a", "http://h:80/a", "https://[::1]/", "//x", "/%64av/a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := ParseRef(s)
		if err != nil {
			return
		}
		if again, err := ParseRef(ref.String()); err != nil || again != ref {
			t.Errorf("%q is %q, read back as %+v: %v", s, ref, again, err)
		}
		if to, ok := shop.ToStore(ref); ok {
			if _, err := ParseRef(to.String()); err != nil {
				t.Errorf("%q leads to %q: %v", s, to, err)
			}
		}
	})
}

func checkFault(t *testing.T, in any, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%q: %v", in, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%q: error %v, want one with %s", in, err, want)
	}
}
