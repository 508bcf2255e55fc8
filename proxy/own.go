package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fencegate/fence"
)

// ownPrefix is where the endpoints of fencegate itself are. Everything at and
// below it is ours, all else is the store's.
var ownPrefix = fence.ResourceOf("/.well-known/fencegate")

const (
	claimsPath = "/.well-known/fencegate/claims"
	marksPath  = "/.well-known/fencegate/marks"
)

// maxClaim is the longest claim in bytes.
const maxClaim = 1 << 20

// maxClaimed is how many resources one claim may name.
const maxClaimed = 1000

func isOwn(r fence.Resource) bool { return ownPrefix.Covers(r) }

// serveOwn answers what is for fencegate itself.
func (p *Proxy) serveOwn(x *exchange, q *request) *Refusal {
	switch q.resource.Key() {
	case claimsPath:
		if x.r.Method != http.MethodPost {
			return &Refusal{Reason: reasonMethod, Allow: []string{http.MethodPost}, Detail: "Claims are made by POST."}
		}
		return p.claim(x, q)
	case marksPath:
		if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
			return &Refusal{Reason: reasonMethod, Allow: []string{http.MethodGet, http.MethodHead}, Detail: "Marks are read by GET."}
		}
		return p.marks(x, q)
	}
	return &Refusal{Reason: reasonNotFound, Detail: "Below /.well-known/fencegate/ there are claims and marks."}
}

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

type claimAnswer struct {
	Resources []claimed `json:"resources"`
	Token     string    `json:"token"`
	Ledger    string    `json:"ledger"`
}

type claimed struct {
	Resource string `json:"resource"`
	// Covers is "object", or "tree" for everything below too.
	Covers string `json:"covers"`
	// Policy is told where it does not enforce, so that an answer of 200 does
	// not promise there what it promises elsewhere.
	Policy string `json:"policy,omitempty"`
}

// claim lets a new holder cut off the old one before it reads or writes: it
// does what a tokened read does, without touching the store.
func (p *Proxy) claim(x *exchange, q *request) *Refusal {
	body, ref := p.claimBody(x)
	if ref != nil {
		return ref
	}
	q.stamp = fence.Stamp{Client: fence.CleanClient(body.Client)}
	names, ref := p.readClaim(body, &q.stamp)
	if ref != nil {
		return ref
	}
	stamp := q.stamp
	answer := claimAnswer{Token: stamp.Token.String(), Ledger: p.opts.LedgerID}
	touches := make([]fence.Touch, 0, len(names))
	for _, name := range names {
		r, route, err := p.routes.named(name)
		if err != nil {
			return refusePath(err)
		}
		q.route = route
		t := route.touch(r, body.Tree, stamp)
		if t.Fence != r {
			return &Refusal{Reason: reasonNotFenceRoot, Resource: r, Token: stamp.Token, FenceRoot: t.Fence,
				Detail: "This path has no fence of its own: it is protected by that of " + t.Fence.String() + ". Lock and claim that."}
		}
		owner := route.OwnerRequired
		if t.Tree {
			t.Policy, owner = p.routes.strictest(r)
		}
		if owner && stamp.Owner == fence.NoOwner {
			return &Refusal{Reason: reasonOwnerMissing, Resource: r, Token: stamp.Token,
				Detail: "This route requires an owner beside the token."}
		}
		touches = append(touches, t)
		c := claimed{Resource: r.String(), Covers: "object"}
		if t.Tree || t.FenceTree {
			c.Covers = "tree"
		}
		if !t.Policy.Enforced() {
			c.Policy = t.Policy.String()
		}
		answer.Resources = append(answer.Resources, c)
	}
	permit, v := p.gate.Arrive(x.r.Context(), fence.Request{Touches: touches, Ask: true})
	if !v.OK() {
		return verdictRefusal(v, touches)
	}
	defer permit.Withdraw()
	p.noteObserved(x, q, permit, touches)
	if v := p.begin(x, permit); !v.OK() {
		return verdictRefusal(v, touches)
	}
	x.json(http.StatusOK, "application/json", answer)
	return nil
}

// claimBody reads the JSON of a claim strictly: a misspelt member would claim
// something else than was meant.
func (p *Proxy) claimBody(x *exchange) (*claimRequest, *Refusal) {
	bad := func(detail string) *Refusal { return &Refusal{Reason: reasonMalformed, Detail: detail} }
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

type markAnswer struct {
	Resource string `json:"resource"`
	Token    string `json:"token"`
	Since    string `json:"since,omitempty"`
	Client   string `json:"client,omitempty"`
	Owner    string `json:"owner_sha256,omitempty"`
	Via      string `json:"via,omitempty"`
}

// marks tells the highest durable token of a resource.
func (p *Proxy) marks(x *exchange, q *request) *Refusal {
	values, err := url.ParseQuery(q.query)
	names := values["resource"]
	if err != nil || len(names) != 1 || len(values) != 1 {
		return &Refusal{Reason: reasonMalformed, Detail: "Ask for one resource: marks?resource=/reports/q3.csv"}
	}
	r, _, err := p.routes.named(names[0])
	if err != nil {
		return refusePath(err)
	}
	row, global, err := p.gate.Effective(x.r.Context(), r)
	if err != nil {
		return &Refusal{Reason: fence.LedgerUnavailable, Resource: r, Err: err,
			Detail: verdictDetail(fence.Verdict{Reason: fence.LedgerUnavailable}, nil)}
	}
	a := markAnswer{Resource: r.String(), Token: row.Token.String()}
	if row.Token != fence.NoToken {
		a.Via = row.Kind.String()
		if global {
			a.Via = "global"
		} else {
			a.Since, a.Client, a.Owner = row.Since.UTC().Format(time.RFC3339Nano), row.Client, row.Owner.Digest()
		}
	}
	x.json(http.StatusOK, "application/json", a)
	return nil
}
