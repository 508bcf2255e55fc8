package fence

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Resource is the canonical name of what a fence protects, its fence key: an
// absolute path, percent-decoded once, in Unicode normalisation form C,
// without a final slash (the root is "/"). Two spellings of one stored object
// have one fence key, or are refused.
//
// The zero Resource names nothing. Resources are comparable.
type Resource struct{ key string }

// Root is the resource that everything is below.
var Root = Resource{"/"}

// NameOptions say how a store compares names. The zero value suits stores that
// compare bytes and give ";" a meaning of its own.
type NameOptions struct {
	// FoldCase: the store ignores case, as Windows and macOS do. Names that
	// such stores silently change or alias are refused too.
	FoldCase bool
	// LiteralSemicolons: ";" is an ordinary character of names. Otherwise it
	// is refused, since some servers cut it off as a path parameter.
	LiteralSemicolons bool
}

// MaxPathLen is the longest accepted escaped path in bytes.
const MaxPathLen = 4096

// ErrPathTooLong means that an escaped path is longer than MaxPathLen.
var ErrPathTooLong = errors.New("the path is longer than 4096 bytes")

// PathError says why a path has no canonical form.
type PathError struct{ Reason string }

func (e *PathError) Error() string { return "ambiguous path: " + e.Reason }

func ambiguous(reason string) error { return &PathError{reason} }

// Canonical returns the resource that an escaped path (as it stands in a
// request line, without query) names. It never cleans: a path that servers are
// known to read in different ways is refused with a *PathError, one that is
// too long with ErrPathTooLong.
func Canonical(escapedPath string, opts NameOptions) (Resource, error) {
	if len(escapedPath) > MaxPathLen {
		return Resource{}, ErrPathTooLong
	}
	if escapedPath == "" || escapedPath[0] != '/' {
		return Resource{}, ambiguous(`a path starts with "/"`)
	}
	decoded, err := decodeOnce(escapedPath)
	if err != nil {
		return Resource{}, err
	}
	key := decoded
	if !isASCII(decoded) {
		if !utf8.ValidString(decoded) {
			return Resource{}, ambiguous("it is not valid UTF-8")
		}
		key = norm.NFC.String(decoded)
	}
	if opts.FoldCase {
		key = foldCase(key)
	}
	if len(key) > 1 && key[len(key)-1] == '/' {
		if key = key[:len(key)-1]; key == "/" {
			return Resource{}, ambiguous("empty segment (//)")
		}
	}
	if err := checkKey(key, opts); err != nil {
		return Resource{}, err
	}
	return Resource{key}, nil
}

// decodeOnce percent-decodes and refuses what must not appear escaped or raw.
func decodeOnce(s string) (string, error) {
	plain := true
	for i := range len(s) {
		switch s[i] {
		case '%':
			plain = false
		case '#':
			return "", ambiguous(`raw "#"; write %23`)
		case '?':
			return "", ambiguous(`raw "?"; write %3F`)
		}
	}
	if plain {
		return s, nil
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return "", ambiguous(`"%" without two hex digits; write %25`)
			}
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if c == '/' {
				return "", ambiguous("%2F: an escaped slash is a separator to some servers and a name to others")
			}
		}
		out.WriteByte(c)
	}
	return out.String(), nil
}

// checkKey refuses segments and characters that alias other names. It runs on
// the normalised key because normalisation itself can produce a character
// that matters (U+037E becomes ";").
func checkKey(key string, opts NameOptions) error {
	for _, r := range key {
		switch {
		case r == '\\':
			return ambiguous("backslash: a separator to some servers")
		case r == ';' && !opts.LiteralSemicolons:
			return ambiguous(`";": some servers cut names there (the route option "semicolons: literal" allows it)`)
		case unicode.IsControl(r):
			return ambiguous("it contains a control character")
		case opts.FoldCase && ignorable(r):
			return ambiguous("it contains a character that case-insensitive stores ignore")
		case opts.FoldCase && r == ':':
			return ambiguous(`":": case-insensitive stores give it a meaning of its own`)
		}
	}
	if key == "/" {
		return nil
	}
	for segment := range strings.SplitSeq(key[1:], "/") {
		switch segment {
		case "":
			return ambiguous("empty segment (//)")
		case ".", "..":
			return ambiguous(`"." or ".." segment`)
		}
		if opts.FoldCase {
			if last := segment[len(segment)-1]; last == '.' || last == ' ' {
				return ambiguous("a name ends in a dot or blank, which case-insensitive stores drop")
			}
			if shortName(segment) {
				return ambiguous(`"~" and a digit: it may be the short form of another name`)
			}
		}
	}
	return nil
}

// foldCase maps names that differ only in case to one. Full case folding alone
// is not enough: it swaps the Cherokee letters, whose capitals came first, rather
// than folding them, and it keeps apart what some stores' upper-case tables join
// (a dotless i). To join too much is safe: two objects then share a fence.
func foldCase(s string) string {
	if isASCII(s) { // the common case, to the same end
		return strings.ToLower(s)
	}
	return foldAny(s)
}

func foldAny(s string) string {
	return norm.NFC.String(strings.Map(smallest, norm.NFC.String(cases.Fold().String(s))))
}

// smallest returns the first character, in Unicode order but ASCII in lower
// case, of those that differ from r only in case.
func smallest(r rune) rune {
	r = unicode.ToLower(unicode.ToUpper(r))
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// shortName reports whether a segment looks like an 8.3 alias such as
// REPORT~1.CSV.
func shortName(segment string) bool {
	for i := range len(segment) - 1 {
		if segment[i] == '~' && segment[i+1] >= '0' && segment[i+1] <= '9' {
			return true
		}
	}
	return false
}

// ignorable reports whether HFS+ and its kin drop r when they compare names
// (Unicode's Default_Ignorable_Code_Point, closely).
func ignorable(r rune) bool {
	return r >= 0xad && unicode.In(r, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}
