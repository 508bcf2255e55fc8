package dav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadPropfind(t *testing.T) {
	name := func(space, local string) xml.Name { return xml.Name{Space: space, Local: local} }
	for _, c := range []struct {
		body string
		want Propfind
		err  string
	}{
		{"", Propfind{All: true}, ""},
		{`<propfind xmlns="DAV:"><allprop/></propfind>`, Propfind{All: true}, ""},
		{`<?xml version="1.0"?><!-- x --><D:propfind xmlns:D="DAV:"> <D:propname/> </D:propfind>`, Propfind{Names: true}, ""},
		{`<D:propfind xmlns:D="DAV:"><D:prop><D:getetag/><x xmlns="u"/><y/></D:prop></D:propfind>`,
			Propfind{Props: []xml.Name{name("DAV:", "getetag"), name("u", "x"), name("", "y")}}, ""},
		{`<propfind xmlns="DAV:"><allprop/><include><a/></include><unknown><b/></unknown></propfind>`,
			Propfind{All: true, Props: []xml.Name{name("DAV:", "a")}}, ""},
		{`<propfind xmlns="DAV:"><prop/></propfind>`, Propfind{}, "at least one"},
		{`<propfind xmlns="DAV:"/>`, Propfind{}, "one of"},
		{`<propfind xmlns="DAV:"><allprop/><propname/></propfind>`, Propfind{}, "one of"},
		{`<propfind xmlns="DAV:"><prop><a/></prop><include><b/></include></propfind>`, Propfind{}, "one of"},
		{`<propfind><allprop/></propfind>`, Propfind{}, "want a DAV: propfind"},
		{`<lockinfo xmlns="DAV:"/>`, Propfind{}, "want a DAV: propfind"},
		{`<propfind xmlns="DAV:"><allprop/></propfind><more/>`, Propfind{}, "two elements"},
		{`<propfind xmlns="DAV:"><allprop/>`, Propfind{}, "EOF"},
		{`<propfind xmlns="DAV:"><allprop></propfind>`, Propfind{}, "syntax"},
		{` `, Propfind{}, "EOF"},
		{`<D:propfind xmlns:D="DAV:"><D:prop><b:x xmlns:b=""/></D:prop></D:propfind>`, Propfind{}, "empty namespace"},
		{`<!DOCTYPE x [<!ENTITY a "b">]><propfind xmlns="DAV:"><allprop/></propfind>`, Propfind{}, "DOCTYPE"},
		{`<propfind xmlns="DAV:"><prop>` + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + `</prop></propfind>`, Propfind{}, "nested"},
		{`<propfind xmlns="DAV:"><prop>` + strings.Repeat("<a/>", 1000) + `</prop></propfind>`, Propfind{}, "more than"},
		{`<propfind xmlns="DAV:"><prop>&undefined;</prop></propfind>`, Propfind{}, "entity"},
	} {
		got, err := ReadPropfind(strings.NewReader(c.body))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%.80s: error %v, want %q", c.body, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%.80s: %v\n%s", c.body, err, diff)
		}
	}
}

