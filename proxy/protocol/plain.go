package protocol

import (
	"net/http"
	"slices"
	"strings"

	"fencegate/fence"
)

// Plain is HTTP as file and object stores speak it: GET, HEAD and OPTIONS read,
// PUT replaces one object, DELETE removes a path and everything below it.
type Plain struct{}

var plainMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete}

// known are methods registered for HTTP that Plain does not pass on. CONNECT
// and TRACE are missing on purpose: forms that are not understood at all.
var known = []string{
	http.MethodPost, http.MethodPatch,
	"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "ACL", "BIND",
	"UNBIND", "REBIND", "LINK", "UNLINK", "LABEL", "MERGE", "UPDATE", "CHECKIN", "CHECKOUT", "UNCHECKOUT",
	"VERSION-CONTROL", "BASELINE-CONTROL", "MKACTIVITY", "MKCALENDAR", "MKREDIRECTREF", "MKWORKSPACE",
	"ORDERPATCH", "UPDATEREDIRECTREF", "QUERY",
}

// Intent implements Protocol.
func (Plain) Intent(r Request) Intent {
	one := []Part{{Resource: r.Resource}}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if r.Tokened {
			return Intent{Kind: Ask, Parts: one}
		}
		return Intent{Kind: Read, Parts: one}
	case http.MethodOptions:
		return Intent{Kind: Read, Parts: one}
	case http.MethodPut:
		// RFC 9110 section 14.5: servers that do not know partial PUT may store
		// the part as the whole.
		if names(r.Header, "Content-Range") {
			return refused(Malformed, "PUT with Content-Range: stores that ignore it would replace the whole object by the part. Send the whole object.")
		}
		return Intent{Kind: Write, Parts: one, Stores: true}
	case http.MethodDelete:
		if r.Resource == fence.Root {
			return refused(NotAllowed, "DELETE of the root would remove everything.", plainMethods[:3]...)
		}
		return Intent{Kind: Write, Parts: []Part{{Resource: r.Resource, Tree: true}}}
	}
	if slices.Contains(r.AlsoWrites, r.Method) {
		return Intent{Kind: Write, Parts: one}
	}
	if slices.Contains(known, r.Method) {
		return refused(NotAllowed, "This method is not passed on under protocol plain, since what it changes is not known.",
			append(slices.Clone(plainMethods), r.AlsoWrites...)...)
	}
	return refused(NotImplemented, "This method is unknown, so what it changes is not known either.")
}

// names reports whether a header of that name is there, also in the spelling
// with underscores, which CGI and its kin read as the same.
func names(h http.Header, name string) bool {
	for n := range h {
		if strings.EqualFold(strings.ReplaceAll(n, "_", "-"), name) {
			return true
		}
	}
	return false
}
