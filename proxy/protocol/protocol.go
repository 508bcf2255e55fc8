// Package protocol says what a request means: whether it reads or writes, which
// objects it touches and how. It is pure: it opens nothing, keeps nothing and
// answers nobody.
//
// A protocol lists the methods that only read. Every other method is a write
// whose touches are known, or is refused; nothing passes by default.
package protocol

import (
	"net/http"

	"fencegate/fence"
)

// Kind is what a request does.
type Kind uint8

const (
	// Read changes nothing and need not see the fence.
	Read Kind = iota
	// Ask changes nothing but must see the fence hold: a tokened GET or HEAD.
	Ask
	// Mkcol makes a collection: it destroys nothing and lifts no mark.
	Mkcol
	// Write changes the objects that it touches.
	Write
	// Refused is not passed on; Refusal says why.
	Refused
)

// Request is what a protocol looks at.
type Request struct {
	Method   string
	Resource fence.Resource
	Header   http.Header
	// Host as the client names it.
	Host string
	// Tokened: the request carries a token.
	Tokened bool
	// AlsoWrites lists methods that write the object which they name, beyond
	// those of the protocol.
	AlsoWrites []string
}

// Part is one object that a request touches.
type Part struct {
	Resource fence.Resource
	// Tree: everything below is touched too.
	Tree bool
	// Path, escaped, is what another object than the request's own is called;
	// then Resource is empty, and up to the routes.
	Path string
	// Destination: the part is judged by the token for destinations, if one is
	// sent.
	Destination bool
}

// Intent is what a request means.
type Intent struct {
	Kind  Kind
	Parts []Part
	// Stores: the request's body becomes the object's content.
	Stores  bool
	Refusal *Refusal
}

// Cause groups the reasons for which a protocol refuses.
type Cause uint8

const (
	// NotAllowed: a known method that is not allowed here (405).
	NotAllowed Cause = iota
	// NotImplemented: a method that the protocol does not know (501).
	NotImplemented
	// Malformed: the request contradicts itself or the protocol (400).
	Malformed
	// Foreign: the destination is not in this store (502, RFC 4918 section
	// 9.8.5).
	Foreign
)

// Refusal says why a request is not passed on.
type Refusal struct {
	Cause  Cause
	Detail string
	// Allow lists the methods allowed, with NotAllowed.
	Allow []string
}

// Protocol gives requests their meaning. Implementations are immutable and may
// be used from many goroutines.
type Protocol interface {
	Intent(Request) Intent
}

func refused(cause Cause, detail string, allow ...string) Intent {
	return Intent{Kind: Refused, Refusal: &Refusal{Cause: cause, Detail: detail, Allow: allow}}
}
