package dav

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Depth is how far below a collection a request reaches, RFC 4918 section 10.2.
type Depth uint8

const (
	Zero Depth = iota
	One
	Infinity
)

// ParseDepth returns what a request's Depth header says, or absent if there is
// none.
func ParseDepth(h http.Header, absent Depth) (Depth, error) {
	value, ok, err := single(h, "Depth")
	if err != nil || !ok {
		return absent, err
	}
	switch strings.ToLower(value) {
	case "0":
		return Zero, nil
	case "1":
		return One, nil
	case "infinity":
		return Infinity, nil
	}
	return absent, fmt.Errorf("the Depth is %q, want 0, 1 or infinity", value)
}

// ParseOverwrite returns what a request's Overwrite header says: true without
// one, RFC 4918 section 10.6.
func ParseOverwrite(h http.Header) (bool, error) {
	value, ok, err := single(h, "Overwrite")
	switch {
	case err != nil:
		return true, err
	case !ok, value == "T", value == "t":
		return true, nil
	case value == "F", value == "f":
		return false, nil
	}
	return true, fmt.Errorf("the Overwrite is %q, want T or F", value)
}

// ParseDestination returns where a request's Destination header points to.
func ParseDestination(h http.Header) (Ref, error) {
	value, ok, err := single(h, "Destination")
	switch {
	case err != nil:
		return Ref{}, err
	case !ok:
		return Ref{}, fmt.Errorf("there is no Destination, which says where to")
	}
	ref, err := ParseRef(value)
	if err != nil {
		return Ref{}, fmt.Errorf("in Destination: %w", err)
	}
	return ref, nil
}

// ParseTimeout returns the first time in a request's Timeout header that is
// understood, RFC 4918 section 10.7; 0 without one. The longest stands for
// Infinite.
func ParseTimeout(h http.Header, longest time.Duration) time.Duration {
	for value := range strings.SplitSeq(strings.Join(h["Timeout"], ","), ",") {
		value = strings.TrimSpace(value)
		if strings.EqualFold(value, "Infinite") {
			return longest
		}
		if n, ok := strings.CutPrefix(value, "Second-"); ok {
			if s, err := strconv.ParseUint(n, 10, 32); err == nil && s > 0 {
				return min(time.Duration(s)*time.Second, longest)
			}
		}
	}
	return 0
}

// ParseLockToken returns the URI in a request's Lock-Token header, RFC 4918
// section 10.5.
func ParseLockToken(h http.Header) (string, error) {
	value, ok, err := single(h, "Lock-Token")
	if err != nil {
		return "", err
	}
	inner, closed := strings.CutSuffix(value, ">")
	token, opened := strings.CutPrefix(inner, "<")
	if !ok || !opened || !closed || token == "" || strings.ContainsAny(token, "<> \t") {
		return "", fmt.Errorf("the Lock-Token is %q, want one URI in angle brackets", value)
	}
	return token, nil
}

// single returns the value of a header that may occur once. Servers take the
// first of two lines, or the last, or join them. Of a name with underscores,
// which some read as the same (CGI), none may be there at all.
func single(h http.Header, name string) (value string, ok bool, err error) {
	for n := range h {
		if n != name && strings.EqualFold(strings.ReplaceAll(n, "_", "-"), name) {
			return "", false, fmt.Errorf("%s is sent as %s", name, n)
		}
	}
	lines, ok := h[name]
	switch {
	case !ok:
		return "", false, nil
	case len(lines) != 1:
		return "", false, fmt.Errorf("%s is sent %d times, want once", name, len(lines))
	}
	return strings.Trim(lines[0], " \t"), true, nil
}
