package integration

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// A directory is served below a public URL, behind something that takes TLS away.
// Shown: what is told leads back to the objects, what is named in headers is
// found and fenced by the public path, and no other name passes.
func TestPublicNamesOfADirectory(t *testing.T) {
	t.Parallel()
	e := newTerminator(t, false, func(url string) *harness.Server {
		return harness.Fencegate(t, "--protocol", "webdav", "--public-url", url+"/da%20v")
	})
	base := e.URL + "/da%20v"
	e.asked(t, "201", "MKCOL", base+"/d/", "")
	names := []string{"plain", "a b", "a+b", "a%b", "a#b", "a?b", "\u00e9", "e\u0301", "a&b", "a'b", "<b>"}
	for _, name := range names {
		e.asked(t, "201", "PUT", base+"/d/"+url.PathEscape(name), name)
		e.asked(t, "201", "COPY", base+"/d/"+url.PathEscape(name), "", "Destination", base+"/d/copy%20"+url.PathEscape(name))
		if a := e.asked(t, "204", "MOVE", base+"/d/copy%20"+url.PathEscape(name), "", "Destination", "/da%20v/d/"+url.PathEscape(name)); a.header.Get("Location") != "" && !strings.HasPrefix(a.header.Get("Location"), base+"/d/") {
			t.Errorf("MOVE tells the Location %q", a.header.Get("Location"))
		}
	}
	isThere := func(links []string) {
		t.Helper()
		var held []string
		for _, to := range links {
			if to != base+"/d/" && to != base+"/" {
				held = append(held, e.asked(t, "200", "GET", to, "").body)
			}
		}
		slices.Sort(held)
		slices.Sort(names)
		if !slices.Equal(held, names) {
			t.Errorf("the links lead to %q, want %q: %q", held, names, links)
		}
	}
	var listed, linked []string
	for _, href := range hrefsOf(t, e.asked(t, "207", "PROPFIND", base+"/d/", "", "Depth", "1", "Accept-Encoding", "gzip").body) {
		listed = append(listed, e.URL+href)
	}
	isThere(listed)
	page, err := url.Parse(base + "/d/")
	if err != nil {
		t.Fatal(err)
	}
	for _, href := range linksOf(e.asked(t, "200", "GET", base+"/d/", "", "Accept", "text/html").body) {
		to, err := page.Parse(href)
		if err != nil {
			t.Fatal(err)
		}
		linked = append(linked, to.String())
	}
	isThere(linked)

	const body = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
	lock := e.asked(t, "200", "LOCK", base+"/d/plain", body, "Depth", "0")
	if hrefs := hrefsOf(t, lock.body); !slices.Contains(hrefs, "/da%20v/d/plain") {
		t.Errorf("the lock is on %q", hrefs)
	}
	key := lock.header.Get("Lock-Token")
	if again := e.asked(t, "423", "LOCK", base+"/d/", body); !strings.Contains(again.body, "/da%20v/d/plain") {
		t.Errorf("what keeps a second lock out is not named:\n%s", again.body)
	}
	if no := e.asked(t, "423", "DELETE", base+"/d", ""); !strings.Contains(no.body, "/da%20v/d/plain") {
		t.Errorf("what keeps a DELETE out is not named:\n%s", no.body)
	}
	e.asked(t, "412", "PUT", base+"/d/plain", "not so", "If", "<"+base+"/d/plain> ("+key+` ["another"])`)
	e.asked(t, "204", "PUT", base+"/d/plain", "plain", "If", "<"+base+"/d/plain> ("+key+")")
	e.asked(t, "204", "PUT", base+"/d/plain", "plain", "If", "</da%20v/d/plain> ("+key+")")
	for _, elsewhere := range []string{e.to.URL() + "/da%20v/d/x", e.URL + "/d/x", e.URL + "/da%20vd/x", "http://elsewhere.test/da%20v/d/x", strings.Replace(base, "https:", "http:", 1) + "/d/x", "/d/x", base + "/../d/x", base + "/%2e%2e/d/x"} {
		for _, header := range []string{"Destination", "If"} {
			value := map[string]string{"Destination": elsewhere, "If": "<" + elsewhere + "> (" + key + ")"}[header]
			more := map[string][]string{"Destination": {header, value}, "If": {header, value, "Destination", base + "/d/x"}}[header]
			want := "502 destination_foreign"
			if strings.Contains(elsewhere, "/../") || strings.Contains(elsewhere, "%2e") {
				want = "400 path_ambiguous"
			}
			e.asked(t, want, "COPY", base+"/d/plain", "", more...)
		}
	}
	e.asked(t, "204", "UNLOCK", base+"/d/plain", "", "Lock-Token", key)
	e.asked(t, "404 not_found", "PUT", e.URL+"/d/x", "outside")
	e.asked(t, "404 not_found", "PROPFIND", e.URL+"/", "", "Depth", "0")
	e.asked(t, "405 method_refused", "DELETE", base+"/", "")
	if m := markOf(t, e.to, "/da%20v/d/a%20b"); m.Token != "7" {
		t.Errorf("the mark is %+v", m)
	}
}
