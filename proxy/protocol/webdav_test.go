package protocol

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

func TestWebDAV(t *testing.T) {
	self := []Part{{Resource: fence.ResourceOf("/dav/d/f")}}
	tree := []Part{{Resource: fence.ResourceOf("/dav/d/f"), Tree: true}}
	to := Part{Path: "/dav/e", Tree: true, Destination: true}
	h := func(pairs ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
		}
		return out
	}
	for _, c := range []struct {
		method  string
		path    string // default /dav/d/f
		header  http.Header
		tokened bool
		kind    Kind
		parts   []Part
		cause   Cause
		detail  string
	}{
		{method: "GET", kind: Read, parts: self},
		{method: "GET", tokened: true, kind: Ask, parts: self},
		{method: "OPTIONS", tokened: true, kind: Read, parts: self},
		{method: "PROPFIND", tokened: true, kind: Read, parts: self},
		{method: "PROPFIND", header: h("Depth", "1"), kind: Read, parts: self},
		{method: "PROPFIND", header: h("Depth", "2"), kind: Refused, cause: Malformed, detail: "Depth"},
		{method: "PROPFIND", header: h("Depth", "0", "Depth", "1"), kind: Refused, cause: Malformed, detail: "2 times"},
		{method: "PUT", kind: Write, parts: self},
		{method: "PUT", header: h("Content-Range", "bytes 0-1/2"), kind: Refused, cause: Malformed, detail: "Content-Range"},
		{method: "PUT", header: h("If", "(<urn:1>)"), kind: Write, parts: self},
		{method: "PUT", header: h("If", "(<urn:1>"), kind: Refused, cause: Malformed, detail: "If: "},
		{method: "PUT", header: h("If", "(<urn:1>)", "If", "(<urn:2>)"), kind: Refused, cause: Malformed, detail: "2 times"},
		{method: "DELETE", kind: Write, parts: tree},
		{method: "DELETE", header: h("Depth", "infinity"), kind: Write, parts: tree},
		{method: "DELETE", header: h("Depth", "0"), kind: Refused, cause: Malformed, detail: "infinity"},
		{method: "DELETE", path: "/", kind: Refused, cause: NotAllowed, detail: "root"},
		{method: "DELETE", path: "/dav", kind: Refused, cause: NotAllowed, detail: "root"},
		{method: "MKCOL", kind: Mkcol, parts: self},
		{method: "PROPPATCH", kind: Write, parts: self},
		{method: "LOCK", header: h("Depth", "infinity"), kind: Write, parts: self},
		{method: "UNLOCK", kind: Write, parts: self},
		{method: "MOVE", header: h("Destination", "/dav/e"), kind: Write, parts: append(slices.Clone(tree), to)},
		{method: "MOVE", header: h("Destination", "https://pub/dav/e", "Overwrite", "F"), kind: Write, parts: append(slices.Clone(tree), to)},
		{method: "MOVE", header: h("Destination", "/dav/e", "Depth", "0"), kind: Refused, cause: Malformed, detail: "infinity"},
		{method: "MOVE", header: h("Destination", "/dav/e", "Overwrite", "x"), kind: Refused, cause: Malformed, detail: "Overwrite"},
		{method: "MOVE", kind: Refused, cause: Malformed, detail: "no Destination"},
		{method: "MOVE", header: h("Destination", "/dav/e", "Destination", "/dav/g"), kind: Refused, cause: Malformed, detail: "2 times"},
		{method: "MOVE", header: h("Destination", "http://pub/dav/e"), kind: Refused, cause: Foreign, detail: "https://pub/dav/"},
		{method: "MOVE", header: h("Destination", "https://other/dav/e"), kind: Refused, cause: Foreign, detail: "https://other"},
		{method: "MOVE", header: h("Destination", "/e"), kind: Refused, cause: Foreign, detail: "/dav/"},
		{method: "MOVE", header: h("Destination", "/dav/"), kind: Refused, cause: NotAllowed, detail: "root"},
		{method: "MOVE", path: "/dav", header: h("Destination", "/dav/e"), kind: Refused, cause: NotAllowed, detail: "root"},
		{method: "COPY", header: h("Destination", "/dav/e"), kind: Write, parts: []Part{to}},
		{method: "COPY", header: h("Destination", "/dav/e", "Depth", "0"), kind: Write, parts: []Part{to}},
		{method: "COPY", header: h("Destination", "/dav/e", "Depth", "1"), kind: Refused, cause: Malformed, detail: "Depth"},
		{method: "COPY", header: h("Destination", "https://pub/dav"), kind: Refused, cause: NotAllowed, detail: "root"},
		{method: "POST", kind: Refused, cause: NotAllowed, detail: "webdav"},
		{method: "REPORT", kind: Refused, cause: NotAllowed, detail: "webdav"},
		{method: "TRACE", kind: Refused, cause: NotImplemented},
		{method: "propfind", kind: Refused, cause: NotImplemented},
	} {
		p := WebDAV{Public: dav.Space{Origin: "https://pub", Prefix: "/dav"}}
		if c.path == "" {
			c.path = "/dav/d/f"
		}
		if c.header == nil {
			c.header = http.Header{}
		}
		in := p.Intent(Request{Method: c.method, Resource: fence.ResourceOf(c.path), Header: c.header, Host: "pub", Tokened: c.tokened})
		if in.Kind != c.kind {
			t.Errorf("%s %s %v: kind %d, want %d (%+v)", c.method, c.path, c.header, in.Kind, c.kind, in.Refusal)
			continue
		}
		if c.kind == Refused {
			if in.Refusal.Cause != c.cause || !strings.Contains(in.Refusal.Detail, c.detail) || in.Refusal.Detail == "" {
				t.Errorf("%s %v: refusal %+v, want cause %d with %q", c.method, c.header, in.Refusal, c.cause, c.detail)
			}
			if (c.cause == NotAllowed) != (len(in.Refusal.Allow) > 0) {
				t.Errorf("%s: Allow %v", c.method, in.Refusal.Allow)
			}
			continue
		}
		if !slices.Equal(in.Parts, c.parts) {
			t.Errorf("%s %v: parts %v, want %v", c.method, c.header, in.Parts, c.parts)
		}
		if in.Stores != (c.method == "PUT") {
			t.Errorf("%s: stores %v", c.method, in.Stores)
		}
	}
}

// Without a public URL a destination is ours if the client calls us so.
func TestDestinationByHost(t *testing.T) {
	for _, c := range []struct {
		host, destination string
		ours              bool
	}{
		{"h:8080", "http://h:8080/e", true}, {"h:8080", "https://H:8080/e", true}, {"h", "https://h:443/e", true},
		{"h:8080", "http://h/e", false}, {"h", "http://evil/e", false}, {"[::1]:8080", "http://[::1]:8080/e", true}, {"", "http://h/e", false},
	} {
		in := WebDAV{}.Intent(Request{Method: "COPY", Resource: fence.ResourceOf("/a"), Host: c.host,
			Header: http.Header{"Destination": {c.destination}}})
		if got := in.Refusal == nil; got != c.ours {
			t.Errorf("host %s, destination %s: ours %v, want %v", c.host, c.destination, got, c.ours)
		}
	}
}
