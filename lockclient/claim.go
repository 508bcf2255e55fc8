package lockclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"fencegate/fence"
)

const (
	claimsPath = "/.well-known/fencegate/claims"

	headerToken   = "X-Fencing-Token"
	headerOwner   = "X-Fencing-Owner"
	headerClient  = "X-Fencing-Client"
	headerReason  = "X-Fencing-Reason"
	headerHighest = "X-Fencing-Highest"

	reasonStale         = "stale_token"
	reasonOwnerConflict = "owner_conflict"
	reasonTreeFenced    = "tree_fenced"
	reasonUnknown       = "outcome_unknown"
)

// maxAnswer bounds what is read of an answer of the fence.
const maxAnswer = 64 << 10

// claimRequest and claimAnswer are the bodies of a claim; problem is that of
// every refusal (RFC 9457). Tokens are decimal strings.
type claimRequest struct {
	Resource string `json:"resource"`
	Token    string `json:"token"`
	Owner    string `json:"owner"`
	Client   string `json:"client"`
	Tree     bool   `json:"tree"`
}

type claimAnswer struct {
	Resources []struct {
		Resource string `json:"resource"`
		Covers   string `json:"covers"` // "object" or "tree"
	} `json:"resources"`
	Token string `json:"token"`
}

type problem struct {
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
	Highest   string `json:"highest"`
	FenceRoot string `json:"fence_root"`
	RequestID string `json:"request_id"`
}

// claimOnce asks the fence once to cut off all earlier holders. It returns nil
// once the cut-off holds, and whether it covers everything below. Errors:
// *FencedError if the fence has seen a later acquisition, *ClaimError for other
// refusals, else ErrFenceUnreachable.
func (l *Lock) claimOnce(ctx context.Context, s fence.Stamp) (tree bool, err error) {
	body, err := json.Marshal(claimRequest{l.resource.String(), s.Token.String(), string(s.Owner), s.Client, l.set.tree})
	if err != nil {
		return false, fmt.Errorf("claim: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.set.fence.String()+claimsPath, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("claim: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	// A claim may be repeated. The key without a value is not sent; it lets
	// net/http replace a pooled connection that the fence has just closed.
	req.Header["Idempotency-Key"] = nil
	resp, err := l.claimClient().Do(req)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrFenceUnreachable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrFenceUnreachable, err)
	}
	if resp.StatusCode == http.StatusOK {
		return l.confirmed(data, s)
	}
	return false, l.refused(resp, data, s)
}

// claimClient follows no redirect: that would show the owner to another host.
func (l *Lock) claimClient() *http.Client {
	h := l.c.http
	if l.set.http != nil {
		h = l.set.http
	}
	direct := *h
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &direct
}

// confirmed checks that a 200 speaks of our claim, and not of another name
// that a proxy or a misconfigured route made of it.
func (l *Lock) confirmed(data []byte, s fence.Stamp) (tree bool, err error) {
	var a claimAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return false, fmt.Errorf("%w: its answer is no claim: %w", ErrFenceUnreachable, err)
	}
	if a.Token != s.Token.String() || len(a.Resources) != 1 {
		return false, fmt.Errorf("%w: it answered for token %q and %d resources", ErrFenceUnreachable, a.Token, len(a.Resources))
	}
	got := a.Resources[0]
	r, err := fence.Canonical(got.Resource, l.set.names)
	if err != nil || r != l.resource {
		return false, fmt.Errorf("%w: it claimed %q instead of %s", ErrFenceUnreachable, got.Resource, l.resource)
	}
	tree = got.Covers == "tree"
	if l.set.tree && !tree {
		return false, fmt.Errorf("%w: it claimed %s without what is below", ErrFenceUnreachable, l.resource)
	}
	return tree, nil
}

func (l *Lock) refused(resp *http.Response, data []byte, s fence.Stamp) error {
	reason := resp.Header.Get(headerReason)
	if reason == "" {
		return fmt.Errorf("%w: %s answered %s without %s: it is no fencegate, or something in front of it answered",
			ErrFenceUnreachable, l.set.fence, resp.Status, headerReason)
	}
	p := readProblem(data)
	if final(resp.StatusCode, reason) {
		return fencedError(resp, p, l.resource, s.Token)
	}
	return &ClaimError{
		Status: resp.StatusCode, Reason: reason, Resource: l.resource, FenceRoot: p.FenceRoot,
		Detail: p.Detail, RequestID: p.RequestID, RetryAfter: retryAfter(resp.Header),
	}
}

// final reports whether an answer with X-Fencing-Reason says that a later
// acquisition was seen.
func final(status int, reason string) bool {
	switch status {
	case http.StatusPreconditionFailed:
		return reason == reasonStale
	case http.StatusConflict:
		return reason == reasonOwnerConflict || reason == reasonTreeFenced
	}
	return false
}

func fencedError(resp *http.Response, p problem, r fence.Resource, t fence.Token) *FencedError {
	highest := p.Highest
	if h := resp.Header.Get(headerHighest); h != "" {
		highest = h
	}
	n, err := fence.ParseToken(highest, fence.MaxToken)
	if err != nil {
		n = fence.NoToken
	}
	return &FencedError{
		Reason: resp.Header.Get(headerReason), Resource: r, Token: t, Highest: n,
		RequestID: p.RequestID, Detail: p.Detail,
	}
}

// readProblem returns what it can: the headers alone decide, a HEAD has no body.
func readProblem(data []byte) problem {
	var p problem
	_ = json.Unmarshal(data, &p)
	return p
}

// retryAfter reads the delay form; the fence sends no dates. 0 means none.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 || n > 86400 {
		return 0
	}
	return time.Duration(n) * time.Second
}
