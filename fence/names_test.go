package fence

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		path, key string
		opts      NameOptions
	}{
		{path: "/", key: "/"},
		{path: "/reports/q3.csv", key: "/reports/q3.csv"},
		{path: "/d/", key: "/d"},
		{path: "/a%20b", key: "/a b"},
		{path: "/%61", key: "/a"},
		{path: "/a+b", key: "/a+b"},
		{path: "/%23%3F%25", key: "/#?%"},
		{path: "/100%2525", key: "/100%25"}, // decoded once
		{path: "/caf%C3%A9", key: "/café"},
		{path: "/café", key: "/café"},
		{path: "/cafe%CC%81", key: "/café"}, // NFD means the same
		{path: "/...", key: "/..."},
		{path: "/.hidden/..x", key: "/.hidden/..x"},
		{path: "/a;b", key: "/a;b", opts: NameOptions{LiteralSemicolons: true}},
		{path: "/a%3Bb", key: "/a;b", opts: NameOptions{LiteralSemicolons: true}},
		{path: "/ReadMe.TXT", key: "/readme.txt", opts: NameOptions{FoldCase: true}},
		{path: "/STRASSE", key: "/strasse", opts: NameOptions{FoldCase: true}},
		{path: "/Straße", key: "/strasse", opts: NameOptions{FoldCase: true}},
		{path: "/ReadMe.TXT", key: "/ReadMe.TXT"},
		{path: "/\u13D3", key: "/\u13D3", opts: NameOptions{FoldCase: true}}, // Cherokee capital
		{path: "/\uABA3", key: "/\u13D3", opts: NameOptions{FoldCase: true}}, // and small letter
		{path: "/\u212A\u017F", key: "/ks", opts: NameOptions{FoldCase: true}},
	} {
		got, err := Canonical(c.path, c.opts)
		if err != nil || got.Key() != c.key {
			t.Errorf("%s: %q, %v, want %q", c.path, got.Key(), err, c.key)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	fold := NameOptions{FoldCase: true}
	for _, c := range []struct {
		path string
		opts NameOptions
	}{
		{path: ""}, {path: "a"}, {path: "*"}, {path: "http://h/a"},
		{path: "//"}, {path: "//a"}, {path: "/a//b"}, {path: "/a//"},
		{path: "/."}, {path: "/.."}, {path: "/a/./b"}, {path: "/a/../b"}, {path: "/a/.."}, {path: "/../a"},
		{path: "/%2e"}, {path: "/%2E%2e/a"}, {path: "/.%2e"}, {path: "/a/%2e%2e/"},
		{path: "/a%2Fb"}, {path: "/a%2fb"}, {path: "/%2f"},
		{path: "/a%5Cb"}, {path: "/a%5cb"}, {path: `/a\b`},
		{path: "/a%00"}, {path: "/a\x00"}, {path: "/a%0A"}, {path: "/a\tb"}, {path: "/a%7F"}, {path: "/a\u0085"}, {path: "/a%C2%85"},
		{path: "/a#b"}, {path: "/a?b"},
		{path: "/%FF"}, {path: "/\xff"}, {path: "/%C0%AF"}, {path: "/%ED%A0%80"},
		{path: "/a;b"}, {path: "/a%3Bb"}, {path: "/a%3bb"}, {path: "/a;"},
		{path: "/a\u037Eb"}, {path: "/a%CD%BEb"}, // Greek question mark: ";" once normalised
		{path: "/%"}, {path: "/%2"}, {path: "/%zz"}, {path: "/a%2"},
		{path: "/name.", opts: fold}, {path: "/name%20", opts: fold}, {path: "/d./f", opts: fold},
		{path: "/a:stream", opts: fold}, {path: "/REPORT~1.CSV", opts: fold},
		{path: "/a\u200Cb", opts: fold}, {path: "/a\uFEFF", opts: fold}, {path: "/a\u00ADb", opts: fold}, {path: "/a\uFE0F", opts: fold},
	} {
		got, err := Canonical(c.path, c.opts)
		var ambiguous *PathError
		if !errors.As(err, &ambiguous) || ambiguous.Reason == "" {
			t.Errorf("%q: %q, %v, want a *PathError", c.path, got.Key(), err)
		}
	}
	if _, err := Canonical("/"+strings.Repeat("a", MaxPathLen), NameOptions{}); !errors.Is(err, ErrPathTooLong) {
		t.Errorf("4097 bytes: %v", err)
	}
	if _, err := Canonical("/"+strings.Repeat("a", MaxPathLen-1), NameOptions{}); err != nil {
		t.Errorf("4096 bytes: %v", err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		r, other string
		want     bool
	}{
		{"/", "/", true}, {"/", "/a", true}, {"/a", "/a", true}, {"/a", "/a/b/c", true},
		{"/a", "/ab", false}, {"/a", "/", false}, {"/a/b", "/a", false}, {"/a", "/b", false},
	} {
		if got := ResourceOf(c.r).Covers(ResourceOf(c.other)); got != c.want {
			t.Errorf("%s covers %s: %v", c.r, c.other, got)
		}
	}
	var up []string
	for p, ok := ResourceOf("/a/b/c"), true; ok; p, ok = p.Parent() {
		up = append(up, p.Key())
	}
	if got := fmt.Sprint(up); got != "[/a/b/c /a/b /a /]" {
		t.Errorf("parents: %s", got)
	}
}

// One object never has two keys, and what is shown of a key leads back to it.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"/", "/a/b", "/a%20b", "/caf%C3%A9", "/cafe%CC%81", "/%2e%2e/", "/a//b", "/a;b", "/A~1", "/%25%32%35", "/ \"<>", "/\u037e", "/ß.", "/İ"} {
		f.Add(s, false, false)
		f.Add(s, true, true)
	}
	f.Fuzz(func(t *testing.T, path string, fold, semicolons bool) {
		opts := NameOptions{FoldCase: fold, LiteralSemicolons: semicolons}
		r, err := Canonical(path, opts)
		if err != nil {
			return
		}
		key := r.Key()
		if key[0] != '/' || len(key) > 1 && strings.HasSuffix(key, "/") || strings.Contains(key, "//") ||
			!utf8.ValidString(key) || !norm.NFC.IsNormalString(key) || strings.ContainsAny(key, "\\\x00") {
			t.Fatalf("%q has the key %q", path, key)
		}
		if len(r.String()) > MaxPathLen {
			return // escaping has made it longer than what may be sent
		}
		if again, err := Canonical(r.String(), opts); err != nil || again != r {
			t.Fatalf("%q is shown as %q, which is %q, %v", key, r.String(), again.Key(), err)
		}
		if fold {
			for _, other := range []string{strings.ToUpper(r.String()), strings.ToLower(r.String()), strings.ToTitle(r.String())} {
				if len(other) <= MaxPathLen {
					if again, err := Canonical(other, opts); err == nil && again != r {
						t.Fatalf("%q in another case, %q, has the key %q", key, other, again.Key())
					}
				}
			}
		}
		// Escaping each byte, or none that need not be, names the same object.
		var all strings.Builder
		for i := range len(key) {
			if key[i] == '/' {
				all.WriteByte('/')
			} else {
				fmt.Fprintf(&all, "%%%02x", key[i])
			}
		}
		if all.Len() <= MaxPathLen {
			if again, err := Canonical(all.String(), opts); err != nil || again != r {
				t.Fatalf("%q escaped whole is %q, %v", key, again.Key(), err)
			}
		}
		for p, ok := r.Parent(); ok; p, ok = p.Parent() {
			if !p.Covers(r) || r.Covers(p) {
				t.Fatalf("%q and its parent %q", key, p.Key())
			}
		}
	})
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "0", "1", "34", "007", "+1", "-1", "1 ", "9007199254740991", "9007199254740992",
		"9223372036854775807", "9223372036854775808", "18446744073709551616", "1e3", "٣", "1,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token, err := ParseToken(s, MaxToken)
		if err == nil && (token.String() != s || token == NoToken || token > MaxToken) {
			t.Fatalf("%q is %d", s, token)
		}
		if err != nil && token != NoToken {
			t.Fatalf("%q is %d in spite of %v", s, token, err)
		}
		if small, err := ParseToken(s, DefaultMaxToken); err == nil && (small != token || small > DefaultMaxToken) {
			t.Fatalf("%q is %d", s, small)
		}
	})
}

