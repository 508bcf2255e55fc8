package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/proxy/protocol"
	"fencegate/proxy/protocol/dav"
)

// webdav makes the world speak WebDAV. Clients know as http://fence.test/dav/ what
// the store knows as http://store.test:81/files/.
func webdav(p *plan) {
	p.opts.Names = dav.Map{
		Public: dav.Space{Origin: "http://fence.test", Prefix: "/dav"},
		Store:  dav.Space{Origin: "http://store.test:81", Prefix: "/files"},
	}
	p.proto = protocol.WebDAV{Public: p.opts.Names.Public}
}

func TestMoveIsJudgedAtBothEnds(t *testing.T) {
	w := open(t, webdav)
	for _, setup := range []string{"/dav/src/f 20", "/dav/dst/f 30"} {
		path, token, _ := strings.Cut(setup, " ")
		w.says("PUT "+path+"\nX-Fencing-Token: "+token+"\n\nv", stored)
	}
	w.store.seen = nil
	move := func(token, more string) string {
		return "MOVE /dav/src\nX-Fencing-Token: " + token + "\nDestination: http://fence.test/dav/dst" + more
	}
	// Below the source, then below the destination, there is a newer mark.
	w.says(move("10", ""), want{status: 409, reason: fence.TreeFenced, resource: "/dav/src", token: "10", highest: "20"})
	w.says(move("25", ""), want{status: 409, reason: fence.TreeFenced, resource: "/dav/dst", token: "25", highest: "30"})
	w.says(move("10", "\nX-Fencing-Token-Destination: 40"), want{status: 409, reason: fence.TreeFenced, resource: "/dav/src", token: "10", highest: "20"})
	w.saw()
	w.says(move("25", "\nX-Fencing-Token-Destination: 30"), stored)
	w.saw("MOVE /src")
	// Both ends are fenced from now on, each by its own token, whatever is below.
	w.says("PUT /dav/src/new\nX-Fencing-Token: 24\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/dav/src/new", token: "24", highest: "25"})
	w.says("PUT /dav/dst/new\nX-Fencing-Token: 29\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/dav/dst/new", token: "29", highest: "30"})
	w.says("PUT /dav/src/new\nX-Fencing-Token: 25\n\nv", stored)
	w.saw("PUT /src/new")
	if n := len(w.log.refused("refused", string(fence.TreeFenced))); n != 2 {
		t.Errorf("%d records of tree_fenced, want one for each end: repeats are summed up", n)
	}
}

func TestCopyIsJudgedWhereItGoes(t *testing.T) {
	w := open(t, webdav)
	w.says("PUT /dav/src\nX-Fencing-Token: 30\n\nv", stored)
	w.says("PUT /dav/dst\nX-Fencing-Token: 20\n\nv", stored)
	w.store.seen = nil
	w.says("COPY /dav/src\nX-Fencing-Token: 19\nDestination: /dav/dst", want{status: 412, reason: fence.StaleToken, resource: "/dav/dst", token: "19", highest: "20"})
	w.says("COPY /dav/src\nDestination: /dav/dst", want{status: 428, reason: fence.TokenMissing, resource: "/dav/dst", highest: "20"})
	w.says("COPY /dav/src\nX-Fencing-Token: 20\nDestination: /dav/dst", stored)
	w.says("COPY /dav/src\nX-Fencing-Token: 1\nX-Fencing-Token-Destination: 21\nDestination: /dav/dst", stored)
	w.saw("COPY /src", "COPY /src")
	w.says("PUT /dav/src\nX-Fencing-Token: 30\n\nv", stored) // which was only read
}

func TestDestinations(t *testing.T) {
	w := open(t, webdav)
	for _, c := range []struct {
		destination string
		want        want
	}{
		{"http://elsewhere.test/dav/b", want{status: 502, reason: reasonForeign, resource: "/dav/a", token: "5"}},
		{"https://fence.test/dav/b", want{status: 502, reason: reasonForeign, resource: "/dav/a", token: "5"}},
		{"/b", want{status: 502, reason: reasonForeign, resource: "/dav/a", token: "5"}},
		{"/dav/../b", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"/dav/x%2Fb", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"/dav//b", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"/dav/b;c", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"/dav/b?c", want{status: 400, reason: reasonMalformed, resource: "/dav/a", token: "5"}},
		{"/dav/b\nDestination: /dav/c", want{status: 400, reason: reasonMalformed, resource: "/dav/a", token: "5"}},
		{"/dav/b\nConnection: Destination", want{status: 400, reason: reasonMalformed, resource: "/dav/a"}},
		{"/dav/", want{status: 405, reason: reasonMethod, resource: "/dav/a", token: "5", allow: "GET, HEAD, OPTIONS, PROPFIND"}},
		{"/dav/" + strings.Repeat("b", fence.MaxPathLen), want{status: 414, reason: reasonPathLong, resource: "/dav/a", token: "5"}},
	} {
		w.says("MOVE /dav/a\nX-Fencing-Token: 5\nDestination: "+c.destination, c.want)
	}
	w.says("PUT /dav/a\nX-Fencing-Token: 5\nX-Fencing-Token-Destination: 6\n\nv", want{status: 400, reason: reasonTokenMalformed, resource: "/dav/a", token: "5"})
	w.says("MOVE /dav/a\nX-Fencing-Token: 5\nX-Fencing-Token-Destination: x\nDestination: /dav/b", want{status: 400, reason: reasonTokenMalformed, resource: "/dav/a", token: "5"})
	w.says("PUT /other\nX-Fencing-Token: 5\n\nv", want{status: 404, reason: reasonNotFound, resource: "/other"})
	w.saw()
}

