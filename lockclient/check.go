package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/redis/go-redis/v9"
)

// leastVersion is the first major version whose scripts may write after they
// have read the clock without being told to (redis.io/docs/latest/develop/
// programmability/eval-intro, "script effects replication").
const leastVersion = 5

// checkWait bounds the look at one node's settings.
const checkWait = 2 * time.Second

// Check looks at Redis' settings: one pipeline to each node. It returns what
// can cost locks or tokens, each as one sentence: a maxmemory-policy that may
// evict them, no persistence. Errors: ErrRedisVersion; ErrSameNode where two of a
// quorum's nodes are one; ErrRedisUnreachable, with what is known of the other
// nodes. What the user of the connection may not ask (ACL) is passed over.
//
// A client does the same by itself beside its first acquisition, and then
// passes the warnings to WithWarn.
func (c *Client) Check(ctx context.Context) (warnings []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	all := c.nodes.list()
	reports := make(chan report, len(all))
	c.inspect(ctx, reports)
	var faults *multierror.Error
	seen := ids{}
	for range all {
		var r report
		select {
		case r = <-reports:
		case <-ctx.Done():
			faults = multierror.Append(faults, abandoned(ctx, checkWait))
			return warnings, faults
		}
		warnings = append(warnings, r.warnings...)
		if r.err == nil {
			r.err = seen.add(r)
		}
		if r.err != nil {
			faults = multierror.Append(faults, r.err)
		}
	}
	return warnings, faults.ErrorOrNil()
}

// ErrSameNode: two clients given to NewRedlock lead to the same Redis.
var ErrSameNode = errors.New("two nodes of the quorum are the same redis")

// checks is the look that a client takes by itself.
type checks struct {
	passed  atomic.Bool
	mu      sync.Mutex
	current *check
	told    map[string]bool
}

// check is one such look. err may be read when done is closed.
type check struct {
	done chan struct{}
	err  error
}

// acquireChecked takes a lock, and beside it the client's first look at Redis'
// settings, so that this costs no time of its own.
func (c *Client) acquireChecked(ctx context.Context, want *wanted, try bool) (*Lock, error) {
	if c.checks.passed.Load() {
		return c.acquireIn(ctx, want, try)
	}
	k := c.startCheck()
	l, err := c.acquireIn(ctx, want, try)
	select {
	case <-k.done:
	case <-ctx.Done():
		return l, err
	}
	if k.err != nil {
		if l != nil {
			l.abandon()
		}
		return nil, k.err
	}
	return l, err
}

func (c *Client) startCheck() *check {
	c.checks.mu.Lock()
	defer c.checks.mu.Unlock()
	if k := c.checks.current; k != nil {
		return k
	}
	k := &check{done: make(chan struct{})}
	c.checks.current = k
	c.work.run(func() { c.lookFirst(k) })
	return k
}

// lookPatience bounds how long the first acquisition waits for every node of a
// quorum to say who it is: one Redis under two names must not be a majority.
const lookPatience = 500 * time.Millisecond

// lookFirst is done when all nodes have answered, or its patience is over; what
// others say later goes to WithWarn, and what is wrong with them to the next
// acquisition. If less than a quorum answers in time, that is left to the
// acquisition to complain about, and the next one looks again.
func (c *Client) lookFirst(k *check) {
	timeout := callTimeout(c.defaults.ttl)
	all := c.nodes.list()
	if len(all) > 1 {
		timeout = min(timeout, lookPatience)
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(timeout, checkWait))
	defer cancel()
	patience := time.NewTimer(timeout)
	defer patience.Stop()
	reports := make(chan report, len(all))
	c.inspect(ctx, reports)
	seen := ids{}
	ended := false
	end := func(err error) {
		if !ended {
			ended = true
			c.checks.mu.Lock()
			c.checks.current = nil
			c.checks.mu.Unlock()
			k.err = err
			close(k.done)
		}
	}
	answered := 0
	for open := len(all); open > 0; {
		select {
		case r := <-reports:
			open--
			if r.err == nil {
				r.err = seen.add(r)
			}
			c.warn(r.warnings)
			if errors.Is(r.err, ErrRedisVersion) || errors.Is(r.err, ErrSameNode) {
				c.checks.passed.Store(false) // where it is too late for this one, the next tells
				end(r.err)
				return
			}
			if r.err == nil {
				answered++
			}
		case <-patience.C:
			if answered < c.nodes.quorum() {
				end(nil)
				return
			}
			c.checks.passed.Store(true)
			end(nil)
		}
	}
	if answered >= c.nodes.quorum() {
		c.checks.passed.Store(true)
	}
	end(nil)
}

func (c *Client) warn(warnings []string) {
	c.checks.mu.Lock()
	var fresh []string
	for _, w := range warnings {
		if !c.checks.told[w] {
			if c.checks.told == nil {
				c.checks.told = make(map[string]bool)
			}
			c.checks.told[w] = true
			fresh = append(fresh, w)
		}
	}
	c.checks.mu.Unlock()
	for _, w := range fresh {
		if c.defaults.warn != nil {
			c.defaults.warn(w)
		}
	}
}

// report is what one node says of itself.
type report struct {
	node     *node
	id       string // of this process; "" if it does not say
	warnings []string
	err      error
}

// ids finds nodes that were given twice under two addresses.
type ids map[string]*node

func (s ids) add(r report) error {
	if other := s[r.id]; r.id != "" && other != nil {
		return fmt.Errorf("%w: nodes %d (%s) and %d (%s)", ErrSameNode,
			other.index, other.address, r.node.index, r.node.address)
	}
	s[r.id] = r.node
	return nil
}

func (c *Client) inspect(ctx context.Context, reports chan<- report) {
	counter := c.defaults.space.counter()
	for _, n := range c.nodes.list() {
		c.work.run(func() { reports <- n.inspect(ctx, counter) })
	}
}

// inspect asks a node for its settings. In a Cluster it is the one with the
// counter that matters.
func (n *node) inspect(ctx context.Context, counter string) report {
	r := report{node: n}
	var rdb redis.UniversalClient = n.rdb
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		owner, err := cluster.MasterForKey(ctx, counter)
		if err != nil {
			r.err = fmt.Errorf("%w: %w", ErrRedisUnreachable, err)
			return r
		}
		rdb = owner
	}
	pipe := rdb.Pipeline()
	info, save := pipe.Info(ctx), pipe.ConfigGet(ctx, "save")
	_, err := pipe.Exec(ctx)
	var served redis.Error
	if err != nil && !errors.As(err, &served) {
		r.err = fmt.Errorf("%w: %s: %w", ErrRedisUnreachable, n.address, err)
		return r
	}
	facts := parseInfo(info.Val())
	r.id = facts["run_id"]
	version := facts["redis_version"]
	if major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0]); err == nil && major < leastVersion {
		r.err = fmt.Errorf("%w: %s is version %s, the locks need %d or later", ErrRedisVersion, n.address, version, leastVersion)
		return r
	}
	if policy := facts["maxmemory_policy"]; facts["maxmemory"] != "" && facts["maxmemory"] != "0" &&
		policy != "" && policy != "noeviction" {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"%s: maxmemory-policy is %s: locks and the token counter can be evicted; set it to noeviction", n.address, policy))
	}
	if points, known := save.Val()["save"]; facts["aof_enabled"] == "0" && known && points == "" && save.Err() == nil {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"%s: neither appendonly nor save is set: a restart forgets locks that are held, and the token counter", n.address))
	}
	return r
}

// parseInfo reads the "name:value" lines of INFO.
func parseInfo(text string) map[string]string {
	facts := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}
