package proxy

import (
	"net/http"
	"net/url"
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
