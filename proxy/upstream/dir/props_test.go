package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// set is the body of a PROPPATCH that sets a property of the namespace urn:t.
func set(name, value string) string {
	return `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><t:` + name + ` xmlns:t="urn:t">` + value + `</t:` + name + `></D:prop></D:set></D:propertyupdate>`
}

// ask is the body of a PROPFIND for a property of the namespace urn:t.
func ask(name string) string {
	return `<propfind xmlns="DAV:"><prop><` + name + ` xmlns="urn:t"/></prop></propfind>`
}

var depth0, depth1 = []string{"Depth: 0"}, []string{"Depth: 1"}

func TestPropfind(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "d/a.txt content", "d/sub/below 1", "d/sp é&;<# 1")
	converse(t, s, []step{
		{method: "GET", path: "/d/a.txt", status: 200},
		{method: "PROPFIND", path: "/d/a.txt", header: depth0, status: 207, answer: "<D:getetag>{etag}</D:getetag>", answerHeader: `Content-Type: application/xml; charset="utf-8"`},
		{method: "PROPFIND", path: "/d/a.txt", status: 207, answer: "<D:getcontentlength>7</D:getcontentlength>"},
		{method: "PROPFIND", path: "/d/a.txt", status: 207, answer: "<D:getcontenttype>text/plain; charset=utf-8</D:getcontenttype>"},
		{method: "PROPFIND", path: "/d/a.txt", status: 207, answer: "<D:resourcetype/>"},
		{method: "PROPFIND", path: "/d/a.txt", status: 207, answer: " GMT</D:getlastmodified>"},
		{method: "PROPFIND", path: "/d", header: depth0, status: 207, answer: "<D:href>/d/</D:href>"},
		{method: "PROPFIND", path: "/d/", header: depth0, status: 207, answer: "<D:resourcetype><D:collection/></D:resourcetype>"},
		{method: "PROPFIND", path: "/d", header: depth1, status: 207, answer: "<D:href>/d/sub/</D:href>"},
		{method: "PROPFIND", path: "/d", header: depth1, status: 207, answer: "<D:href>/d/sp%20%C3%A9&amp;;%3C%23</D:href>"},
		{method: "PROPFIND", path: "/", header: depth1, status: 207, answer: "<D:href>/d/</D:href>"},
		{method: "PROPFIND", path: "/", status: 403, answer: "propfind-finite-depth"},
		{method: "PROPFIND", path: "/d", header: []string{"Depth: infinity"}, status: 403},
		{method: "PROPFIND", path: "/d", header: []string{"Depth: 2"}, status: 400},
		{method: "PROPFIND", path: "/none", header: depth0, status: 404},
		{method: "PROPFIND", path: "/.fencegate", header: depth0, status: 404},
		{method: "PROPFIND", path: "/d", header: depth0, body: "<propfind", status: 400},
		{method: "PROPFIND", path: "/d", header: depth0, body: strings.Repeat(" ", 2<<20), status: 413},
		{method: "PROPFIND", path: "/d", header: depth0, body: ask("x"), status: 207,
			answer: `<D:propstat><D:prop><x xmlns="urn:t"/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>`},
		{method: "PROPFIND", path: "/d", header: depth0, body: `<propfind xmlns="DAV:"><propname/></propfind>`, status: 207, answer: "<D:lockdiscovery/>"},
		{method: "LOCK", path: "/d", body: lockBody("exclusive"), status: 200},
		{method: "PROPFIND", path: "/d/a.txt", header: depth0, status: 207, answer: `<owner xmlns="DAV:"><href>mailto:me@test</href></owner>`},
	})
	// Neither the staging area nor what is below.
	got := text(t, s.do(t, request("PROPFIND", "/", "", depth1...)))
	if n := strings.Count(got, "<D:response>"); n != 2 || strings.Contains(got, area) {
		t.Errorf("%d responses:\n%s", n, got)
	}
}

