package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"fencegate/fence"
)

// maxClaim is the longest claim in bytes.
const maxClaim = 1 << 20

// maxClaimed is how many resources one claim may name.
const maxClaimed = 1000

// claimRequest is the body of a claim. Resources are escaped paths, as they
// stand in a URL; tokens are decimal strings.
type claimRequest struct {
	Resource  *string
	Resources *[]string
	Token     string
	Owner     *string
	Client    string
	Tree      bool
}

// checkClaimHead refuses what a browser may send on behalf of any page: a claim
// cuts off a holder and cannot be taken back. Without asking first a page can
// send no JSON type (Fetch, "CORS-safelisted request-header"), and what it sends
// carries its Origin.
func checkClaimHead(h http.Header) *Refusal {
	bad := func(detail string) *Refusal { return &Refusal{Reason: reasonMalformed, Detail: detail} }
	if site := h.Get("Sec-Fetch-Site"); h.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin" {
		return bad("Claims are not taken from web pages, and this one came with Origin or Sec-Fetch-Site.")
	}
	lines := h["Content-Type"]
	if len(lines) == 1 {
		if kind, _, err := mime.ParseMediaType(lines[0]); err == nil && kind == "application/json" {
			return nil
		}
	}
	return bad("A claim is JSON and has to say so; add -H 'Content-Type: application/json' to curl.")
}

// claimBody reads the JSON of a claim strictly: a misspelt member would claim
// something else than was meant.
func (p *Proxy) claimBody(x *exchange) (*claimRequest, *Refusal) {
	bad := func(detail string) *Refusal { return &Refusal{Reason: reasonMalformed, Detail: detail} }
	if ref := checkClaimHead(x.r.Header); ref != nil {
		return nil, ref
	}
	if x.r.ContentLength > maxClaim {
		return nil, &Refusal{Reason: reasonBodyLarge, Detail: "A claim is at most 1 MiB."}
	}
	in := p.takeIn(x)
	defer in.release()
	text, err := io.ReadAll(io.LimitReader(in, maxClaim+1))
	var failed bodyError
	switch {
	case errors.As(err, &failed):
		return nil, failed.Refusal
	case err != nil:
		return nil, bad("The claim could not be read: " + err.Error() + ".")
	case len(text) > maxClaim:
		return nil, &Refusal{Reason: reasonBodyLarge, Detail: "A claim is at most 1 MiB."}
	}
	c, err := decodeClaim(text)
	if err != nil {
		return nil, bad(`A claim is a JSON object such as {"resource":"/r","token":"34","owner":"…"}: ` + err.Error() + ".")
	}
	return c, nil
}

// decodeClaim takes every member once and under its exact name. By itself
// encoding/json takes the last of several, spelt in any case, and another
// character for what is no UTF-8.
func decodeClaim(text []byte) (*claimRequest, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is no UTF-8")
	}
	var c claimRequest
	members := map[string]any{
		"resource": &c.Resource, "resources": &c.Resources, "token": &c.Token,
		"owner": &c.Owner, "client": &c.Client, "tree": &c.Tree,
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		to := members[name.(string)]
		if to == nil {
			return nil, fmt.Errorf("%q is unknown, or there twice", name)
		}
		delete(members, name.(string))
		if err := d.Decode(to); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the object")
	}
	return &c, nil
}

// readClaim checks the members of a claim and returns the names in it.
func (p *Proxy) readClaim(c *claimRequest, s *fence.Stamp) ([]string, *Refusal) {
	bad := func(detail string) ([]string, *Refusal) {
		return nil, &Refusal{Reason: reasonMalformed, Detail: detail}
	}
	var names []string
	switch {
	case c.Resource != nil && c.Resources == nil:
		names = []string{*c.Resource}
	case c.Resource == nil && c.Resources != nil:
		names = *c.Resources
	default:
		return bad(`A claim has either "resource" or "resources".`)
	}
	if len(names) == 0 || len(names) > maxClaimed {
		return bad(fmt.Sprintf("A claim names 1 to %d resources.", maxClaimed))
	}
	if c.Token == "" {
		return nil, &Refusal{Reason: fence.TokenMissing, Detail: `A claim needs "token", a decimal string.`}
	}
	var err error
	if s.Token, err = p.parseToken(c.Token); err != nil {
		return nil, refuseToken(`"token"`, err)
	}
	if c.Owner != nil {
		if s.Owner, err = fence.ParseOwner(*c.Owner); err != nil {
			return nil, &Refusal{Reason: reasonOwnerMalformed, Detail: `"owner": ` + err.Error() + "."}
		}
	}
	return names, nil
}
