package dav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Namespace is that of the elements of RFC 4918.
const Namespace = "DAV:"

// Property is a property with its value, or without one where only the name is
// meant.
type Property struct {
	Name xml.Name
	// Element is the whole element. It needs nothing around it: each namespace
	// is declared where it is used, and the language that was in scope is in it.
	Element []byte
}

// MaxBody is the longest XML body that is read, in bytes.
const MaxBody = 1 << 20

// ErrTooLarge is the error for a body longer than MaxBody.
var ErrTooLarge = errors.New("the XML body is larger than 1 MiB")

// BodyError is what reading the body returned, as opposed to what is wrong with
// its content.
type BodyError struct{ Err error }

func (e *BodyError) Error() string { return "read the body: " + e.Err.Error() }
func (e *BodyError) Unwrap() error { return e.Err }

const (
	maxNesting = 64  // of elements
	maxNamed   = 512 // properties in one request
)

// reader reads one XML body, element by element.
type reader struct {
	dec  *xml.Decoder
	in   *limited
	deep int
}

// limited ends with ErrTooLarge instead of io.EOF.
type limited struct {
	r    io.Reader
	left int64
	any  bool
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, ErrTooLarge
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	if err != nil && err != io.EOF {
		err = &BodyError{err}
	}
	l.left -= int64(n)
	l.any = l.any || n > 0
	return n, err
}

func newReader(r io.Reader) *reader {
	in := &limited{r: r, left: MaxBody + 1}
	return &reader{dec: xml.NewDecoder(in), in: in}
}

// next returns the next start or end of an element, or text. Comments,
// instructions and directives say nothing (RFC 4918 section 4.3).
func (r *reader) next() (xml.Token, error) {
	for {
		t, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if r.deep++; r.deep > maxNesting {
				return nil, fmt.Errorf("elements are nested more than %d deep", maxNesting)
			}
			for _, a := range t.Attr {
				// Namespaces in XML 1.0 section 2.2: a prefix cannot be undeclared.
				if a.Name.Space == "xmlns" && a.Value == "" {
					return nil, fmt.Errorf("the prefix %q stands for an empty namespace", a.Name.Local)
				}
			}
			return t, nil
		case xml.EndElement:
			r.deep--
			return t, nil
		case xml.CharData:
			return t, nil
		case xml.Directive:
			return nil, errors.New("the body has a DOCTYPE, which is not read")
		}
	}
}

// root returns the start of the outermost element, which is to have that name.
// ok is false for an empty body.
func (r *reader) root(local string) (start xml.StartElement, ok bool, err error) {
	for {
		t, err := r.next()
		if err == io.EOF && !r.in.any {
			return start, false, nil
		}
		if err == io.EOF {
			return start, false, io.ErrUnexpectedEOF
		}
		if err != nil {
			return start, false, err
		}
		if start, ok := t.(xml.StartElement); ok {
			if !isDAV(start, local) {
				return start, false, fmt.Errorf("the body is a %s, want a DAV: %s", start.Name.Local, local)
			}
			return start, true, nil
		}
	}
}

// end reads what follows the outermost element: nothing that counts.
func (r *reader) end() error {
	for {
		t, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, ok := t.(xml.StartElement); ok {
			return errors.New("the body has two elements")
		}
	}
}

// children calls yield for each element in the one that was just begun; yield
// reads it to its end.
func (r *reader) children(yield func(xml.StartElement) error) error {
	for {
		t, err := r.next()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := yield(t); err != nil {
				return err
			}
		}
	}
}

// skip reads an element to its end.
func (r *reader) skip(xml.StartElement) error { return r.children(r.skip) }

func isDAV(e xml.StartElement, local string) bool {
	return e.Name == xml.Name{Space: Namespace, Local: local}
}

// xmlSpace is the namespace of the prefix "xml".
const xmlSpace = "http://www.w3.org/XML/1998/namespace"