func TestReadPropertyUpdate(t *testing.T) {
	const body = `<D:propertyupdate xmlns:D="DAV:" xmlns:v="urn:v" xml:lang="en">
		<D:set><D:prop><v:a k="&lt;&quot;" v:n="1"> text <v:b/><c xmlns="urn:c">&amp;<D:d/></c><e xmlns=""/></v:a></D:prop></D:set>
		<D:remove><D:prop xml:lang="de"><x/></D:prop></D:remove>
		<D:set><D:prop><v:f xml:lang="fr"><![CDATA[<x>]]><!-- no --></v:f></D:prop></D:set>
	</D:propertyupdate>`
	got, err := ReadPropertyUpdate(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`false {urn:v a} <a xmlns="urn:v" xml:lang="en" k="&lt;&#34;" xmlns:a0="urn:v" a0:n="1"> text <b/><c xmlns="urn:c">&amp;<d xmlns="DAV:"/></c><e xmlns=""/></a>`,
		`true { x} <x xmlns="" xml:lang="de"/>`,
		`false {urn:v f} <f xmlns="urn:v" xml:lang="fr">&lt;x&gt;</f>`,
	}
	var lines []string
	for _, c := range got {
		mode := "false"
		if c.Remove {
			mode = "true"
		}
		lines = append(lines, mode+" {"+c.Name.Space+" "+c.Name.Local+"} "+string(c.Element))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{"", `<propertyupdate xmlns="DAV:"/>`, `<propertyupdate xmlns="DAV:"><set/></propertyupdate>`,
		`<propertyupdate xmlns="DAV:"><set><prop><a>`, `<propfind xmlns="DAV:"/>`} {
		if got, err := ReadPropertyUpdate(strings.NewReader(body)); err == nil {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestReadLockInfo(t *testing.T) {
	const begin, end = `<lockinfo xmlns="DAV:">`, `<locktype><write/></locktype><owner><href>me</href></owner></lockinfo>`
	for _, c := range []struct {
		body   string
		shared bool
		ok     bool
		err    bool
	}{
		{body: ""},
		{body: begin + "<lockscope><exclusive/></lockscope>" + end, ok: true},
		{body: begin + "<lockscope><shared/></lockscope>" + end, ok: true, shared: true},
		{body: begin + "<lockscope><shared/><exclusive/></lockscope>" + end, err: true},
		{body: begin + "<lockscope/>" + end, err: true},
		{body: begin + "<lockscope><exclusive/></lockscope></lockinfo>", err: true},
		{body: begin, err: true},
		{body: "x", err: true},
	} {
		got, ok, err := ReadLockInfo(strings.NewReader(c.body))
		if ok != c.ok || (err != nil) != c.err || ok && got.Shared != c.shared {
			t.Errorf("%s: %v %v %v", c.body, got, ok, err)
		}
		if want := `<owner xmlns="DAV:"><href>me</href></owner>`; ok && string(got.Owner) != want {
			t.Errorf("owner %s", got.Owner)
		}
	}
}

// What reading the body returned is told from what is in it; and no body is too
// large to be read.
func TestBodiesThatEnd(t *testing.T) {
	gone := errors.New("gone")
	var body *BodyError
	_, err := ReadPropfind(io.MultiReader(strings.NewReader("<propfind"), iotest.ErrReader(gone)))
	if !errors.As(err, &body) || !errors.Is(err, gone) {
		t.Errorf("broken: %v", err)
	}
	if _, err := ReadPropfind(strings.NewReader("<propfind")); err == nil || errors.As(err, &body) {
		t.Errorf("cut: %v", err)
	}
	const rest = `<propfind xmlns="DAV:"><allprop/></propfind>`
	pad := func(n int) io.Reader { return strings.NewReader(strings.Repeat(" ", n-len(rest)) + rest) }
	if _, err := ReadPropfind(pad(MaxBody)); err != nil {
		t.Errorf("the longest: %v", err)
	}
	if _, err := ReadPropfind(pad(MaxBody + 2)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too long: %v", err)
	}
}

func TestMultistatus(t *testing.T) {
	var b strings.Builder
	m := NewMultistatus(&b)
	err := errors.Join(m.Response("/a &é/", []Propstat{
		{Status: 200, Props: [][]byte{Text("getetag", `"<&>"`)}},
		{Status: 403, Props: [][]byte{Empty(xml.Name{Space: "u&", Local: "x"})}, Condition: "cannot-modify-protected-property"},
	}), m.Close())
	want := Prolog + `<D:multistatus xmlns:D="DAV:">
<D:response><D:href>/a%20&amp;%C3%A9/</D:href>` +
		`<D:propstat><D:prop><D:getetag>"&lt;&amp;&gt;"</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>` +
		`<D:propstat><D:prop><x xmlns="u&amp;"/></D:prop><D:status>HTTP/1.1 403 Forbidden</D:status><D:error><D:cannot-modify-protected-property/></D:error></D:propstat>` +
		`</D:response>
</D:multistatus>
`
	if diff := cmp.Diff(want, b.String()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// It is written as it comes.
	b.Reset()
	m = NewMultistatus(&b)
	for b.Len() == 0 {
		if err := m.Response("/a", nil); err != nil {
			t.Fatal(err)
		}
		if m.buf.Len() > 2*flushAt {
			t.Fatal("nothing is written")
		}
	}
	if err := NewMultistatus(failing{}).Close(); err == nil {
		t.Error("an error of the writer is lost")
	}
}

func TestParseTimeout(t *testing.T) {
	const longest = 10 * time.Minute
	for value, want := range map[string]time.Duration{
		"": 0, "Infinite": longest, "Second-5": 5 * time.Second, "Second-4294967295": longest, "Second-99999999999": 0,
		"Extend, Second-7, Infinite": 7 * time.Second, "Infinite, Second-7": longest, "Second-": 0, "Second--1": 0, "Second-0": 0, "5": 0,
	} {
		if got := ParseTimeout(http.Header{"Timeout": {value}}, longest); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestParseLockToken(t *testing.T) {
	for value, want := range map[string]string{
		"<urn:uuid:1>": "urn:uuid:1", " <a:b> ": "a:b", "": "", "urn:uuid:1": "", "<>": "", "<a><b>": "", "<a b>": "", "<a": "",
	} {
		if got, err := ParseLockToken(http.Header{"Lock-Token": {value}}); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", value, got, err)
		}
	}
	if _, err := ParseLockToken(http.Header{}); err == nil {
		t.Error("none at all")
	}
	if _, err := ParseLockToken(http.Header{"Lock-Token": {"<a:b>", "<a:b>"}}); err == nil {
		t.Error("two")
	}
}

// What is kept of properties is what was sent, also after it was written down and
// read again.
func FuzzPropertyUpdate(f *testing.F) {
	for _, value := range []string{"", "x", "<a/>", `<b:a xmlns:b="u" b:c="d">e</b:a>`, "<![CDATA[<>&]]>", "\r\n\t", "&#13;&#x9;", `<a xml:lang="de" xml:space="preserve"/>`, `<a xmlns="u"><b xmlns=""/></a>`} {
		f.Add([]byte(`<propertyupdate xmlns="DAV:"><set><prop xml:lang="en"><p xmlns="urn:p">` + value + `</p></prop></set></propertyupdate>`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		changes, err := ReadPropertyUpdate(bytes.NewReader(body))
		if err != nil {
			return
		}
		var props []Property
		for _, c := range changes {
			props = append(props, c.Property)
		}
		again, err := SplitProperties(JoinProperties(props))
		if err != nil {
			t.Fatalf("%v: %s", err, JoinProperties(props))
		}
		if diff := cmp.Diff(props, again); diff != "" {
			t.Fatal(diff)
		}
		// Put into an answer it means the same.
		var b bytes.Buffer
		m := NewMultistatus(&b)
		var elements [][]byte
		for _, p := range props {
			elements = append(elements, p.Element, Empty(p.Name))
		}
		if err := errors.Join(m.Response("/x", []Propstat{{Status: 200, Props: elements}}), m.Close()); err != nil {
			t.Fatal(err)
		}
		for dec := xml.NewDecoder(&b); ; {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v: %q", err, elements)
			}
		}
	})
}
