package proxy

import (
	"net/http"
	"strings"

	"fencegate/fence"
)

// The request headers of the fence, in canonical form.
const (
	headerToken            = "X-Fencing-Token"
	headerOwner            = "X-Fencing-Owner"
	headerClient           = "X-Fencing-Client"
	headerTokenDestination = "X-Fencing-Token-Destination"
	headerOwnerDestination = "X-Fencing-Owner-Destination"
)

// fencingPrefix is what all headers of the fence begin with, in requests and
// answers.
const fencingPrefix = "X-Fencing-"

// overrides are headers by which some servers take another method than the one
// that was judged.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// endToEnd are headers that change what a request does. Naming one in
// Connection would have it dropped on the way (RFC 9110 section 7.6.1).
var endToEnd = []string{"Host", "Content-", "If", "Destination", "Depth", "Overwrite", "Lock-Token", "Timeout", "Authorization", "Range", "X-Amz-"}

// readStamp reads token and owner into s, and refuses every form of them that
// another reader could see differently. It looks at the headers as they came,
// before hop-by-hop headers are removed.
func (p *Proxy) readStamp(r *http.Request, s *fence.Stamp) *Refusal {
	for name := range r.Header {
		if ref := checkName(name); ref != nil {
			return ref
		}
	}
	if ref := checkHops(r); ref != nil {
		return ref
	}
	return p.readPair(r.Header, headerToken, headerOwner, s)
}

// readPair reads one token and one owner, as far as they are there.
func (p *Proxy) readPair(h http.Header, tokenName, ownerName string, s *fence.Stamp) *Refusal {
	if lines, ok := h[tokenName]; ok {
		if len(lines) != 1 {
			return malformed(tokenName, "was sent more than once; send exactly one")
		}
		var err error
		if s.Token, err = p.parseToken(lines[0]); err != nil {
			return refuseToken(tokenName, err)
		}
	}
	if lines, ok := h[ownerName]; ok {
		if len(lines) != 1 {
			return malformed(ownerName, "was sent more than once; send exactly one")
		}
		owner, err := fence.ParseOwner(lines[0])
		if err != nil {
			return malformed(ownerName, err.Error())
		}
		s.Owner = owner
	}
	return nil
}

// readDestinationStamp reads what the destination is judged by: the request's
// own token and owner where none are sent for it.
func (p *Proxy) readDestinationStamp(r *http.Request, q *request) *Refusal {
	if !q.moves() {
		for _, name := range []string{headerTokenDestination, headerOwnerDestination} {
			if _, ok := r.Header[name]; ok {
				return malformed(name, "is only for methods with a destination (MOVE, COPY)")
			}
		}
	}
	q.destination = q.stamp
	return p.readPair(r.Header, headerTokenDestination, headerOwnerDestination, &q.destination)
}

// checkName refuses header names that stand for another one with some servers.
func checkName(name string) *Refusal {
	hyphens := hyphenated(name)
	if hyphens != name && strings.HasPrefix(hyphens, fencingPrefix) {
		return malformed(hyphens, "was sent with an underscore in its name, "+name)
	}
	for _, o := range overrides {
		if hyphens == o {
			return &Refusal{Reason: reasonMalformed, Detail: "The header " + name +
				" asks for another method than the one that was judged. Send that method itself."}
		}
	}
	return nil
}

// hyphenated returns the header name that CGI and its kin read as the same
// variable as name.
func hyphenated(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// checkHops refuses requests whose Connection or Trailer header names what
// must reach its reader.
func checkHops(r *http.Request) *Refusal {
	for _, line := range r.Header["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			name := http.CanonicalHeaderKey(hyphenated(strings.TrimSpace(option)))
			if strings.HasPrefix(name, fencingPrefix) {
				return malformed(name, "was named in Connection, which asks for it to be dropped")
			}
			for _, prefix := range endToEnd {
				if strings.HasPrefix(name, prefix) {
					return &Refusal{Reason: reasonMalformed,
						Detail: "Connection names " + name + ", without which the request would mean something else."}
				}
			}
		}
	}
	// The server moves what a Trailer header announces to r.Trailer, but only
	// where a trailer can come; elsewhere it is as wrong.
	for _, line := range r.Header["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			if ref := checkTrailer(http.Header{strings.TrimSpace(name): nil}); ref != nil {
				return ref
			}
		}
	}
	return checkTrailer(r.Trailer)
}

// checkTrailer refuses fencing headers among trailers: they would arrive after
// the request was judged.
func checkTrailer(trailer http.Header) *Refusal {
	for name := range trailer {
		if hyphens := http.CanonicalHeaderKey(hyphenated(name)); strings.HasPrefix(hyphens, fencingPrefix) {
			return malformed(hyphens, "was sent as a trailer; send it as a header")
		}
	}
	return nil
}

// malformed refuses because of one fencing header. Owner headers have a reason
// of their own.
func malformed(header, detail string) *Refusal {
	reason := reasonTokenMalformed
	if strings.HasPrefix(header, headerOwner) {
		reason = reasonOwnerMalformed
	}
	return &Refusal{Reason: reason, Detail: header + ": " + detail + "."}
}
