package proxy

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"fencegate/fence"
	"fencegate/proxy/protocol"
)

// A target that is let through is sent on byte for byte, and names for another
// reader, net/url, the object that was judged and the parameters that came.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"/", "/a/b?x=1&y", "/a%20b/", "/caf%C3%A9?q=%3B", "/cafe\u0301", "/%25%32%35", "/a?", "/a??b", "/a?#", "/a;b", "/a?x;y", "/a%2Fb", "//a", "/..",
		"*", "http://h", "http://h?x", "http://h/a?b", "http://h#f", "http:///a", "x:a", "https://u:p@h:1/a", "http://[::1]/a", "://", "a", "?", "/a?b=%", "/+?+=+", "/a:b@c", "x:/://a", "HTTP://h/a",
	} {
		f.Add(s)
	}
	routes, err := compile([]Route{{Name: "tree", Path: "/t/*", FenceTree: true}}, Route{})
	if err != nil {
		f.Fatal(err)
	}
	p := &Proxy{protocol: protocol.Plain{}, routes: routes, opts: Options{MaxToken: fence.DefaultMaxToken}}
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil || r.RequestURI != target { // another request line than the one meant
			return
		}
		q, ref := p.readHead(r)
		if ref != nil {
			if answers[ref.Reason].status == 0 || ref.Detail == "" {
				t.Fatalf("%q is refused with %+v", target, ref)
			}
			return
		}
		if q.own {
			return // not sent on
		}
		out := p.outgoing(&exchange{r: r}, q)
		// Of "http://host" the path is not there, but meant.
		if sent := out.RequestURI; !strings.HasPrefix(sent, "/") || !strings.HasSuffix(target, sent[1:]) {
			t.Fatalf("%q is sent on as %q", target, sent)
		}
		path, query, _ := strings.Cut(out.RequestURI, "?")
		name, err := url.PathUnescape(path)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		if name = norm.NFC.String(name); name != "/" {
			name = strings.TrimSuffix(name, "/")
		}
		if name != q.resource.Key() || strings.ContainsAny(name, "\\\x00\r\n") || strings.Contains(name, "//") {
			t.Fatalf("%q is judged as %q and names %q", target, q.resource.Key(), name)
		}
		if r.URL.Path != "" && norm.NFC.String(strings.TrimSuffix(r.URL.Path, "/")) != strings.TrimSuffix(q.resource.Key(), "/") {
			t.Fatalf("%q is judged as %q and names %q for net/url", target, q.resource.Key(), r.URL.Path)
		}
		if _, err := url.ParseQuery(query); err != nil || r.URL.RawQuery != query || strings.ContainsAny(query, "#;") {
			t.Fatalf("%q has the query %q, for net/url %q, %v", target, query, r.URL.RawQuery, err)
		}
	})
}
