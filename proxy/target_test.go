package proxy

import (
	"strings"
	"testing"

	"fencegate/fence"
)

func TestAmbiguousPaths(t *testing.T) {
	w := open(t)
	for _, target := range []string{
		"/.", "/..", "/a/.", "/a/..", "/a/../b", "/./a", "/%2e", "/%2E%2e/a", "/a/%2e./b", "/a/.%2E",
		"//", "//a", "/a//b", "/a//", "/a/%2Fb", "/a%2fb",
		`/a\b`, "/a%5Cb", "/a%5c..%5cb",
		"/a%00", "/a%0d%0aX", "/a%7f", "/a%1Fb", "/%C2%80", "/a%C2%85b",
		"/a;b", "/a;", "/a%3Bb", "/a%3b", "/%CD%BE", // the Greek question mark normalises to ";"
		"/a#b", "/#",
		"/%ff", "/a%c3", "/%C0%AF", "/%ED%A0%80", "/\xff",
		"/a?x;y", "/a?x=1;y=2", "/a?x#y", "/a?%zz", "/a?%", "/a?x=%4",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
			a := want{status: 400, reason: reasonPath}
			w.says(method+" "+target+"\nX-Fencing-Token: 5", a)
			w.says(method+" http://fence.test"+target, a)
		}
	}
	// These the server itself refuses, with its bare 400.
	for _, target := range []string{"/%", "/a%4", "/%zz", "/a\x00b", "/a\x7fb", "/a b", "/a?x y"} {
		w.says("GET "+target, want{status: 400, closes: true})
	}
	w.saw()
}

// The absolute form is for http only; what else a proxy could be asked for is
// not at the store.
func TestAbsoluteForm(t *testing.T) {
	w := open(t)
	for _, target := range []string{"http://fence.test/a", "HTTPS://fence.test/a"} {
		w.says("GET "+target, read)
	}
	w.saw("GET /a", "GET /a")
	for _, target := range []string{"ftp://fence.test/a", "file:///a", "ws://fence.test/a", "httpx://fence.test/a"} {
		w.says("GET "+target, want{status: 400, reason: reasonMalformed})
	}
	w.saw()
}

func TestPathTooLong(t *testing.T) {
	w := open(t)
	most := "/" + strings.Repeat("a", fence.MaxPathLen-1)
	w.says("GET "+most, read)
	w.says("GET "+most+"a", want{status: 414, reason: reasonPathLong})
	w.says("GET /"+strings.Repeat("%61", 1366), want{status: 414, reason: reasonPathLong}) // escaped it is 4099
	w.says("PUT "+most+"a\nX-Fencing-Token: 5\n\nv", want{status: 414, reason: reasonPathLong})
	w.saw("GET " + most)
}

func TestSemicolonsAndCaseByRoute(t *testing.T) {
	w := open(t, func(p *plan) { p.opts.Rest.Names.LiteralSemicolons = true })
	w.says("GET /a;b%3Bc", read)
	w.says("GET /a?x;y", want{status: 400, reason: reasonPath})
	w.saw("GET /a;b%3Bc")
	w = open(t, func(p *plan) { p.opts.Rest.Names.FoldCase = true })
	w.says("PUT /Straße\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /STRASSE\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/strasse", token: "4", highest: "5"})
	for _, target := range []string{"/a.", "/a%20", "/a/b./c", "/a:b", "/REPORT~1.CSV", "/a%E2%80%8Bb"} {
		w.says("PUT "+target+"\nX-Fencing-Token: 5\n\nv", want{status: 400, reason: reasonPath})
	}
	w.saw("PUT /Straße")
}

// All spellings of one object are one resource.
func TestOneResourceInManySpellings(t *testing.T) {
	w := open(t)
	w.says("PUT /caf%C3%A9\nX-Fencing-Token: 5\n\nv", stored)
	for _, target := range []string{"/café", "/cafe%CC%81", "/%63afe\u0301", "/caf%c3%a9/", "/café?version=1", "http://elsewhere/café"} {
		w.says("PUT "+target+"\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/café", token: "4", highest: "5"})
	}
	w.saw("PUT /caf%C3%A9")
}

func TestMethods(t *testing.T) {
	w := open(t)
	const allow = "GET, HEAD, OPTIONS, PUT, DELETE"
	for _, method := range []string{"POST", "PATCH", "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "MERGE", "QUERY"} {
		w.says(method+" /a", want{status: 405, reason: reasonMethod, resource: "/a", allow: allow})
		w.says(method+" /a\nX-Fencing-Token: 5\n\nbody", want{status: 405, reason: reasonMethod, resource: "/a", token: "5", allow: allow})
	}
	for _, method := range []string{"TRACE", "FROB", "put", "get", "Put", "PUTX", "DEBUG"} {
		w.says(method+" /a\nX-Fencing-Token: 5", want{status: 501, reason: reasonMethod, resource: "/a", token: "5"})
	}
	for _, request := range []string{"CONNECT fence.test:80", "CONNECT /a", "OPTIONS *", "GET *", "PUT *\nX-Fencing-Token: 5\n\nv"} {
		w.says(request, want{status: 501, reason: reasonMethod})
	}
	w.says("DELETE /\nX-Fencing-Token: 5", want{status: 405, reason: reasonMethod, resource: "/", token: "5", allow: "GET, HEAD, OPTIONS"})
	w.says("DELETE http://fence.test\nX-Fencing-Token: 5", want{status: 405, reason: reasonMethod, resource: "/", token: "5", allow: "GET, HEAD, OPTIONS"})
	w.saw()
	w.says("OPTIONS /a\nX-Fencing-Token: 5", read)
	w.saw("OPTIONS /a")
}

// Everything at and below the well-known prefix is ours in every spelling, and
// never the store's.
func TestOwnPrefix(t *testing.T) {
	w := open(t)
	none := want{status: 404, reason: reasonNotFound, token: "5"}
	for _, target := range []string{
		"/.well-known/fencegate", "/.well-known/fencegate/", "/.well-known/fencegate/x", "/.well-known/fencegate/claims/x",
		"/%2Ewell-known/fencegate/x", "/.well%2Dknown/%66encegate", "/.well-known/fencegat%65/Claims",
		"http://fence.test/.well-known/fencegate/x", "/.well-known/fencegate?x=y",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE", "POST", "OPTIONS", "MOVE", "FROB"} {
			w.says(method+" "+target+"\nX-Fencing-Token: 5", none)
		}
	}
	for _, target := range []string{"/.well-known/fencegate/claims", "/%2ewell-known/fencegate/claim%73", "/.well-known/fencegate/claims/"} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
			w.says(method+" "+target, want{status: 405, reason: reasonMethod, allow: "POST"})
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		w.says(method+" /.well-known/fencegate/marks", want{status: 405, reason: reasonMethod, allow: "GET, HEAD"})
	}
	w.says("PUT /.well-known/fencegate/../x\nX-Fencing-Token: 5\n\nv", want{status: 400, reason: reasonPath})
	w.says("GET /.well-known//fencegate/marks", want{status: 400, reason: reasonPath})
	w.saw()
	w.says("GET /.well-known/other", read)
	w.says("GET /.well-known/fencegates", read)
	w.saw("GET /.well-known/other", "GET /.well-known/fencegates")
	w = open(t, func(p *plan) { p.opts.Rest.Names.FoldCase = true })
	w.says("PUT /.WELL-known/FenceGate/x\nX-Fencing-Token: 5\n\nv", none)
	w.saw()
}