// What the store is told, and what it says, names each object as it is known
// there.
func TestNamesAreMapped(t *testing.T) {
	w := open(t, webdav)
	w.store.write = func(r *http.Request, _ string) (*http.Response, fence.Outcome, error) {
		return storeSays(207, "<D:href>/files/b%20c/x</D:href>", "Content-Type: application/xml; charset=utf-8",
			"Location: http://store.test:81/files/b%20c"), fence.Definite, nil
	}
	a := w.says("MOVE /dav/a\nX-Fencing-Token: 5\nDestination: /d%61v/b%20c\nIf: <http://fence.test/dav/a> (<urn:x:1>)\nAccept-Encoding: gzip",
		want{status: 207})
	if a.text != "<D:href>/dav/b%20c/x</D:href>" || a.Header.Get("Location") != "http://fence.test/dav/b%20c" {
		t.Errorf("the client is told %q at %q", a.text, a.Header.Get("Location"))
	}
	got := w.store.requests()[0]
	for name, want := range map[string]string{
		"Destination": "http://store.test:81/files/b%20c", "If": "<http://store.test:81/files/a> (<urn:x:1>)", "Accept-Encoding": "",
	} {
		if got.header.Get(name) != want {
			t.Errorf("the store is told %s: %s, want %q", name, got.header.Get(name), want)
		}
	}
	w.store.seen = nil

	w.store.read = func(rw http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
		rw.Header().Set("Content-Type", "text/xml")
		rw.Header().Set("Content-Length", "36")
		rw.WriteHeader(207)
		for _, piece := range []string{"<href>/fi", "les/a</href><hr", "ef>/x</href>"} {
			if _, err := io.WriteString(rw, piece); err != nil {
				return fence.Definite, err
			}
		}
		return fence.Definite, nil
	}
	if a := w.says("PROPFIND /dav/a\nDepth: 1", want{status: 207}); a.text != "<href>/dav/a</href><href>/x</href>" {
		t.Errorf("the client is told %q", a.text)
	}
	// An object's own content is nobody's to change.
	if a := w.says("GET /dav/a.xml", want{status: 207}); a.text != "<href>/files/a</href><href>/x</href>" {
		t.Errorf("the object reads %q", a.text)
	}
	w.saw("PROPFIND /a", "GET /a.xml")
}

// MKCOL destroys nothing: it lifts no mark, and is judged by floors only.
func TestMkcol(t *testing.T) {
	w := open(t, webdav, func(p *plan) {
		p.opts.Routes = []Route{{Name: "trees", Path: "/dav/t/*", FenceTree: true, Policy: fence.Require}}
	})
	w.says("MKCOL /dav/d", stored)
	w.says("MKCOL /dav/d\nX-Fencing-Token: 50", stored)
	w.says("PUT /dav/d/f\nX-Fencing-Token: 7\n\nv", stored)
	w.says("PUT /dav/d\nX-Fencing-Token: 7\n\nv", stored) // 50 has lifted nothing
	w.says("MKCOL /dav/d/f\nX-Fencing-Token: 6", stored)  // a mark does not matter
	w.says("DELETE /dav/d\nX-Fencing-Token: 8", stored)
	w.says("MKCOL /dav/d/e\nX-Fencing-Token: 7", want{status: 412, reason: fence.StaleToken, resource: "/dav/d/e", token: "7", highest: "8"})
	w.says("MKCOL /dav/d/e", stored)
	w.says("MKCOL /dav/t/one/d", want{status: 428, reason: fence.TokenMissing, resource: "/dav/t/one"})
	w.says("MKCOL /dav/t/one/d\nX-Fencing-Token: 3", stored)
}

