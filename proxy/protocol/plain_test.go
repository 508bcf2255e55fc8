package protocol

import (
	"net/http"
	"testing"

	"fencegate/fence"
)

func TestPlain(t *testing.T) {
	r, err := fence.Canonical("/d/f", fence.NameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method  string
		at      fence.Resource
		tokened bool
		header  http.Header
		kind    Kind
		tree    bool
		cause   Cause
	}{
		{method: "GET", at: r, kind: Read},
		{method: "GET", at: r, tokened: true, kind: Ask},
		{method: "HEAD", at: r, tokened: true, kind: Ask},
		{method: "OPTIONS", at: r, tokened: true, kind: Read},
		{method: "PUT", at: r, kind: Write},
		{method: "PUT", at: r, header: http.Header{"Content-Range": {"bytes 0-1/9"}}, kind: Refused, cause: Malformed},
		{method: "PUT", at: r, header: http.Header{"Content-Range": {""}}, kind: Refused, cause: Malformed},
		{method: "PUT", at: r, header: http.Header{"Content_range": {"bytes 0-1/9"}}, kind: Refused, cause: Malformed},
		{method: "DELETE", at: r, kind: Write, tree: true},
		{method: "DELETE", at: fence.Root, kind: Refused, cause: NotAllowed},
		{method: "POST", at: r, kind: Refused, cause: NotAllowed},
		{method: "PATCH", at: r, kind: Refused, cause: NotAllowed},
		{method: "MOVE", at: r, kind: Refused, cause: NotAllowed},
		{method: "CONNECT", at: r, kind: Refused, cause: NotImplemented},
		{method: "TRACE", at: r, kind: Refused, cause: NotImplemented},
		{method: "get", at: r, kind: Refused, cause: NotImplemented},
		{method: "FROB", at: r, kind: Refused, cause: NotImplemented},
	} {
		in := Plain{}.Intent(Request{Method: c.method, Resource: c.at, Header: c.header, Tokened: c.tokened})
		if in.Kind != c.kind {
			t.Errorf("%s: kind %d, want %d", c.method, in.Kind, c.kind)
			continue
		}
		if c.kind == Refused {
			if in.Refusal == nil || in.Refusal.Cause != c.cause || in.Refusal.Detail == "" {
				t.Errorf("%s: refusal %+v, want cause %d", c.method, in.Refusal, c.cause)
			}
			if (c.cause == NotAllowed) != (len(in.Refusal.Allow) > 0) {
				t.Errorf("%s: Allow %v", c.method, in.Refusal.Allow)
			}
			continue
		}
		if len(in.Parts) != 1 || in.Parts[0].Resource != c.at || in.Parts[0].Tree != c.tree {
			t.Errorf("%s: parts %v", c.method, in.Parts)
		}
		if in.Stores != (c.method == "PUT") {
			t.Errorf("%s: stores %v", c.method, in.Stores)
		}
	}
}
