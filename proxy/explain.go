package proxy

import (
	"net/http"
	"slices"

	"fencegate/fence"
	"fencegate/proxy/protocol"
)

// Explanation tells what the proxy makes of a request before any token is
// judged.
type Explanation struct {
	// Route is the name of the route that the path falls to, Index its place in
	// Options.Routes, -1 for the one for all other paths, and Pattern its path.
	Route   string
	Index   int
	Pattern string
	// Own: the path is one of fencegate itself. It falls to no route.
	Own bool
	// Resource is the canonical path.
	Resource fence.Resource
	// Meaning is what the request does without a token, Tokened with one.
	Meaning, Tokened protocol.Kind
	// Touches are what a token would be judged at, none for reads and where
	// the request is refused. A request without a token has the same ones, but
	// for reads.
	Touches []ExplainedTouch
	// OwnerRequired: a token is accepted only together with its owner.
	OwnerRequired bool
	// Refusal is the answer, whatever token is sent, nil if there is none.
	Refusal *Refusal
	// Status is that of Refusal.
	Status int
}

// ExplainedTouch is one thing that a request needs to pass.
type ExplainedTouch struct {
	Object fence.Resource
	// Tree: everything below Object is changed too.
	Tree bool
	// Fence is what is to be locked and claimed. FenceTree: it guards
	// everything below itself.
	Fence     fence.Resource
	FenceTree bool
	// Policy that judges: the strictest one of all routes concerned.
	Policy fence.Policy
}

// Explain tells what a proxy with these options makes of a request for target,
// as it stands in a request line: a path with query, or a URL. It opens nothing.
func Explain(proto protocol.Protocol, opts Options, method, target string) (*Explanation, error) {
	rs, err := compile(opts.Routes, opts.Rest)
	if err != nil {
		return nil, err
	}
	opts.TokenKind, opts.MaxToken = fence.AnyTokens, fence.MaxToken
	p := &Proxy{protocol: proto, routes: rs, opts: opts}
	read := func(h http.Header) (*request, *Refusal) {
		return p.readHead(&http.Request{Method: method, ProtoMajor: 1, ProtoMinor: 1, RequestURI: target, Header: h})
	}
	q, ref := read(http.Header{headerToken: {"1"}, headerOwner: {"explain"}})
	e := &Explanation{
		Index: -1, Own: q.own, Resource: q.resource, Meaning: protocol.Refused, Tokened: q.intent.Kind, Refusal: ref,
	}
	if q.route != nil {
		e.Route, e.Pattern = q.route.Name, q.route.Path
		if i := slices.Index(rs, q.route); i < len(opts.Routes) {
			e.Index = i
		}
	}
	if ref != nil {
		e.Status = ref.status()
	}
	if ref != nil || q.own {
		return e, nil
	}
	if e.Tokened != protocol.Read {
		for _, t := range q.touches {
			e.Touches = append(e.Touches, ExplainedTouch{t.Object, t.Tree, t.Fence, t.FenceTree, t.Policy})
		}
		_, ref := read(http.Header{headerToken: {"1"}})
		e.OwnerRequired = ref != nil && ref.Reason == reasonOwnerMissing
	}
	bare, _ := read(http.Header{})
	e.Meaning = bare.intent.Kind
	return e, nil
}
