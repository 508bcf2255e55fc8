package protocol

import (
	"net/http"
	"slices"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// WebDAV is RFC 4918, classes 1 and 2, over Plain. What removes or replaces a
// path (DELETE, COPY and MOVE at their destination, MOVE at its source) does so
// for all below it. PROPPATCH, LOCK and UNLOCK write the object that they name:
// LOCK makes it if there is none, and a stale holder's lock would keep out the
// next one, also from everything below if its depth is infinite, as it is when
// none is given. MKCOL destroys nothing.
type WebDAV struct {
	// Public is how clients name the objects, for Destination and If. With no
	// Origin the Host that a client sends is the one it names.
	Public dav.Space
}

var davMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND", http.MethodPut, http.MethodDelete,
	"MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK",
}

// davReads are those of davMethods that change nothing.
var davReads = davMethods[:4]

// Intent implements Protocol.
func (p WebDAV) Intent(r Request) Intent {
	compares, refusal := p.compares(r)
	if refusal != nil {
		return Intent{Kind: Refused, Refusal: refusal}
	}
	in := p.intent(r)
	in.Compares = compares
	return in
}

// compares returns the paths that are named in If.
func (p WebDAV) compares(r Request) ([]string, *Refusal) {
	refs, err := dav.Compared(r.Header)
	if err != nil {
		return nil, &Refusal{Cause: Malformed, Detail: err.Error() + "."}
	}
	var paths []string
	for _, ref := range refs {
		if !p.ours(ref, r.Host) {
			return nil, p.foreign("If names", ref, r.Host)
		}
		paths = append(paths, ref.Path)
	}
	return paths, nil
}

func (p WebDAV) intent(r Request) Intent {
	one := []Part{{Resource: r.Resource}}
	tree := []Part{{Resource: r.Resource, Tree: true}}
	switch r.Method {
	case "PROPFIND":
		if _, err := dav.ParseDepth(r.Header, dav.Infinity); err != nil {
			return refused(Malformed, err.Error()+".")
		}
		return Intent{Kind: Read, Parts: one}
	case "MKCOL":
		return Intent{Kind: Mkcol, Parts: one}
	case "LOCK":
		switch d, err := dav.ParseDepth(r.Header, dav.Infinity); {
		case err != nil || d == dav.One:
			return refused(Malformed, "LOCK knows Depth 0 and infinity (RFC 4918 section 9.10.3).")
		case d == dav.Infinity:
			return Intent{Kind: Write, Parts: tree}
		}
		return Intent{Kind: Write, Parts: one}
	case "PROPPATCH", "UNLOCK":
		return Intent{Kind: Write, Parts: one}
	case http.MethodDelete, "MOVE":
		if d, err := dav.ParseDepth(r.Header, dav.Infinity); err != nil || d != dav.Infinity {
			return refused(Malformed, r.Method+" changes everything below; with a Depth it must be infinity (RFC 4918 section 9.6.1).")
		}
		if p.isRoot(r.Resource) {
			return refused(NotAllowed, r.Method+" of the root would remove everything.", davReads...)
		}
		if r.Method == http.MethodDelete {
			return Intent{Kind: Write, Parts: tree}
		}
		return p.withDestination(r, tree)
	case "COPY":
		if d, err := dav.ParseDepth(r.Header, dav.Infinity); err != nil || d == dav.One {
			return refused(Malformed, "COPY knows Depth 0 and infinity (RFC 4918 section 9.8.3).")
		}
		return p.withDestination(r, nil) // of the source it only reads
	}
	in := Plain{}.Intent(r)
	if in.Refusal != nil && in.Refusal.Cause == NotAllowed {
		in.Refusal.Allow = append(slices.Clone(davMethods), r.AlsoWrites...)
		in.Refusal.Detail = "This method is not passed on under protocol webdav, since what it changes is not known."
	}
	return in
}

// withDestination adds the destination to what a request touches.
func (p WebDAV) withDestination(r Request, parts []Part) Intent {
	ref, err := dav.ParseDestination(r.Header)
	if err != nil {
		return refused(Malformed, err.Error()+".")
	}
	if _, err := dav.ParseOverwrite(r.Header); err != nil {
		return refused(Malformed, err.Error()+".")
	}
	if !p.ours(ref, r.Host) {
		return Intent{Kind: Refused, Refusal: p.foreign("The Destination is", ref, r.Host)}
	}
	if rest, ok := p.Public.Cut(ref.Path); !ok || rest == "/" {
		return refused(NotAllowed, r.Method+" onto the root would replace everything.", davReads...)
	}
	return Intent{Kind: Write, Parts: append(parts, Part{Path: ref.Path, Tree: true, Destination: true})}
}

func (p WebDAV) foreign(what string, ref dav.Ref, host string) *Refusal {
	detail := what + " " + ref.String() + ", which is not here. Give a URL below " + p.root(host) + "."
	if p.Public.Origin == "" {
		detail += " If clients know this server by another name than it sees in Host, tell it that name (public_url)."
	}
	return &Refusal{Cause: Foreign, Detail: detail}
}

// ours reports whether a URL names something that is served here. A client that
// calls us by a name that we have not been told has named it in Host, too.
func (p WebDAV) ours(ref dav.Ref, host string) bool {
	_, below := p.Public.Cut(ref.Path)
	switch {
	case !below:
		return false
	case ref.Origin == "":
		return true
	case p.Public.Origin != "":
		return ref.Origin == p.Public.Origin
	}
	for _, scheme := range []string{"http://", "https://"} {
		if named, err := dav.ParseRef(scheme + host); err == nil && named.Origin == ref.Origin {
			return true
		}
	}
	return false
}

func (p WebDAV) root(host string) string {
	if p.Public.Origin == "" {
		return "http://" + host + p.Public.Prefix + "/"
	}
	return p.Public.Origin + p.Public.Prefix + "/"
}

func (p WebDAV) isRoot(r fence.Resource) bool {
	root, err := fence.Canonical(p.Public.Prefix+"/", fence.NameOptions{LiteralSemicolons: true})
	return r == fence.Root || err == nil && (r == root || r == root.Fold())
}
