package proxy

import (
	"net/http"
	"time"

	"fencegate/fence"
)

// Reasons of refusals that are not the gate's. They are part of the HTTP
// contract, like the gate's own.
const (
	reasonNotFenceRoot     fence.Reason = "not_a_fence_root"
	reasonOwnerMissing     fence.Reason = "owner_missing"
	reasonTokenMalformed   fence.Reason = "token_malformed"
	reasonTokenImplausible fence.Reason = "token_implausible"
	reasonOwnerMalformed   fence.Reason = "owner_malformed"
	reasonPath             fence.Reason = "path_ambiguous"
	reasonMalformed        fence.Reason = "request_malformed"
	reasonPathLong         fence.Reason = "path_too_long"
	reasonMethod           fence.Reason = "method_refused"
	reasonNotFound         fence.Reason = "not_found"
	reasonUnreachable      fence.Reason = "upstream_unreachable"
	reasonForeign          fence.Reason = "destination_foreign"
	reasonUnknown          fence.Reason = "outcome_unknown"
	reasonTimeout          fence.Reason = "upstream_timeout"
	reasonBodyLarge        fence.Reason = "body_too_large"
	reasonSpoolFull        fence.Reason = "spool_full"
	reasonBodyTimeout      fence.Reason = "body_timeout"
)

// answers gives each reason its status and title. A reason that is not here is
// never answered.
var answers = map[fence.Reason]struct {
	status int
	title  string
}{
	fence.StaleToken:        {http.StatusPreconditionFailed, "The fencing token is stale"},
	fence.OwnerConflict:     {http.StatusConflict, "Another owner holds this fencing token"},
	fence.TreeFenced:        {http.StatusConflict, "A path below is fenced by a newer token"},
	fence.TokenMissing:      {http.StatusPreconditionRequired, "A fencing token is required"},
	reasonOwnerMissing:      {http.StatusPreconditionRequired, "An owner is required"},
	reasonNotFenceRoot:      {http.StatusConflict, "This name is not a fenced resource"},
	reasonTokenMalformed:    {http.StatusBadRequest, "The fencing token is malformed"},
	reasonTokenImplausible:  {http.StatusBadRequest, "The fencing token is implausible"},
	reasonOwnerMalformed:    {http.StatusBadRequest, "The owner is malformed"},
	reasonPath:              {http.StatusBadRequest, "The path is ambiguous"},
	reasonMalformed:         {http.StatusBadRequest, "The request is malformed"},
	reasonPathLong:          {http.StatusRequestURITooLong, "The path is too long"},
	reasonMethod:            {http.StatusMethodNotAllowed, "The method is refused"},
	reasonNotFound:          {http.StatusNotFound, "There is no such endpoint"},
	reasonUnreachable:       {http.StatusBadGateway, "The store could not be reached"},
	reasonForeign:           {http.StatusBadGateway, "The destination is not in this store"},
	reasonUnknown:           {http.StatusGatewayTimeout, "The outcome is unknown"},
	reasonTimeout:           {http.StatusGatewayTimeout, "The store did not answer"},
	fence.LedgerUnavailable: {http.StatusServiceUnavailable, "The ledger is unavailable"},
	fence.Draining:          {http.StatusServiceUnavailable, "fencegate is stopping"},
	fence.Recovering:        {http.StatusServiceUnavailable, "fencegate is recovering"},
	fence.Settling:          {http.StatusServiceUnavailable, "An earlier write is in doubt"},
	fence.Busy:              {http.StatusServiceUnavailable, "An earlier write is in progress"},
	reasonBodyLarge:         {http.StatusRequestEntityTooLarge, "The body is too large"},
	reasonSpoolFull:         {http.StatusInsufficientStorage, "No room to take in the body"},
	reasonBodyTimeout:       {http.StatusRequestTimeout, "The body did not arrive in time"},
}

// Refusal is an answer of fencegate's own that is not a success.
type Refusal struct {
	Reason fence.Reason
	// Status replaces the reason's usual status if set.
	Status int
	// Detail says what to do, and whether an override is safe.
	Detail   string
	Resource fence.Resource
	Token    fence.Token
	// Highest is the token that stands in the way, Holder its row.
	Highest    fence.Token
	Holder     fence.Row
	RetryAfter time.Duration
	Allow      []string
	FenceRoot  fence.Resource
	// Err is the cause, for the log only.
	Err error
}

func (ref *Refusal) status() int {
	if ref.Status != 0 {
		return ref.Status
	}
	return answers[ref.Reason].status
}

// about fills in what the refusal is about where it does not say so itself.
func (ref *Refusal) about(q *request) {
	if ref.Resource.IsZero() && !q.own { // of our own the path is no resource
		ref.Resource = q.resource
	}
	if ref.Token == fence.NoToken {
		ref.Token = q.stamp.Token
	}
}

// verdictRefusal turns what the gate says of a request's touches into an answer.
func verdictRefusal(v fence.Verdict, touches []fence.Touch) *Refusal {
	t := &touches[v.Touch]
	return &Refusal{
		Reason: v.Reason, Resource: t.Fence, Token: t.Token,
		Highest: v.Row.Token, Holder: v.Row, RetryAfter: v.RetryAfter, Err: v.Err,
		Detail: verdictDetail(v, t),
	}
}

func verdictDetail(v fence.Verdict, t *fence.Touch) string {
	switch v.Reason {
	case fence.StaleToken:
		return "Token " + t.Token.String() + " is older than " + v.Row.Token.String() + ", which was seen at " +
			v.Row.Path.String() + ". The lock has passed to a newer holder: stop writing, take the lock again and read " +
			"the current content first. Sending a higher number without holding the lock would destroy the newer holder's work."
	case fence.OwnerConflict:
		return "Token " + t.Token.String() + " was already used by another owner at " + v.Row.Path.String() +
			". Two holders were given the same number: take the lock again for a higher one."
	case fence.TreeFenced:
		return "This changes everything below " + t.Object.String() + ", but " + v.Row.Path.String() +
			" was written with token " + v.Row.Token.String() + ", which is newer than " + t.Token.String() +
			". Nothing was changed. Take the lock again, which gives a higher token."
	case fence.TokenMissing:
		if v.Row.Token != fence.NoToken {
			return "This resource is fenced by token " + v.Row.Token.String() +
				". Take its lock and send the token in X-Fencing-Token (fencegate lock, lockclient)."
		}
		return "Writes here need the header X-Fencing-Token with the token of the resource's lock (fencegate lock, lockclient)."
	case fence.LedgerUnavailable:
		return "The record of tokens cannot be read or written, so nothing protected may pass. Nothing was sent. The operator finds the cause in fencegate's log."
	case fence.Draining:
		return "Nothing was sent. Try again in a moment."
	case fence.Recovering:
		return "fencegate was not stopped cleanly: writes of its last run may still take effect. Nothing was sent; try again later."
	case fence.Settling:
		return "An earlier write on this resource had no definite answer and may still take effect. Nothing was sent; try again later."
	case fence.Busy:
		return "An earlier write on this resource has not ended, or too many requests are in flight. Nothing was sent; try again."
	}
	return ""
}
