package integration

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// terminator takes TLS away in front of fencegate, and with it the name by which
// clients know it.
type terminator struct {
	*httptest.Server
	to *harness.Server
}

// newTerminator starts one in front of what start starts, which is told its URL.
func newTerminator(t *testing.T, keepsHost bool, start func(url string) *harness.Server) *terminator {
	t.Helper()
	e := &terminator{}
	e.Server = httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		host := strings.TrimPrefix(e.to.URL(), "http://")
		r.Out.URL = &url.URL{Scheme: "http", Host: host, Opaque: r.In.RequestURI}
		if r.Out.Host = host; keepsHost {
			r.Out.Host = r.In.Host
		}
	}})
	e.to = start("https://" + e.Listener.Addr().String())
	e.StartTLS()
	t.Cleanup(e.Close)
	return e
}

// asked makes a request as a client of the terminator.
func (e *terminator) asked(t *testing.T, want, method, url, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Fencing-Token", "7")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := e.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	a := answer{res.StatusCode, res.Header, string(text)}
	if err != nil || a.String() != want {
		t.Fatalf("%s %s %q is answered %v, %v, want %s\n%s", method, url, header, a, err, want, a.body)
	}
	return a
}

// hrefsOf returns the hrefs of a multistatus body, read by another parser.
func hrefsOf(t *testing.T, body string) (hrefs []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(body))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return hrefs
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name == (xml.Name{Space: "DAV:", Local: "href"}) {
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			hrefs = append(hrefs, text)
		}
	}
}

// Clients know https://name/dav/, the store has it below a prefix of its own at
// another name. Shown: whatever the store calls an object by, in listings, locks
// and Location, reaches the client as a name that leads back to it.
func TestNamesOfAnotherPrefix(t *testing.T) {
	t.Parallel()
	store := harness.Apache(t)
	names := []string{"plain", "a b", "é", "a&b<c>", "50%", "a#b", "a?b", "a+b'\"", "dav", "f s"}
	folder := filepath.Join(store.Root(), "f s")
	for _, dir := range []string{folder, filepath.Join(folder, "d")} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	e := newTerminator(t, false, func(url string) *harness.Server {
		return harness.Fencegate(t, "--upstream", store.URL()+"/f%20s", "--protocol", "webdav", "--public-url", url+"/dav", "--settle", "100ms")
	})
	base := e.URL + "/dav"
	for _, name := range names {
		at := base + "/d/" + url.PathEscape(name)
		a := e.asked(t, "201", "PUT", at, name)
		if got := a.header.Get("Location"); !strings.HasPrefix(got, base+"/d/") {
			t.Errorf("PUT %s tells the Location %q", at, got)
		} else if a := e.asked(t, "200", "GET", got, ""); a.body != name {
			t.Errorf("at the Location %s is %q, want %q", got, a.body, name)
		}
	}
	isListed := func(want ...string) {
		t.Helper()
		a := e.asked(t, "207", "PROPFIND", base+"/d/", "", "Depth", "1", "Accept-Encoding", "gzip")
		var held []string
		for _, href := range hrefsOf(t, a.body) {
			if !strings.HasPrefix(href, "/dav/d/") {
				t.Errorf("the href %s is not the client's", href)
			} else if href != "/dav/d/" {
				held = append(held, e.asked(t, "200", "GET", e.URL+href, "").body)
			}
		}
		slices.Sort(held)
		slices.Sort(want)
		if !slices.Equal(held, want) {
			t.Errorf("at the hrefs is %q, want %q", held, want)
		}
	}
	isListed(names...)

	// A lock tells where it is, and is shown by that name.
	lock := e.asked(t, "200", "LOCK", base+"/d/plain", `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>`+
		`<D:owner><D:href>http://elsewhere.test/f%20s/me</D:href></D:owner></D:lockinfo>`, "Depth", "0", "Timeout", "Infinite")
	if got, want := hrefsOf(t, lock.body), []string{"http://elsewhere.test/f%20s/me", "/dav/d/plain"}; !slices.Contains(got, want[0]) || strings.Contains(strings.Join(got[1:], " "), "f%20s/d") {
		t.Errorf("the lock has %q, want %q", got, want)
	}
	if !strings.Contains(lock.body, "Second-3600") {
		t.Errorf("the lock lasts longer than an hour:\n%s", lock.body)
	}
	key := lock.header.Get("Lock-Token")
	e.asked(t, "423", "PUT", base+"/d/plain", "locked out")
	e.asked(t, "423", "MOVE", base+"/d/plain", "", "Destination", base+"/d/moved")
	e.asked(t, "412", "PUT", base+"/d/plain", "not so", "If", "<"+base+"/d/plain> ("+key+` ["another"])`)
	e.asked(t, "204", "PUT", base+"/d/plain", "plain", "If", "<"+base+"/d/plain> ("+key+")")
	e.asked(t, "502 destination_foreign", "PUT", base+"/d/plain", "", "If", "<"+e.to.URL()+"/dav/d/plain> ("+key+")")
	e.asked(t, "502 destination_foreign", "MOVE", base+"/d/plain", "", "If", "("+key+")", "Destination", e.URL+"/d/moved")
	e.asked(t, "502 destination_foreign", "MOVE", base+"/d/plain", "", "If", "("+key+")", "Destination", e.URL+"/davd/moved")
	e.asked(t, "502 destination_foreign", "MOVE", base+"/d/plain", "", "If", "("+key+")", "Destination", e.to.URL()+"/dav/d/moved")
	e.asked(t, "204", "UNLOCK", base+"/d/plain", "", "Lock-Token", key)

	a := e.asked(t, "201", "MOVE", base+"/d/plain", "", "Destination", base+"/d/moved%20%C3%A9")
	if got := a.header.Get("Location"); got != base+"/d/moved%20%C3%A9" {
		t.Errorf("MOVE tells the Location %q", got)
	}
	isListed(names...)
	e.asked(t, "404 not_found", "PUT", e.URL+"/f%20s/d/x", "outside")
	e.asked(t, "404 not_found", "PROPFIND", e.URL+"/", "", "Depth", "0")
	e.asked(t, "405 method_refused", "DELETE", base, "")
	e.asked(t, "405 method_refused", "DELETE", base+"/", "")
	if got := markOf(t, e.to, "/dav/d/a%20b"); got.Token != "7" {
		t.Errorf("the mark is %+v", got)
	}
}

// Without public_url the name that a client has for fencegate is the one in its
// Host, also where TLS ends before it.
func TestNameInHost(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		e := newTerminator(t, true, func(string) *harness.Server { return davFence(t, store) })
		a := e.asked(t, "201", "PUT", e.URL+"/a", "v")
		if got := a.header.Get("Location"); got != "" && got != "/a" { // from Apache, by its own name
			t.Errorf("PUT tells the Location %q", got)
		}
		e.asked(t, "201", "PUT", e.URL+"/b", "w")
		e.asked(t, "204", "COPY", e.URL+"/a", "", "Destination", e.URL+"/b")
		holds(t, e.to, "/b", "v")
		e.asked(t, "502 destination_foreign", "COPY", e.URL+"/a", "", "Destination", e.to.URL()+"/c")
		e.asked(t, "502 destination_foreign", "COPY", e.URL+"/a", "", "Destination", store.URL()+"/c")
	})
}