func TestTokenErrors(t *testing.T) {
	for _, s := range []string{"", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "1,2", "٣", "1_000"} {
		if _, err := ParseToken(s, MaxToken); !errors.Is(err, ErrTokenSyntax) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"9007199254740992", "99999999999999999999999999"} {
		var r *TokenRangeError
		if _, err := ParseToken(s, DefaultMaxToken); !errors.As(err, &r) || r.Max != DefaultMaxToken {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzOwner(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "é", strings.Repeat("x", 128), strings.Repeat("x", 129), "a\x7f", "~!"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOwner(s)
		if err == nil && (string(o) != s || len(s) == 0 || len(s) > MaxOwnerLen) {
			t.Fatalf("%q is %q", s, string(o))
		}
		if err != nil && o != NoOwner {
			t.Fatalf("%q is %q in spite of %v", s, string(o), err)
		}
	})
}

func TestOwnerIsNeverPrinted(t *testing.T) {
	const secret = "6f1c-very-secret"
	o := Owner(secret)
	row := Row{Owner: o}
	stamp := Stamp{Token: 1, Owner: o}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{o, row, stamp, &stamp, put("/r", 1, o)} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, secret) {
				t.Errorf("%s of %T prints the owner: %s", format, v, got)
			}
		}
	}
	if o.Digest() == "" || len(o.Digest()) != 8 || NoOwner.Digest() != "" {
		t.Errorf("digest %q", o.Digest())
	}
}

func TestCleanClient(t *testing.T) {
	for in, want := range map[string]string{
		"host/42":                      "host/42",
		"a\nb\x00":                     "a?b?",
		"caf\xe9":                      "caf?",
		strings.Repeat("x", 200):       strings.Repeat("x", 128),
		strings.Repeat("é", 100):       strings.Repeat("é", 64),
		"x" + strings.Repeat("é", 100): "x" + strings.Repeat("é", 63),
	} {
		if got := CleanClient(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
