package integration

import (
	"net/http"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// Who does not know the secret gets nothing, and nothing reaches the fence.
func TestHelperIsForWhoKnowsItsSecret(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, fine)
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL)
	other := strings.Repeat("A", len(h.secret))
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/", "404"},
		{"PUT", report, "404"},
		{"PUT", "/" + other + report, "404"},
		{"PUT", "/" + h.secret[:len(h.secret)-1] + report, "404"},
		{"PUT", "/SECRETx" + report, "404"},
		{"PUT", "/" + strings.ToLower(h.secret) + report, "404"},
		{"GET", "/" + other + "/.well-known/fencegate/held", "404"},
		{"GET", "//SECRET" + report, "404"},
		{"GET", "/x/../SECRET" + report, "404"},
		{"OPTIONS", "*", "404"},
		{"GET", f.URL + report, "404"}, // it is no forward proxy
		{"PUT", "http://" + h.addr + "/SECRET" + report, "404"},
		{"CONNECT", strings.TrimPrefix(f.URL, "http://"), "405"},
	} {
		if a := h.asks(c.method, c.target); a.String() != c.want || a.header.Get("X-Fencing-Reason") != "" {
			t.Errorf("%s %s is answered %v, want %s", c.method, c.target, a, c.want)
		} else if strings.Contains(a.body, h.secret) || strings.Contains(a.body, h.owner) {
			t.Errorf("%s %s is told a secret: %s", c.method, c.target, a.body)
		}
	}
	if seen := f.got(); len(seen) > 0 {
		t.Errorf("%s %s reached the fence", seen[0].Method, seen[0].RequestURI)
	}
	h.done()
}

// Only what is locked gets the token. Reads of other things pass, writes do
// not; claims, and requests with a token of their own, are the program's.
func TestHelperAddsTheTokenToWhatIsLocked(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, fine)
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL, "-r", report, "-r", "/summary")
	const claims = "/.well-known/fencegate/claims"
	for _, c := range []struct {
		method, path string
		header       []string
		want         string
		token        string // what the fence gets
	}{
		{"PUT", report, nil, "204", h.token},
		{"GET", report, nil, "204", h.token},
		{"HEAD", report, nil, "204", h.token},
		{"DELETE", "/summary", nil, "204", h.token},
		{"PUT", "/reports/%713.csv?a=1", nil, "204", h.token},
		{"PUT", report, []string{"X-Fencing-Owner: somebody"}, "204", h.token},
		{"PUT", "/other", nil, "403", ""},
		{"PUT", report + "/below", nil, "403", ""},
		{"DELETE", "/reports", nil, "403", ""},
		{"MOVE", report, []string{"Destination: /SECRET/other"}, "403", ""},
		{"FROB", "/other", nil, "403", ""},
		{"PUT", "/reports//q3.csv", nil, "403", ""},
		{"GET", "/other", nil, "204", "none"},
		{"OPTIONS", "/other", nil, "204", "none"},
		{"POST", claims, []string{"X-Test: 1"}, "204", "none"},
		{"GET", "/.well-known/fencegate/marks?resource=/x", nil, "204", "none"},
		{"PUT", "/other", []string{"X-Fencing-Token: 7"}, "204", "7"},
		{"PUT", report, []string{"X-Fencing-Token: 7"}, "204", "7"},
		{"PUT", report, []string{"X-Fencing-Token:"}, "204", ""}, // a real fence refuses it
		{"PUT", report, []string{"Connection: x-fencing-token", "X-Fencing-Token: 7"}, "400", ""},
		{"PUT", report, []string{"Connection: close, X-Fencing-Owner"}, "400", ""},
	} {
		name := c.method + " " + c.path
		if a := h.asks(c.method, "/SECRET"+c.path, c.header...); a.String() != c.want {
			t.Errorf("%s %q is answered %v, want %s\n%s", name, c.header, a, c.want, a.body)
		}
		seen := f.got()
		if c.want[0] == '4' {
			if len(seen) > 0 {
				t.Errorf("%s reached the fence", name)
			}
			continue
		}
		if len(seen) != 1 {
			t.Fatalf("%s: %d requests reached the fence", name, len(seen))
		}
		r := seen[0]
		switch token := r.Header["X-Fencing-Token"]; {
		case c.token == "none" && token == nil:
		case len(token) != 1 || token[0] != c.token:
			t.Errorf("%s has the token %q, want %q", name, token, c.token)
		case c.token == h.token && (r.Header.Get("X-Fencing-Owner") != h.owner || len(r.Header["X-Fencing-Owner"]) != 1 || r.Header.Get("X-Fencing-Client") == ""):
			t.Errorf("%s: owner and client are missing: %v", name, r.Header)
		}
		if strings.Contains(r.RequestURI, h.secret) {
			t.Errorf("the fence is told the secret: %s", r.RequestURI)
		}
	}
	h.done()
}

