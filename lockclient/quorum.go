package lockclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// NewRedlock returns a client that takes locks in a quorum of independent Redis
// nodes: three or more, an odd number, as an even one survives no more failures.
// Locks work while a minority is dead, slow, frozen or empty. Independent means
// no replication between them: a Sentinel or Cluster is one node. Otherwise it is
// as New.
//
// Tokens rise as they do in one Redis, which takes two round trips: a quorum
// grants the lock, each with a token of its own; the highest is the lock's, and is
// written back to those that granted it and still hold it for this owner. Only a
// quorum of these makes the lock held. The steps and the arithmetic for other
// languages are in CONTRACT.md.
//
// A node that lost its data (a restart without persistence, FLUSHALL, a new
// machine) must not rejoin before the longest TTL in use has passed, and not with
// a counter below the highest of a quorum of the others: SET it before clients can
// reach the node. It could otherwise help a second holder to a quorum, or to an
// old token.
func NewRedlock(rdbs []redis.UniversalClient, opts ...Option) (*Client, error) {
	if len(rdbs) < 3 {
		return nil, fmt.Errorf("lockclient: %d nodes: Redlock needs at least 3, use New for one Redis", len(rdbs))
	}
	all := make([]*node, len(rdbs))
	for i, rdb := range rdbs {
		if rdb == nil {
			return nil, fmt.Errorf("lockclient: the redis client of node %d is nil", i)
		}
		all[i] = newNode(i, rdb)
		for _, other := range all[:i] {
			if all[i].same(other) {
				return nil, fmt.Errorf("lockclient: nodes %d and %d are the same redis (%s): a quorum of one node twice is none",
					other.index, i, all[i].address)
			}
		}
	}
	c, err := newClient(all, opts)
	if err != nil {
		return nil, err
	}
	c.nodes = &quorum{c, all, len(all)/2 + 1}
	return c, nil
}

// same reports what can be told without asking: Check asks.
func (n *node) same(o *node) bool {
	if n.rdb == o.rdb {
		return true
	}
	a, isClient := n.rdb.(*redis.Client)
	b, bothClients := o.rdb.(*redis.Client)
	// A failover client's address is the same made-up one in all of them.
	return isClient && bothClients && a.Options().Addr == b.Options().Addr && a.Options().Addr != failoverAddr
}

const failoverAddr = "FailoverClient"

// quorum is several independent nodes, of which need decide.
type quorum struct {
	c     *Client
	nodes []*node
	need  int
}

func (q *quorum) list() []*node { return q.nodes }
func (q *quorum) quorum() int   { return q.need }

// nodeTimeout bounds a call to one node: 5 % of the TTL, so that asking leaves
// most of the lease, between 5 and 50 ms.
func nodeTimeout(ttl time.Duration) time.Duration {
	return max(5*time.Millisecond, min(50*time.Millisecond, ttl/20))
}

func (q *quorum) acquire(ctx context.Context, timeout time.Duration, r request) answer {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !q.c.takeSlot(within) {
		return answer{err: abandoned(within, timeout)}
	}
	defer q.c.giveSlot()
	grants := q.send(ctx, r, r.acquire(), nil, true)
	granted := grants.gather(ctx, true)
	if count(granted) < q.need {
		grants.giveBack(r, nil)
		return grants.refusal()
	}
	// From here on the token stands. What is granted later does not count: its
	// own token may be higher.
	token, expired := grants.highest(granted)
	back := q.send(ctx, r, r.writeback(token), granted, false)
	kept := back.gather(ctx, true)
	back.rest(nil)
	if count(kept) < q.need {
		grants.giveBack(r, nil)
		e, _ := back.verdicts()
		return answer{err: e}
	}
	grants.giveBack(r, kept)
	a := answer{status: statusOK, value: token.String(), sent: grants.sent, at: kept}
	if expired >= q.need {
		a.note = noteExpired
	}
	return a
}

func (q *quorum) renew(ctx context.Context, _ time.Duration, r request, at members) answer {
	return q.decide(ctx, q.send(ctx, r, r.renew(), at, false))
}

func (q *quorum) release(ctx context.Context, timeout time.Duration, r request, at members) answer {
	// The others are given back already, unless a call to them was lost.
	for i, n := range q.nodes {
		if !at[i] && !n.slow.Load() {
			q.c.work.run(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodeTimeout(r.ttl))
				defer cancel()
				n.run(ctx, r.release())
			})
		}
	}
	return q.decide(ctx, q.sendWithin(ctx, timeout, r, r.release(), at, false))
}

// decide waits for what a quorum of the lock's nodes says.
func (q *quorum) decide(ctx context.Context, rd *round) answer {
	yes := count(rd.gather(ctx, false))
	rd.rest(nil)
	if yes >= q.need {
		return answer{status: statusOK, sent: rd.sent}
	}
	a := rd.failure()
	var e *QuorumError
	if errors.As(a.err, &e) && e.silent > 0 {
		// Of the nodes that hold the lock too few answer.
		e.is = append(e.is, ErrRedisUnreachable)
	}
	return a
}

func (q *quorum) remint(ctx context.Context, _ time.Duration, r request, fresh fence.Owner, above fence.Token, at members) answer {
	grants := q.send(ctx, r, r.remint(fresh, above), at, false)
	granted := grants.gather(ctx, true)
	grants.rest(nil)
	if count(granted) < q.need {
		return grants.failure()
	}
	token, _ := grants.highest(granted)
	old := r
	r.owner = fresh
	back := q.send(ctx, r, r.writeback(token), granted, false)
	kept := back.gather(ctx, true)
	back.rest(nil)
	if count(kept) < q.need {
		return back.failure()
	}
	for i, n := range q.nodes {
		if at[i] && !kept[i] { // neither owner's any more
			q.c.work.run(func() { n.discard(r) })
			q.c.work.run(func() { n.discard(old) })
		}
	}
	return answer{status: statusOK, value: token.String(), sent: grants.sent, at: kept}
}

func (q *quorum) discard(r request) {
	for _, n := range q.nodes {
		q.c.work.run(func() { n.discard(r) })
	}
}

// errSkipped: nothing was sent.
var errSkipped = errors.New("an earlier call to it has not been answered yet")

// all are the members when nothing is known of a lock yet.
func (q *quorum) all() members { return slices.Repeat(members{true}, len(q.nodes)) }
