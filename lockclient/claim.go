package lockclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	Resource  string   `json:"resource,omitempty"` // or Resources
	Resources []string `json:"resources,omitempty"`
	Token     string   `json:"token"`
	Owner     string   `json:"owner"`
	Client    string   `json:"client"`
	Tree      bool     `json:"tree"`
}

type claimAnswer struct {
	Resources []claimedName `json:"resources"`
	Token     string        `json:"token"`
}

type claimedName struct {
	Resource string `json:"resource"`
	Covers   string `json:"covers"` // "object" or "tree"
}

type problem struct {
	Resource  string `json:"resource"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
	Highest   string `json:"highest"`
	FenceRoot string `json:"fence_root"`
	RequestID string `json:"request_id"`
}

// claimOnce asks the fence once to cut off all earlier holders. It returns nil
// once the cut-off holds, and which resources it covers with all below. Errors:
// *FencedError if the fence has seen a later acquisition, *ClaimError for other
// refusals, else ErrFenceUnreachable.
func (s *shared) claimOnce(ctx context.Context, stamp fence.Stamp) (tree []bool, err error) {
	claim := claimRequest{Token: stamp.Token.String(), Owner: string(stamp.Owner), Client: stamp.Client, Tree: s.set.tree}
	if len(s.set.resources) == 1 {
		claim.Resource = s.Resource().String()
	} else {
		for _, r := range s.set.resources {
			claim.Resources = append(claim.Resources, r.String())
		}
	}
	body, err := json.Marshal(claim)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.set.fence.String()+claimsPath, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	// A claim may be repeated. The key without a value is not sent; it lets
	// net/http replace a pooled connection that the fence has just closed.
	req.Header["Idempotency-Key"] = nil
	resp, err := s.claimClient().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFenceUnreachable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFenceUnreachable, err)
	}
	if resp.StatusCode == http.StatusOK {
		return s.confirmed(data, stamp)
	}
	return nil, s.refused(resp, data, stamp)
}

// claimClient follows no redirect: that would show the owner to another host.
func (s *shared) claimClient() *http.Client {
	h := s.c.http
	if s.set.http != nil {
		h = s.set.http
	}
	direct := *h
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &direct
}

// confirmed checks that a 200 speaks of our claim, and not of another name
// that a proxy or a misconfigured route made of it.
func (s *shared) confirmed(data []byte, stamp fence.Stamp) (tree []bool, err error) {
	var a claimAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%w: its answer is no claim: %w", ErrFenceUnreachable, err)
	}
	if a.Token != stamp.Token.String() || len(a.Resources) != len(s.set.resources) {
		return nil, fmt.Errorf("%w: it answered for token %q and %d resources instead of %d",
			ErrFenceUnreachable, a.Token, len(a.Resources), len(s.set.resources))
	}
	tree = make([]bool, len(s.set.resources))
	seen := make([]bool, len(s.set.resources))
	for _, got := range a.Resources {
		r, err := fence.Canonical(got.Resource, s.set.names)
		i := slices.Index(s.set.resources, r)
		if err != nil || i < 0 || seen[i] {
			return nil, fmt.Errorf("%w: it claimed %q instead of %s", ErrFenceUnreachable, got.Resource, s.names())
		}
		seen[i], tree[i] = true, got.Covers == "tree"
		if s.set.tree && !tree[i] {
			return nil, fmt.Errorf("%w: it claimed %s without what is below", ErrFenceUnreachable, r)
		}
	}
	return tree, nil
}

func (s *shared) refused(resp *http.Response, data []byte, stamp fence.Stamp) error {
	reason := resp.Header.Get(headerReason)
	if reason == "" {
		return fmt.Errorf("%w: %s answered %s without %s: it is no fencegate, or something in front of it answered",
			ErrFenceUnreachable, s.set.fence, resp.Status, headerReason)
	}
	p := readProblem(data)
	r := s.named(p.Resource)
	if final(resp.StatusCode, reason) {
		return fencedError(resp, p, r, stamp.Token)
	}
	return &ClaimError{
		Status: resp.StatusCode, Reason: reason, Resource: r, FenceRoot: p.FenceRoot,
		Detail: p.Detail, RequestID: p.RequestID, RetryAfter: retryAfter(resp.Header),
	}
}

// named returns which locked resource an answer is about: the first, unless it
// names another.
func (s *shared) named(path string) fence.Resource {
	if r, err := fence.Canonical(path, s.set.names); err == nil && slices.Contains(s.set.resources, r) {
		return r
	}
	return s.Resource()
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