// A real fence refuses an empty token that comes through the helper.
func TestHelperDoesNotMendAnEmptyToken(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := help(t, s.redis.Addr(), s.fence.URL())
	if a := h.asks("PUT", "/SECRET"+report, "X-Fencing-Token:", "Content-Length: 0"); a.String() != "400 token_malformed" {
		t.Errorf("it is answered %v", a)
	}
	h.done()
}

// As a forward proxy it is asked for the fence's own URL; who else is asked for
// gets neither token nor secret.
func TestHelperAsForwardProxy(t *testing.T) {
	t.Parallel()
	f, elsewhere := newFakeFence(t, fine), newFakeFence(t, fine)
	h := help(t, harness.Redis(t, savesNow...).Addr(), f.URL, "--http-proxy")
	if h.proxy != "http://fencegate:"+h.secret+"@"+h.addr {
		t.Fatalf("http_proxy is %q", h.proxy)
	}
	auth := "Proxy-Authorization: " + basic("fencegate", h.secret)
	for _, c := range []struct{ method, target, auth, want, token string }{
		{"PUT", f.URL + report, auth, "204", h.token},
		{"PUT", strings.Replace(f.URL, "http://", "HTTP://", 1) + report + "?x=%41;b", auth, "204", h.token},
		{"PUT", "http://" + h.addr + "/SECRET" + report, auth, "204", h.token},
		{"PUT", "/SECRET" + report, "X-None: 1", "204", h.token},
		{"GET", f.URL, auth, "204", "none"},
		{"PUT", f.URL + "/other", auth, "403", ""},
		{"PUT", f.URL + report, "X-None: 1", "407", ""},
		{"PUT", f.URL + report, "Authorization: " + basic("fencegate", h.secret), "407", ""},
		{"PUT", f.URL + report, "Proxy-Authorization: " + basic("fencegate", "x"), "407", ""},
		{"PUT", f.URL + report, "Proxy-Authorization: " + basic("other", h.secret), "407", ""},
		{"GET", elsewhere.URL + "/", "X-None: 1", "407", ""},
		{"GET", "ftp://127.0.0.1/", auth, "400", ""},
		{"CONNECT", strings.TrimPrefix(f.URL, "http://"), auth, "405", ""},
	} {
		a := h.asks(c.method, c.target, c.auth)
		if a.String() != c.want {
			t.Errorf("%s %s (%s) is answered %v, want %s", c.method, c.target, c.auth, a, c.want)
		}
		if c.token == "" {
			if seen := f.got(); len(seen) > 0 {
				t.Errorf("%s %s reached the fence", c.method, c.target)
			}
			continue
		}
		r := f.one(t)
		if got := strings.Join(r.Header["X-Fencing-Token"], ","); got != strings.TrimPrefix(c.token, "none") {
			t.Errorf("%s %s has the token %q", c.method, c.target, got)
		}
		if r.Header.Get("Proxy-Authorization") != "" || strings.Contains(r.RequestURI, h.secret) || "http://"+r.Host != f.URL {
			t.Errorf("the fence gets %s at %s with %v", r.RequestURI, r.Host, r.Header)
		}
	}
	if a := h.asks("PUT", elsewhere.URL+report, auth); a.String() != "204" {
		t.Errorf("another server is not reached: %v", a)
	}
	for name := range elsewhere.one(t).Header {
		if strings.HasPrefix(name, "X-Fencing-") || name == "Proxy-Authorization" {
			t.Errorf("another server is told %s", name)
		}
	}
	h.done()
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}
