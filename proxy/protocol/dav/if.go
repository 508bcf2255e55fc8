package dav

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// List is one of the lists of an If header, RFC 4918 section 10.4: the request
// goes on if all conditions of any list hold for its resource.
type List struct {
	// Resource is the URL in front of the list; empty: the request's own.
	Resource string
	// Conditions of the list, at least one.
	Conditions []Condition
}

// Condition is met by a resource that has, or with Not has not, the state or
// entity tag.
type Condition struct {
	Not bool
	// State is a URI such as that of a lock, without its brackets. Empty: ETag
	// counts.
	State string
	// ETag with its quotes, and W/ if it is weak.
	ETag string
}

// ParseIf reads an If header.
func ParseIf(s string) ([]List, error) {
	p := ifParser{rest: s}
	var lists []List
	var tagged, untagged bool
	for p.skip(); p.rest != ""; p.skip() {
		resource := ""
		if p.rest[0] == '<' {
			var err error
			if resource, err = p.bracketed(); err != nil {
				return nil, err
			}
			tagged = true
			p.skip()
			if !strings.HasPrefix(p.rest, "(") {
				return nil, errors.New("in If: a URL without a list behind it")
			}
		} else {
			untagged = true
		}
		if tagged && untagged {
			return nil, errors.New("in If: some lists have a URL before them and some have none")
		}
		for {
			conditions, err := p.list()
			if err != nil {
				return nil, err
			}
			lists = append(lists, List{resource, conditions})
			if p.skip(); !strings.HasPrefix(p.rest, "(") {
				break
			}
		}
	}
	if lists == nil {
		return nil, errors.New("in If: there is no list in it")
	}
	return lists, nil
}

// CheckIf returns what is wrong with a request's If header, if it has one.
func CheckIf(h http.Header) error {
	_, err := RequestIf(h)
	return err
}

// RequestIf returns the lists of a request's If header, none without one.
func RequestIf(h http.Header) ([]List, error) {
	value, ok, err := single(h, "If")
	if err != nil || !ok {
		return nil, err
	}
	return ParseIf(value)
}

// FormatIf is the inverse of ParseIf.
func FormatIf(lists []List) string {
	var b strings.Builder
	for i, l := range lists {
		if i > 0 {
			b.WriteByte(' ')
		}
		if l.Resource != "" && (i == 0 || lists[i-1].Resource != l.Resource) {
			b.WriteString("<" + l.Resource + "> ")
		}
		b.WriteByte('(')
		for j, c := range l.Conditions {
			if j > 0 {
				b.WriteByte(' ')
			}
			if c.Not {
				b.WriteString("Not ")
			}
			if c.State != "" {
				b.WriteString("<" + c.State + ">")
			} else {
				b.WriteString("[" + c.ETag + "]")
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

// ifParser reads an If header from its start; rest is what is left of it.
type ifParser struct{ rest string }

func (p *ifParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

// bracketed reads "<…>".
func (p *ifParser) bracketed() (string, error) {
	inner, rest, ok := strings.Cut(p.rest[1:], ">")
	if !ok || inner == "" || strings.ContainsAny(inner, "< \t") {
		return "", fmt.Errorf("in If: %q is no URL in brackets", p.rest)
	}
	p.rest = rest
	return inner, nil
}

// list reads "( … )".
func (p *ifParser) list() ([]Condition, error) {
	if !strings.HasPrefix(p.rest, "(") {
		return nil, fmt.Errorf("in If: a list begins with %q", firstOf(p.rest))
	}
	p.rest = p.rest[1:]
	var conditions []Condition
	for {
		p.skip()
		var c Condition
		if len(p.rest) >= 3 && strings.EqualFold(p.rest[:3], "not") {
			c.Not = true
			p.rest = p.rest[3:]
			p.skip()
		}
		var err error
		switch {
		case p.rest == "":
			return nil, errors.New("in If: a list does not end")
		case p.rest[0] == ')' && !c.Not && conditions != nil:
			p.rest = p.rest[1:]
			return conditions, nil
		case p.rest[0] == '<':
			c.State, err = p.bracketed()
		case p.rest[0] == '[':
			c.ETag, err = p.etag()
		default:
			err = fmt.Errorf("in If: %q where a condition is due", firstOf(p.rest))
		}
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
}

// etag reads `["…"]` or `[W/"…"]`.
func (p *ifParser) etag() (string, error) {
	s := p.rest[1:]
	n := 0
	if strings.HasPrefix(s, "W/") {
		n = 2
	}
	if n >= len(s) || s[n] != '"' {
		return "", errors.New("in If: an entity tag is not in quotes")
	}
	end := strings.IndexByte(s[n+1:], '"')
	if end < 0 {
		return "", errors.New("in If: an entity tag does not end")
	}
	tag := s[:n+1+end+1]
	if !strings.HasPrefix(s[len(tag):], "]") {
		return "", errors.New("in If: an entity tag does not end with a bracket")
	}
	p.rest = s[len(tag)+1:]
	return tag, nil
}

func firstOf(s string) string {
	if len(s) > 12 {
		return s[:12] + "…"
	}
	return s
}

// MapIf rewrites the URLs before the lists of an If header. One that is not in
// the clients' space stays: no store has such a resource.
func (m Map) MapIf(s string) (string, error) {
	lists, err := ParseIf(s)
	if err != nil {
		return "", err
	}
	changed := false
	for i, l := range lists {
		if l.Resource == "" {
			continue
		}
		ref, err := ParseRef(l.Resource)
		if err != nil {
			return "", fmt.Errorf("in If: %w", err)
		}
		if to, ok := m.ToStore(ref); ok {
			lists[i].Resource, changed = to.String(), true
		}
	}
	if !changed {
		return s, nil
	}
	return FormatIf(lists), nil
}
