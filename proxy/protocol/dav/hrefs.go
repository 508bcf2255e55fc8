package dav

import (
	"bytes"
	"encoding/xml"
	"html"
	"io"
	"strings"
)

// Hrefs rewrites the hrefs of an XML body while it passes through: what is
// written to it goes to w, with the text of each href element as the map's
// clients name it. Everything else stays byte for byte.
//
// It goes by the local name href, whatever the namespace: a foreign element that
// names an object of the store would be mapped too. It holds back one tag or
// href at most; Close lets it go. Bodies in encodings in which "<" is more than
// one byte (UTF-16) pass unchanged.
type Hrefs struct {
	w    io.Writer
	m    Map
	in   part
	held []byte // the tag or href that has begun
	// quote is the one that an attribute's value in a tag ends with.
	quote byte
	// end is what a comment or CDATA section ends with, and seen how much of it
	// the last bytes were.
	end  string
	seen int
}

// NewHrefs returns a writer that maps hrefs on their way to w.
func NewHrefs(w io.Writer, m Map) *Hrefs { return &Hrefs{w: w, m: m} }

// part of an XML text.
type part uint8

const (
	text part = iota
	tag
	section // a comment or CDATA
	href    // the text of an href element
)

// maxHeld is the longest tag or href that is looked at, in bytes. A longer one
// passes unchanged.
const maxHeld = 64 << 10

// Write implements io.Writer.
func (h *Hrefs) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n, err := h.step(rest)
		if err != nil {
			return len(b) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// Close writes what is held back. It does not close w.
func (h *Hrefs) Close() error { return h.letGo(text) }

// letGo writes what is held back, unchanged, and goes on in another part.
func (h *Hrefs) letGo(next part) error {
	h.in = next
	if len(h.held) == 0 {
		return nil
	}
	_, err := h.w.Write(h.held)
	h.held = h.held[:0]
	return err
}

// step takes n bytes of b, at least one.
func (h *Hrefs) step(b []byte) (n int, err error) {
	switch h.in {
	case text:
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			return h.w.Write(b)
		}
		h.in, h.quote = tag, 0
		h.held = append(h.held, '<')
		if i > 0 {
			_, err = h.w.Write(b[:i])
		}
		return i + 1, err
	case section:
		for n < len(b) && h.seen < len(h.end) {
			h.seen = advance(h.end, h.seen, b[n])
			n++
		}
		if h.seen == len(h.end) {
			h.in = text
		}
		return h.w.Write(b[:n])
	case href:
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			h.held = append(h.held, b...)
			return len(b), h.bound()
		}
		h.held = append(h.held, b[:i]...)
		if len(h.held) <= maxHeld {
			h.held = h.mapped(h.held)
		}
		err = h.letGo(tag)
		h.quote, h.held = 0, append(h.held, '<')
		return i + 1, err
	}
	h.held = append(h.held, b[0])
	return 1, h.inTag(b[0])
}

// bound lets go of what has become too long to be looked at.
func (h *Hrefs) bound() error {
	if len(h.held) <= maxHeld {
		return nil
	}
	return h.letGo(text)
}

// inTag looks at the byte c that was added to a tag.
func (h *Hrefs) inTag(c byte) error {
	switch {
	case string(h.held) == "<!--":
		h.end, h.seen = "-->", 0
		return h.letGo(section)
	case string(h.held) == "<![CDATA[":
		h.end, h.seen = "]]>", 0
		return h.letGo(section)
	case h.quote != 0:
		if c == h.quote {
			h.quote = 0
		}
	case c == '"', c == '\'':
		h.quote = c // in an attribute's value ">" ends no tag (XML 1.0 section 3.1)
	case c == '>':
		if opensHref(h.held) {
			return h.letGo(href)
		}
		return h.letGo(text)
	}
	return h.bound()
}

// advance returns how much of end the last bytes were, after one more.
func advance(end string, seen int, c byte) int {
	switch {
	case c == end[seen]:
		return seen + 1
	case seen == 2 && c == end[0]:
		return 2 // the first two bytes of "-->" and "]]>" are the same
	case c == end[0]:
		return 1
	}
	return 0
}

// opensHref reports whether a whole tag is that of an href with a content.
func opensHref(tag []byte) bool {
	name := tag[1 : len(tag)-1]
	if bytes.HasSuffix(name, []byte("/")) {
		return false
	}
	if i := bytes.IndexAny(name, " \t\r\n"); i >= 0 {
		name = name[:i]
	}
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return string(name) == "href"
}

// mapped returns the text of an href as clients are to see it.
func (h *Hrefs) mapped(text []byte) []byte {
	was := strings.TrimSpace(html.UnescapeString(string(text)))
	public := h.m.ToPublic(was)
	if public == was {
		return text
	}
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(public)) // a Buffer takes everything
	return b.Bytes()
}
