package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"fencegate/fence"
)

// maxClaim is the longest claim in bytes.
const maxClaim = 1 << 20

// maxClaimed is how many resources one claim may name.
const maxClaimed = 1000

// claimRequest is the body of a claim. Resources are escaped paths, as they
// stand in a URL; tokens are decimal strings.
type claimRequest struct {
	Resource  *string   `json:"resource"`
	Resources *[]string `json:"resources"`
	Token     string    `json:"token"`
	Owner     *string   `json:"owner"`
	Client    string    `json:"client"`
	Tree      bool      `json:"tree"`
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
	in := p.takeIn(x, nil)
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
	var c claimRequest
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, bad(`A claim is a JSON object such as {"resource":"/r","token":"34","owner":"…"}: ` + err.Error() + ".")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad("There is more after the claim's JSON object.")
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
