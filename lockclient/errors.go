package lockclient

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

// Why a lock was not acquired. Each is matched with errors.Is; Lock adds
// ctx.Err() when the context ended the wait.
var (
	// ErrNotAcquired: another holds the lock, and it did not become free in time.
	ErrNotAcquired = errors.New("the lock is held by another")
	// ErrRedisUnreachable: Redis gave no answer.
	ErrRedisUnreachable = errors.New("redis did not answer")
	// ErrFenceUnreachable: the fence did not answer the claim, or what answers
	// there is no fence. The lock was given back: without the fence's word a
	// paused earlier holder may still write.
	ErrFenceUnreachable = errors.New("the fence did not confirm the claim")
	// ErrTokenExhausted: no token is left below 2^53. Somebody set the counter
	// or a mark far too high; the text says which.
	ErrTokenExhausted = errors.New("no token is left below 2^53")
	// ErrCounter: the counter key holds something else than a number.
	ErrCounter = errors.New("the token counter does not hold a number")
	// ErrNoQuorum: of several independent nodes too few granted the lock. It comes
	// as a *QuorumError, which says what each of them answered.
	ErrNoQuorum = errors.New("no quorum of the redis nodes")
	// ErrRedisVersion: Redis is older than 5 and cannot run the scripts.
	ErrRedisVersion = errors.New("redis is too old")
	// ErrClosed: the Client was closed.
	ErrClosed = errors.New("the lock client is closed")
)

// Why a lock cannot be released. The three last ones match ErrNotHeld.
var (
	ErrNotHeld = errors.New("the lock is not held")
	// ErrReleased: this Lock was released before.
	ErrReleased = fmt.Errorf("%w: it was released before", ErrNotHeld)
	// ErrLeaseExpired: the lease ran out, or its key vanished from Redis.
	ErrLeaseExpired = fmt.Errorf("%w: the lease ran out", ErrNotHeld)
	// ErrTakenOver: a later acquisition holds the lock, as Redis or the fence
	// told.
	ErrTakenOver = fmt.Errorf("%w: a later acquisition has taken over", ErrNotHeld)
)

// ErrMaxHold is in the *LostError of a lock that was held for as long as
// WithMaxHold allows.
var ErrMaxHold = errors.New("held for as long as the maximum allows")

// ErrLost matches every *LostError.
var ErrLost = errors.New("the lock is lost")

// HeldError: the lock was not acquired because another holds a resource. It
// matches ErrNotAcquired.
type HeldError struct {
	Resource fence.Resource // the one that was in the way last
	Waited   time.Duration
	Err      error // ErrNotAcquired with, where a context ended the wait, its error and cause; or a *QuorumError
}

func (e *HeldError) Error() string {
	s := fmt.Sprintf("%s: %v", e.Resource, e.Err)
	if e.Waited > 0 {
		s += fmt.Sprintf(": waited %v", e.Waited)
	}
	return s
}

func (e *HeldError) Unwrap() error { return e.Err }

// QuorumError: too few of several independent nodes agreed. It matches
// ErrNoQuorum; ErrNotAcquired if a node said that another holds the lock; and
// ErrRedisUnreachable if so many nodes gave no answer that the others are no
// quorum.
type QuorumError struct {
	Got, Need, Of int
	Nodes         *multierror.Error // a *NodeError for each that did not agree

	is     []error
	silent int  // how many gave no answer
	retry  bool // it may be otherwise soon
}

func (e *QuorumError) Error() string {
	return fmt.Sprintf("%v: %d of %d agreed, %d are needed: %v", ErrNoQuorum, e.Got, e.Of, e.Need, e.Nodes)
}

// Unwrap returns what the error matches as a whole, and the nodes' errors.
func (e *QuorumError) Unwrap() []error { return append([]error{ErrNoQuorum, e.Nodes}, e.is...) }

