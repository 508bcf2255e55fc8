package lockclient

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one Redis: a server, a Sentinel failover client or a Cluster.
type node struct {
	index   int
	address string // for messages: host and port, without user and password
	rdb     redis.UniversalClient
	// bounded: the deadline of a call's context ends its wait for an answer.
	bounded bool
	// slow is set while the node answers later than a quorum of the others, or
	// not at all: nobody waits for it then. probe is held by the one call that a
	// slow node is given at a time.
	slow  atomic.Bool
	probe chan struct{}
}

func newNode(index int, rdb redis.UniversalClient) *node {
	n := &node{index: index, rdb: rdb, probe: make(chan struct{}, 1)}
	switch r := rdb.(type) {
	case *redis.Client:
		n.address = r.Options().Addr
		n.bounded = r.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		n.address = "cluster"
	default:
		n.address = fmt.Sprintf("%T", rdb)
	}
	return n
}

// poolSize is how many connections go-redis keeps to the node; 0 if unknown.
func (n *node) poolSize() int {
	switch r := n.rdb.(type) {
	case *redis.Client:
		return r.Options().PoolSize
	case *redis.ClusterClient:
		return r.Options().PoolSize
	}
	return 0
}

// bound is run for a caller that waits for it, until ctx ends after timeout.
func (n *node) bound(ctx context.Context, timeout time.Duration, v invocation) answer {
	got, err := v.run(ctx, n.rdb)
	return n.inTime(ctx, timeout, n.answer(ctx, got, err))
}

// inTime names the end of ctx as the reason why there was no answer. The socket
// may notice it a moment before the context does.
func (n *node) inTime(ctx context.Context, timeout time.Duration, a answer) answer {
	if a.err != nil && errors.Is(a.err, ErrRedisUnreachable) {
		if end, _ := ctx.Deadline(); ctx.Err() != nil || time.Until(end) <= 0 {
			return answer{err: fmt.Errorf("%w within %v", ErrRedisUnreachable, timeout)}
		}
	}
	return a
}

func (n *node) run(ctx context.Context, v invocation) answer {
	got, err := v.run(ctx, n.rdb)
	return n.answer(ctx, got, err)
}

// answer is what a script's elements, or the error of the call, say.
func (n *node) answer(ctx context.Context, got []string, err error) answer {
	var served redis.Error
	switch {
	case err == nil && len(got) == 2:
		return answer{status: got[0], value: got[1]}
	case err == nil && len(got) == 3:
		return answer{status: got[0], value: got[1], note: got[2]}
	case err == nil:
		return answer{err: fmt.Errorf("redis: a script answered %d values instead of 2 or 3", len(got))}
	case errors.As(err, &served):
		return answer{err: fmt.Errorf("redis: %w", err)}
	case ctx.Err() != nil:
		n.lookAgain(ctx)
		return answer{err: fmt.Errorf("%w: the call was given up", ErrRedisUnreachable)}
	default:
		n.lookAgain(ctx)
		return answer{err: fmt.Errorf("%w: %w", ErrRedisUnreachable, err)}
	}
}

// lookAgain has a Cluster client ask who has the slots now. By itself it asks
// a master that is dead over and over until its view is a minute old
// (ClusterOptions.ClusterStateReloadInterval), long after a replica took over.
func (n *node) lookAgain(ctx context.Context) {
	if cluster, ok := n.rdb.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx) // in the background, one at a time
	}
}

// discardWait bounds the clean-up after a call with an unknown result.
const discardWait = 5 * time.Second

// discard frees a lock that an unanswered call may have taken. The call may
// still sit in a socket when Redis answers this one, so that "missing" is
// believed only after a few looks. What this misses ends with the TTL.
func (n *node) discard(r request) {
	ctx, cancel := context.WithTimeout(context.Background(), min(r.ttl, discardWait))
	defer cancel()
	for try, looks := 0, 0; looks < 4; try++ {
		a := n.run(ctx, r.release())
		if a.err == nil {
			if a.status == statusOK {
				return
			}
			looks++
		}
		if !pause(ctx, backoff(try)) {
			return
		}
	}
}