// language returns the xml:lang of an element, or the one in scope.
func language(e xml.StartElement, scope string) string {
	for _, a := range e.Attr {
		if a.Name.Space == xmlSpace && a.Name.Local == "lang" {
			return a.Value
		}
	}
	return scope
}

// properties reads the properties in the prop element that was just begun.
func (r *reader) properties(lang string, yield func(Property) error) error {
	n := 0
	return r.children(func(e xml.StartElement) error {
		if n++; n > maxNamed {
			return fmt.Errorf("more than %d properties are named", maxNamed)
		}
		var b bytes.Buffer
		if err := r.copy(&b, e, nil, lang); err != nil {
			return err
		}
		return yield(Property{Name: e.Name, Element: b.Bytes()})
	})
}

// copy writes the element that begins with e, in a form that needs nothing
// around it. space is the default namespace where it is written, nil if that is
// not known; lang is the language in scope that e does not say itself.
func (r *reader) copy(b *bytes.Buffer, e xml.StartElement, space *string, lang string) error {
	b.WriteByte('<')
	b.WriteString(e.Name.Local)
	if space == nil || *space != e.Name.Space {
		attribute(b, "xmlns", e.Name.Space)
	}
	if lang != "" && language(e, "") == "" {
		attribute(b, "xml:lang", lang)
	}
	prefixes := 0
	for _, a := range e.Attr {
		switch {
		case a.Name.Space == "xmlns", a.Name.Space == "" && a.Name.Local == "xmlns":
		case a.Name.Space == "":
			attribute(b, a.Name.Local, a.Value)
		case a.Name.Space == xmlSpace:
			attribute(b, "xml:"+a.Name.Local, a.Value)
		default:
			prefix := "a" + strconv.Itoa(prefixes)
			prefixes++
			attribute(b, "xmlns:"+prefix, a.Name.Space)
			attribute(b, prefix+":"+a.Name.Local, a.Value)
		}
	}
	start := b.Len()
	b.WriteByte('>')
	for {
		t, err := r.next()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := r.copy(b, t, &e.Name.Space, ""); err != nil {
				return err
			}
		case xml.CharData:
			escape(b, t)
		case xml.EndElement:
			if b.Len() == start+1 {
				b.Truncate(start)
				b.WriteString("/>")
				return nil
			}
			b.WriteString("</" + e.Name.Local + ">")
			return nil
		}
	}
}

func attribute(b *bytes.Buffer, name, value string) {
	b.WriteString(" " + name + `="`)
	_ = xml.EscapeText(b, []byte(value)) // a Buffer takes everything
	b.WriteByte('"')
}

func escape(b *bytes.Buffer, text []byte) {
	_, _ = escaper.WriteString(b, string(text)) // a Buffer takes everything
}

// escaper is for texts that are well-formed already. It leaves the quotes that
// xml.EscapeText would escape: not every client reads an entity tag in &#34;.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// Empty returns an element of that name with nothing in it.
func Empty(name xml.Name) []byte {
	var b bytes.Buffer
	b.WriteString("<" + name.Local)
	attribute(&b, "xmlns", name.Space)
	b.WriteString("/>")
	return b.Bytes()
}

// JoinProperties puts properties into one text, which SplitProperties reads.
func JoinProperties(props []Property) []byte {
	var b bytes.Buffer
	b.WriteString(`<prop xmlns="DAV:">`)
	for _, p := range props {
		b.Write(p.Element)
	}
	b.WriteString(`</prop>`)
	return b.Bytes()
}

// SplitProperties is the inverse of JoinProperties.
func SplitProperties(text []byte) (props []Property, err error) {
	r := newReader(bytes.NewReader(text))
	if _, ok, err := r.root("prop"); err != nil || !ok {
		return nil, errors.Join(errors.New("no properties"), err)
	}
	err = r.properties("", func(p Property) error {
		props = append(props, p)
		return nil
	})
	return props, err
}
