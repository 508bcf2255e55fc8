package integration

import (
	"net/http"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Names that nginx would take for another object than the one that is judged,
// or that it might: none of them is sent to it.
func TestHostilePathsDoNotReachNginx(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	s := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "200ms")
	says(t, s, "201", "PUT", "/a", stampOf(9, "holder"), "safe")
	w := dial(t, s)
	for _, target := range []string{
		"/.", "/..", "/./a", "/x/../a", "/x/..", "/a/.", "/%2e/a", "/x/%2E%2e/a", "/x/%2e./a", "/x/.%2E/a",
		"//", "//a", "/x//a", "/a//", "/x/%2Fa", "/x%2fa", `/x\a`, "/x%5Ca", "/x%5c..%5ca",
		"/a%00", "/a%0d%0aX", "/a%7f", "/a%1F", "/%C2%80", "/a%C2%85", "/a;x", "/a;", "/a%3Bx", "/a%3b", "/%CD%BE",
		"/a#b", "/#", "/%ff", "/a%c3", "/%C0%AE%C0%AE/a", "/%C0%AF", "/%ED%A0%80", "/\xff",
		"/a?x;y", "/a?x#y", "/a?%zz", "/a?%", "/" + strings.Repeat("x", 4096),
	} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
			for _, form := range []string{"", "http://x"} {
				w.send(method + " " + form + target + " HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nContent-Length: 0\n\n")
				if a, err := w.next(method); err != nil || a.String() != "400 path_ambiguous" && a.String() != "414 path_too_long" {
					t.Errorf("%s %s is answered %v, %v", method, form+target, a, err)
				}
			}
		}
	}
	for _, target := range []string{"*", "x:1", "/%", "/a%4", "/%zz", "/a b", "/a\x00", "/a\x7f", "ftp:a"} {
		for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "CONNECT"} {
			w := dial(t, s)
			w.send(method + " " + target + " HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nContent-Length: 0\nConnection: close\n\n")
			if a, err := w.next(method); err != nil || a.status < 400 || a.status/100 == 5 && a.status != http.StatusNotImplemented {
				t.Errorf("%s %s is answered %v, %v", method, target, a, err)
			}
		}
	}
	holds(t, s, "/a", "safe")
	var sent []string
	harness.Eventually(t, "nginx to log the last request", func() (any, bool) {
		sent = store.Requests()
		return sent, len(sent) > 0 && sent[len(sent)-1] == "GET /a HTTP/1.1"
	})
	if len(sent) != 2 {
		t.Errorf("nginx was sent %q, want one write and one read", sent)
	}
}
