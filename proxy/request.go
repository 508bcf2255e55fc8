package proxy

import (
	"errors"
	"net/http"
	"strings"

	"fencegate/fence"
	"fencegate/proxy/protocol"
)

// request is what is known of a request once its head has been read.
type request struct {
	path     string // escaped, byte for byte as it came
	query    string // raw, as it came
	resource fence.Resource
	own      bool // it is for fencegate itself
	stamp    fence.Stamp
	// destination is what MOVE and COPY are judged by where they go to.
	destination fence.Stamp
	route       *Route
	intent      protocol.Intent
	touches     []fence.Touch
	room        [1]fence.Touch // for them: most have one
}

// readHead reads target and headers, and finds out what the request means. With
// a refusal the request is as far as it was understood.
func (p *Proxy) readHead(r *http.Request) (*request, *Refusal) {
	q := new(request)
	return q, p.understand(q, r)
}

// understand is readHead, into q.
func (p *Proxy) understand(q *request, r *http.Request) (ref *Refusal) {
	q.intent.Kind = protocol.Refused
	q.stamp.Client = fence.CleanClient(r.Header.Get(headerClient))
	q.touches = q.room[:0]
	if q.path, q.query, ref = readTarget(r); ref != nil {
		return ref
	}
	path, route, err := p.routes.resolve(q.path)
	if q.resource = path; err != nil {
		return refusePath(err)
	}
	if q.own = isOwn(path); !q.own {
		if _, ok := p.opts.Names.Public.Cut(q.path); !ok {
			return &Refusal{Reason: reasonNotFound, Detail: "What is served begins at " + p.opts.Names.Public.Prefix + "/ (public_url)."}
		}
		q.route = route
		if q.resource, err = route.object(path, q.query); err != nil {
			return refusePath(err)
		}
	}
	if ref = p.readStamp(r, &q.stamp); ref != nil || q.own {
		return ref
	}
	q.intent = p.protocol.Intent(protocol.Request{
		Method: r.Method, Resource: path, Header: r.Header, Host: r.Host, Tokened: q.stamp.Token != fence.NoToken,
		AlsoWrites: q.route.AlsoWrites,
	})
	if in := q.intent.Refusal; in != nil {
		return refuseIntent(in)
	}
	for _, named := range q.intent.Compares {
		if _, _, err := p.routes.resolve(named); err != nil {
			return refusePath(err)
		}
	}
	if ref = p.readDestinationStamp(r, q); ref != nil {
		return ref
	}
	if ref = checkLength(r, q.intent); ref != nil {
		return ref
	}
	return p.setTouches(q, path)
}

// checkLength refuses what an HTTP/1.0 client stores without a length (RFC 1945
// section 7.2.2). That version has no chunks, so a Transfer-Encoding counts for
// nothing, and nothing would be stored.
func checkLength(r *http.Request, in protocol.Intent) *Refusal {
	if r.ProtoAtLeast(1, 1) || !in.Stores || r.Header["Content-Length"] != nil {
		return nil
	}
	return &Refusal{Reason: reasonMalformed, Detail: "In HTTP/1.0 a body needs a Content-Length. Send one, or use HTTP/1.1."}
}

// setTouches finds out what the request needs to pass. path is what it names
// without its query. What changes a whole tree changes it for all queries, and is
// judged by the strictest policy in it.
func (p *Proxy) setTouches(q *request, path fence.Resource) *Refusal {
	for _, part := range q.intent.Parts {
		object, route, stamp := part.Resource, q.route, q.stamp
		if part.Path != "" {
			var err error
			if object, route, err = p.routes.resolve(part.Path); err != nil {
				return refusePath(err)
			}
			if isOwn(object) {
				return &Refusal{Reason: reasonForeign, Resource: object, Detail: "The Destination is an endpoint of fencegate itself."}
			}
		}
		if part.Destination {
			stamp = q.destination
		}
		if object == path && !part.Tree {
			object = q.resource
		}
		t, owner, ref := p.routes.touch(route, object, part.Tree, stamp)
		if ref != nil {
			return ref
		}
		if owner && t.Owner == fence.NoOwner && t.Token != fence.NoToken && q.intent.Kind != protocol.Read {
			return &Refusal{Reason: reasonOwnerMissing, Resource: t.Fence,
				Detail: "This route requires X-Fencing-Owner beside the token; lockclient and the fencegate commands send it."}
		}
		t.Passive = q.intent.Kind == protocol.Mkcol
		q.touches = append(q.touches, t)
	}
	return nil
}

// storeOf returns where the request goes.
func (p *Proxy) storeOf(q *request) Upstream {
	if q.route.Upstream != nil {
		return q.route.Upstream
	}
	return p.upstream
}

// readTarget splits the request target. It is taken from the request line
// itself: net/url's view of it has been decoded and put together again, and
// what is judged must be what is sent.
func readTarget(r *http.Request) (path, query string, ref *Refusal) {
	target := r.RequestURI
	if target == "" || r.Method == http.MethodConnect || target == "*" {
		return "", "", &Refusal{Reason: reasonMethod, Status: http.StatusNotImplemented,
			Detail: "This form of request target is not understood; send a path."}
	}
	if target[0] != '/' { // absolute form, RFC 9112 section 3.2.2
		scheme, rest, _ := strings.Cut(target, "://")
		if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
			return "", "", &Refusal{Reason: reasonMalformed, Detail: "The request target is neither a path nor an http URL."}
		}
		if i := strings.IndexAny(rest, "/?#"); i < 0 {
			target = "/"
		} else if target = rest[i:]; target[0] != '/' {
			target = "/" + target
		}
	}
	path, query, _ = strings.Cut(target, "?")
	if ref := checkQuery(query); ref != nil {
		return "", "", ref
	}
	return path, query, nil
}

// checkQuery refuses queries that servers are known to read in different ways.
func checkQuery(query string) *Refusal {
	ambiguous := func(what string) *Refusal {
		return &Refusal{Reason: reasonPath, Detail: "The query contains " + what + "."}
	}
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == ';':
			return ambiguous(`";", which some servers read as "&"; write %3B`)
		case c == '#':
			return ambiguous(`"#"; write %23`)
		case c < ' ' || c == 0x7f:
			return ambiguous("a control character")
		case c == '%':
			if i+2 >= len(query) || !isHex(query[i+1]) || !isHex(query[i+2]) {
				return ambiguous(`"%" without two hex digits; write %25`)
			}
		}
	}
	return nil
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func refusePath(err error) *Refusal {
	if errors.Is(err, fence.ErrPathTooLong) {
		return &Refusal{Reason: reasonPathLong, Detail: "The path is longer than 4096 bytes."}
	}
	return &Refusal{Reason: reasonPath, Detail: "This path could name different objects for different servers: " +
		strings.TrimPrefix(err.Error(), "ambiguous path: ") + "."}
}

func refuseIntent(in *protocol.Refusal) *Refusal {
	switch in.Cause {
	case protocol.NotAllowed:
		return &Refusal{Reason: reasonMethod, Detail: in.Detail, Allow: in.Allow}
	case protocol.NotImplemented:
		return &Refusal{Reason: reasonMethod, Status: http.StatusNotImplemented, Detail: in.Detail}
	}
	if in.Cause == protocol.Foreign {
		return &Refusal{Reason: reasonForeign, Detail: in.Detail}
	}
	return &Refusal{Reason: reasonMalformed, Detail: in.Detail}
}