// NodeError is what went wrong at one node. Err is not in the error chain: what
// one node says is not true of the lock.
type NodeError struct {
	Index   int    // as given to NewRedlock, from 0
	Address string // host and port
	Err     error
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %d (%s): %v", e.Index, e.Address, e.Err) }

// inOneLine is how the nodes' errors are put together.
func inOneLine(errs []error) string {
	text := make([]string, len(errs))
	for i, err := range errs {
		text[i] = err.Error()
	}
	return strings.Join(text, "; ")
}

// LostReason says why a lease ended before it was released.
type LostReason string

const (
	// Expired: the local deadline passed with no renewal due or tried (a
	// pause), Redis no longer has the key, or WithMaxHold is reached (ErrMaxHold).
	Expired LostReason = "expired"
	// Stolen: Redis names another owner.
	Stolen LostReason = "stolen"
	// Unreachable: the local deadline passed while renewals went unanswered.
	Unreachable LostReason = "unreachable"
	// Fenced: the fence refused the token; it is final.
	Fenced LostReason = "fenced"
)

// LostError is the cause with which Lock.Context is cancelled when the lease
// ends other than by Unlock. It matches ErrLost.
type LostError struct {
	Resource fence.Resource
	Token    fence.Token
	Reason   LostReason
	Err      error // what brought it to light, may be nil
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("the lock on %s (token %s) is lost: %s", e.Resource, e.Token, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *LostError) Unwrap() error { return e.Err }

// Is makes every LostError match ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// notHeld is what Unlock returns for a lock that was lost.
func (e *LostError) notHeld() error {
	if e.Reason == Stolen || e.Reason == Fenced {
		return fmt.Errorf("%w: %w", ErrTakenOver, e)
	}
	return fmt.Errorf("%w: %w", ErrLeaseExpired, e)
}

// FencedError: the fence has seen a later acquisition. It is final: the write
// did not take effect and never will. After stale_token and owner_conflict no
// later one with this token can either; tree_fenced refuses only this change of a
// tree in which something was written by a later holder.
type FencedError struct {
	Reason    string // stale_token, owner_conflict or tree_fenced
	Resource  fence.Resource
	Token     fence.Token
	Highest   fence.Token // the highest token the fence knows; 0 if it did not say
	RequestID string
	Detail    string
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("fenced: %s: token %s on %s, the highest seen is %s%s%s",
		e.Reason, e.Token, e.Resource, e.Highest, opt("; ", e.Detail), opt("; request ", e.RequestID))
}

// OutcomeUnknownError: a write was sent and may or may not take effect. Look
// at the stored object once RetryAfter has passed; repeating the write with
// the same lock is safe if it is safe to apply it twice.
type OutcomeUnknownError struct {
	Resource   fence.Resource
	Token      fence.Token
	RetryAfter time.Duration // 0 if unknown
	RequestID  string
	Detail     string
	Err        error // the transport's error, may be nil
	// Refused is set when a later try of the same write was fenced. It is not
	// in the error chain: there it would say that the write never happened.
	Refused *FencedError
}

func (e *OutcomeUnknownError) Error() string {
	s := fmt.Sprintf("the outcome of a write to %s with token %s is unknown%s%s",
		e.Resource, e.Token, opt("; ", e.Detail), opt("; request ", e.RequestID))
	if e.RetryAfter > 0 {
		s += fmt.Sprintf("; settled after %s", e.RetryAfter)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Refused != nil {
		s += ": " + e.Refused.Error()
	}
	return s
}

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// ClaimError is a refusal of the claim that a new token cannot heal.
type ClaimError struct {
	Status     int
	Reason     string // as in X-Fencing-Reason
	Resource   fence.Resource
	FenceRoot  string // not_a_fence_root: the name to lock instead, escaped
	Detail     string
	RequestID  string
	RetryAfter time.Duration // 0 if the fence named none
}

func (e *ClaimError) Error() string {
	s := fmt.Sprintf("the fence refused the claim on %s: %d %s%s%s",
		e.Resource, e.Status, e.Reason, opt("; ", e.Detail), opt("; request ", e.RequestID))
	if e.FenceRoot != "" {
		s += fmt.Sprintf("; lock %s instead", e.FenceRoot)
	}
	return s
}

// TokenGapError: the fence has seen a token so far above what this Redis
// issues that closing the gap would use up tokens recklessly.
type TokenGapError struct {
	Resource   fence.Resource
	Highest    fence.Token // what the fence has seen
	Limit      fence.Token // the highest token Redis may jump to
	CounterKey string
}

func (e *TokenGapError) Error() string {
	return fmt.Sprintf("the fence's highest token for %s is %s, but this Redis may go up to %s at once: "+
		"check that one Redis issues all tokens of this fence and that its clock is right, then SET %s %s",
		e.Resource, e.Highest, e.Limit, e.CounterKey, e.Highest)
}

// ScopeError: the Transport refused a request that this lock does not protect,
// or to follow a redirect to URL. Nothing was sent there.
type ScopeError struct {
	Method string
	URL    string // without user, password and query
	Lock   fence.Resource
	Why    string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("%s %s refused, nothing was sent: the lock is on %s: %s", e.Method, e.URL, e.Lock, e.Why)
}

func opt(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + strings.ReplaceAll(s, "\n", " ")
}