// Every method that changes something is refused with a stale token, whichever
// of object, parent and child is fenced, and the store is not asked.
func TestStaleMethods(t *testing.T) {
	w := open(t, webdav)
	w.says("DELETE /dav/floor\nX-Fencing-Token: 50", stored)
	w.says("PUT /dav/marked/child\nX-Fencing-Token: 50\n\nv", stored)
	w.store.seen = nil
	stale := func(r string) want {
		return want{status: 412, reason: fence.StaleToken, resource: r, token: "49", highest: "50"}
	}
	tree := func(r string) want {
		return want{status: 409, reason: fence.TreeFenced, resource: r, token: "49", highest: "50"}
	}
	for _, method := range []string{"PUT", "PROPPATCH", "LOCK", "UNLOCK", "DELETE"} {
		for _, path := range []string{"/dav/floor", "/dav/floor/below/it", "/dav/marked/child"} {
			w.says(method+" "+path+"\nX-Fencing-Token: 49\n\nv", stale(path))
		}
	}
	w.says("DELETE /dav/marked\nX-Fencing-Token: 49", tree("/dav/marked"))
	for _, ends := range [][2]string{{"/dav/floor/a", "/dav/free"}, {"/dav/free", "/dav/floor/a"}, {"/dav/marked/child", "/dav/free"}, {"/dav/free", "/dav/marked/child"}} {
		fenced := ends[0]
		if fenced == "/dav/free" {
			fenced = ends[1]
		}
		w.says("MOVE "+ends[0]+"\nX-Fencing-Token: 49\nDestination: "+ends[1], stale(fenced))
	}
	w.says("MOVE /dav/marked\nX-Fencing-Token: 49\nDestination: /dav/free", tree("/dav/marked"))
	w.says("MOVE /dav/free\nX-Fencing-Token: 49\nDestination: /dav/marked", tree("/dav/marked"))
	w.says("COPY /dav/free\nX-Fencing-Token: 49\nDestination: /dav/marked", tree("/dav/marked"))
	w.says("COPY /dav/free\nX-Fencing-Token: 49\nDestination: /dav/floor/a", stale("/dav/floor/a"))
	w.saw()
}

// Stores that lock for ever, or have Overwrite the other way round, are told what
// is meant.
func TestDefaultsAreSaid(t *testing.T) {
	w := open(t, webdav)
	w.says("MOVE /dav/a\nX-Fencing-Token: 5\nDestination: /dav/b", stored)
	w.says("MOVE /dav/a\nX-Fencing-Token: 5\nDestination: /dav/b\nOverwrite: F", stored)
	w.says("LOCK /dav/a\nX-Fencing-Token: 5\nTimeout: Infinite", stored)
	w.says("LOCK /dav/a\nX-Fencing-Token: 5\nTimeout: Second-60", stored)
	for i, want := range []struct{ name, value string }{
		{"Overwrite", "T"}, {"Overwrite", "F"}, {"Timeout", "Second-3600"}, {"Timeout", "Second-60"},
	} {
		if got := w.store.requests()[i].header[want.name]; len(got) != 1 || got[0] != want.value {
			t.Errorf("request %d has %s %q, want %s", i, want.name, got, want.value)
		}
	}
}

// What a request is conditional on is looked at as its path is.
func TestConditions(t *testing.T) {
	w := open(t, webdav)
	for _, c := range []struct {
		more string
		want want
	}{
		{"If: <http://elsewhere.test/dav/a> (<urn:x:1>)", want{status: 502, reason: reasonForeign, resource: "/dav/a", token: "5"}},
		{"If: </a> (<urn:x:1>)", want{status: 502, reason: reasonForeign, resource: "/dav/a", token: "5"}},
		{"If: </dav/x/../a> (<urn:x:1>)", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"If: </dav/a> (<urn:x:1>) </dav/x%2Fa> (<urn:x:1>)", want{status: 400, reason: reasonPath, resource: "/dav/a", token: "5"}},
		{"If: <urn:a> (<urn:x:1>)", want{status: 400, reason: reasonMalformed, resource: "/dav/a", token: "5"}},
		{"If: (<urn:x:1>)\nConnection: If", want{status: 400, reason: reasonMalformed, resource: "/dav/a"}},
		{"Lock-Token: <urn:x:1>\nConnection: lock-token", want{status: 400, reason: reasonMalformed, resource: "/dav/a"}},
	} {
		for _, method := range []string{"PUT", "DELETE", "PROPFIND", "LOCK", "MKCOL"} {
			w.says(method+" /dav/a\nX-Fencing-Token: 5\n"+c.more, c.want)
		}
	}
	w.saw()
}

// A lock of infinite depth keeps out everybody below.
func TestLockOfATree(t *testing.T) {
	w := open(t, webdav)
	w.says("PUT /dav/d/f\nX-Fencing-Token: 50\n\nv", stored)
	w.store.seen = nil
	for _, depth := range []string{"", "\nDepth: infinity"} {
		w.says("LOCK /dav/d\nX-Fencing-Token: 49"+depth, want{status: 409, reason: fence.TreeFenced, resource: "/dav/d", token: "49", highest: "50"})
	}
	w.saw()
	w.says("LOCK /dav/d\nX-Fencing-Token: 49\nDepth: 0", stored)
}
