package proxy

import (
	"net/http"

	"fencegate/fence"
)

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
	seen := make(map[fence.Resource]bool, len(names))
	for _, name := range names {
		r, route, err := p.routes.named(name)
		if err != nil {
			return refusePath(err)
		}
		if seen[r] {
			continue // another spelling of one that is judged already
		}
		seen[r] = true
		q.route = route
		t, owner, ref := p.routes.touch(route, r, body.Tree, stamp)
		if t.Fence != r {
			return &Refusal{Reason: reasonNotFenceRoot, Resource: r, Token: stamp.Token, FenceRoot: t.Fence,
				Detail: "This path has no fence of its own: it is protected by that of " + t.Fence.String() + ". Lock and claim that."}
		}
		if ref != nil {
			return ref
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