// Dead properties stay with their object, whatever happens to it.
func TestPropertiesStay(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "a 1", "d/b 2", "e/x 3")
	value := `<b xmlns="urn:v" k="1 &amp; 2">x</b> &lt;`
	has := func(path string) step {
		return step{method: "PROPFIND", path: path, header: depth0, body: ask("p"), status: 207, answer: `<p xmlns="urn:t">` + value + `</p>`}
	}
	hasNot := func(path string) step {
		return step{method: "PROPFIND", path: path, header: depth0, body: ask("p"), status: 207, answer: "404 Not Found"}
	}
	put := set("p", `<v:b xmlns:v="urn:v" k="1 &amp; 2">x</v:b> <![CDATA[<]]>`)
	converse(t, s, []step{
		{method: "PROPPATCH", path: "/a", body: put, status: 207, answer: `<p xmlns="urn:t"/></D:prop><D:status>HTTP/1.1 200 OK`},
		{method: "PROPPATCH", path: "/d", body: put, status: 207},
		{method: "PROPPATCH", path: "/d/b", body: put, status: 207},
		{method: "PROPPATCH", path: "/", body: set("root", "1"), status: 207},
		has("/a"), has("/d"), has("/d/b"), hasNot("/e"),
		{method: "PUT", path: "/a", body: "new", status: 204}, has("/a"),
		{method: "COPY", path: "/a", header: to("/a2"), status: 201}, has("/a2"), has("/a"),
		{method: "COPY", path: "/d", header: to("/d2"), status: 201}, has("/d2"), has("/d2/b"),
		{method: "COPY", path: "/d", header: to("/d3", "Depth: 0"), status: 201}, has("/d3"),
		{method: "MOVE", path: "/d", header: to("/e"), status: 204}, has("/e"), has("/e/b"),
		{method: "MOVE", path: "/a", header: to("/m"), status: 201}, has("/m"),
		{method: "DELETE", path: "/m", status: 204},
		{method: "PUT", path: "/m", body: "another", status: 201}, hasNot("/m"),
		{method: "PROPFIND", path: "/e", header: depth1, status: 207, answer: `<p xmlns="urn:t">` + value},
		{method: "PROPFIND", path: "/e", header: depth0, body: `<propfind xmlns="DAV:"><propname/></propfind>`, status: 207, answer: `<p xmlns="urn:t"/>`},
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openWith(t, s.root, Options{WebDAV: true})
	converse(t, s, []step{
		has("/e"), has("/e/b"), has("/a2"),
		{method: "PROPFIND", path: "/", header: depth0, status: 207, answer: `<root xmlns="urn:t">1</root>`},
		{method: "PROPPATCH", path: "/e", body: `<propertyupdate xmlns="DAV:"><remove><prop><p xmlns="urn:t"/><q xmlns="urn:t"/></prop></remove></propertyupdate>`, status: 207, answer: "200 OK"},
		hasNot("/e"), has("/e/b"),
	})
}

// All changes of a PROPPATCH are made, or none.
func TestProppatchIsAllOrNone(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "a 1")
	long := strings.Repeat("x", maxProps)
	converse(t, s, []step{
		{method: "PROPPATCH", path: "/a", body: set("p", "old"), status: 207, answer: "200 OK"},
		{method: "PROPPATCH", path: "/a", body: `<propertyupdate xmlns="DAV:"><set><prop><p xmlns="urn:t">new</p><getetag>x</getetag></prop></set></propertyupdate>`,
			status: 207, answer: `<getetag xmlns="DAV:"/></D:prop><D:status>HTTP/1.1 403 Forbidden</D:status><D:error><D:cannot-modify-protected-property/></D:error>`},
		{method: "PROPFIND", path: "/a", header: depth0, body: ask("p"), status: 207, answer: ">old<"},
		{method: "PROPPATCH", path: "/a", body: set("p", long), status: 207, answer: "507 Insufficient Storage"},
		{method: "PROPFIND", path: "/a", header: depth0, body: ask("p"), status: 207, answer: ">old<"},
		{method: "PROPPATCH", path: "/a", header: []string{`If-Match: "other"`}, body: set("p", "new"), status: 412},
		{method: "PROPPATCH", path: "/none", body: set("p", "new"), status: 404},
		{method: "PROPPATCH", path: "/a", body: "", status: 400},
		{method: "PROPPATCH", path: "/.fencegate", body: set("p", "new"), status: 403},
		{method: "PROPFIND", path: "/a", header: depth0, body: ask("p"), status: 207, answer: ">old<"},
		// In order, the last one counts.
		{method: "PROPPATCH", path: "/a", body: `<propertyupdate xmlns="DAV:"><set><prop><p xmlns="urn:t">1</p></prop></set><remove><prop><p xmlns="urn:t"/></prop></remove><set><prop><p xmlns="urn:t">3</p></prop></set></propertyupdate>`, status: 207},
		{method: "PROPFIND", path: "/a", header: depth0, body: ask("p"), status: 207, answer: ">3<"},
	})
}

