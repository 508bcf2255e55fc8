package dav

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// ContentType is that of the XML bodies of answers.
const ContentType = `application/xml; charset="utf-8"`

// Prolog is how an XML body begins.
const Prolog = `<?xml version="1.0" encoding="utf-8"?>` + "\n"

// Multistatus writes the body of a 207 (RFC 4918 section 13), one response
// after the other. In what it is given the prefix D stands for DAV:.
type Multistatus struct {
	w   io.Writer
	buf bytes.Buffer
}

// Propstat is a group of properties, as elements, that fared alike.
type Propstat struct {
	Status int
	Props  [][]byte
	// Condition is the precondition that failed, such as
	// "cannot-modify-protected-property"; "" for none.
	Condition string
}

// NewMultistatus begins a body on w.
func NewMultistatus(w io.Writer) *Multistatus {
	m := &Multistatus{w: w}
	m.buf.WriteString(Prolog + `<D:multistatus xmlns:D="DAV:">` + "\n")
	return m
}

// flushAt is how much is gathered before it is written, in bytes.
const flushAt = 32 << 10

// Response writes what became of the properties of the object at a decoded path.
func (m *Multistatus) Response(path string, stats []Propstat) error {
	b := &m.buf
	b.WriteString("<D:response><D:href>")
	escape(b, []byte(EscapePath(path)))
	b.WriteString("</D:href>")
	for _, s := range stats {
		b.WriteString("<D:propstat><D:prop>")
		for _, p := range s.Props {
			b.Write(p)
		}
		b.WriteString("</D:prop><D:status>HTTP/1.1 " + strconv.Itoa(s.Status) + " " + http.StatusText(s.Status) + "</D:status>")
		if s.Condition != "" {
			b.WriteString("<D:error><D:" + s.Condition + "/></D:error>")
		}
		b.WriteString("</D:propstat>")
	}
	b.WriteString("</D:response>\n")
	if b.Len() < flushAt {
		return nil
	}
	return m.flush()
}

// Close ends the body. It does not close w.
func (m *Multistatus) Close() error {
	m.buf.WriteString("</D:multistatus>\n")
	return m.flush()
}

func (m *Multistatus) flush() error {
	_, err := m.w.Write(m.buf.Bytes())
	m.buf.Reset()
	return err
}

// EscapePath is how a decoded path is written in an href.
func EscapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// Text returns an element of DAV: with a text in it.
func Text(local, text string) []byte {
	var b bytes.Buffer
	b.WriteString("<D:" + local + ">")
	escape(&b, []byte(text))
	b.WriteString("</D:" + local + ">")
	return b.Bytes()
}

// ErrorBody is the body of an answer that names the precondition that failed
// (RFC 4918 section 16), the hrefs that it is about, and what a person can do.
func ErrorBody(condition string, hrefs []string, text string) string {
	var b bytes.Buffer
	b.WriteString(Prolog + `<D:error xmlns:D="DAV:"><D:` + condition + ">")
	for _, h := range hrefs {
		b.Write(Text("href", EscapePath(h)))
	}
	b.WriteString("</D:" + condition + `><text xmlns="urn:fencegate:text">`)
	_ = xml.EscapeText(&b, []byte(text))
	b.WriteString("</text></D:error>\n")
	return b.String()
}