// A listing for browsers: escaped, sorted, page by page.
func TestListing(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "d/b 123", "d/a/x 1", "d/<script>alert(1)<%2Fscript> 1", "d/x:y?#% 1")
	bad := filepath.Join(s.root, "d", "bad\xff")
	if err := os.WriteFile(bad, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	converse(t, s, []step{
		{method: "GET", path: "/d/", status: 200, answer: `<a href="./a/">a/</a>`, answerHeader: "Content-Type: text/html; charset=utf-8"},
		{method: "GET", path: "/d", status: 200, answer: `<a href="./d/a/">a/</a>`},
		{method: "GET", path: "/d/", status: 200, answer: `<a href="./b">b</a></td><td>3</td>`, answerHeader: "X-Content-Type-Options: nosniff"},
		{method: "GET", path: "/d/", status: 200, answer: `<a href="./x:y%3F%23%25">x:y?#%</a>`},
		{method: "GET", path: "/d/", status: 200, answer: `&lt;script&gt;alert(1)`},
		{method: "GET", path: "/d/", status: 200, answer: `<a href="../">`},
		{method: "GET", path: "/d", header: []string{"If-None-Match: *"}, status: 200},
		{method: "HEAD", path: "/d/", status: 200},
		{method: "GET", path: "/none/", status: 404},
	})
	got := text(t, s.do(t, request("GET", "/d/", "")))
	if strings.Contains(got, "<script") || strings.Contains(got, "bad") || strings.Index(got, "./a/") > strings.Index(got, "./b") {
		t.Errorf("unsafe, or not sorted:\n%s", got)
	}
	root := text(t, s.do(t, request("GET", "/", "")))
	if strings.Contains(root, area) || strings.Contains(root, "../") || !strings.Contains(root, `href="./d/"`) {
		t.Errorf("the root:\n%s", root)
	}
}

func TestListingByPages(t *testing.T) {
	s := openDAV(t)
	const files = 4*listPage + 500
	if err := os.Mkdir(filepath.Join(s.root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(s.root, "d", fmt.Sprintf("f%06d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	seen, after, pages := 0, "", 0
	for {
		r := request("GET", "/d/", "")
		r.URL.RawQuery = "after=" + after
		page := text(t, s.do(t, r))
		for i := range strings.Count(page, `href="./f`) {
			if !strings.Contains(page, fmt.Sprintf(`href="./f%06d"`, seen+i)) {
				t.Fatalf("page %d lacks file %d", pages, seen+i)
			}
		}
		seen += strings.Count(page, `href="./f`)
		pages++
		_, next, more := strings.Cut(page, `<a href="?after=`)
		if !more {
			break
		}
		after, _, _ = strings.Cut(next, `"`)
	}
	if seen != files || pages != 5 {
		t.Errorf("%d files on %d pages", seen, pages)
	}
}
