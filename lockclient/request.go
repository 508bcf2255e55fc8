package lockclient

import (
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// request is what Redis is told in every call for one lock.
type request struct {
	keys  lockKeys
	owner fence.Owner
	ttl   time.Duration
	plain bool // tokens from the counter alone
}

// tokens is how the scripts are told what tokens follow.
func (r request) tokens() string {
	if r.plain {
		return "plain"
	}
	return "time"
}

// invocation is one script with its keys and arguments.
type invocation struct {
	script *redis.Script
	keys   []string
	args   []any
}

func (r request) acquire() invocation {
	return invocation{acquireScript, r.keys.counted, []any{string(r.owner), r.ttl.Milliseconds(), "0", r.tokens()}}
}

func (r request) renew() invocation {
	return invocation{renewScript, r.keys.locks, []any{string(r.owner), r.ttl.Milliseconds()}}
}

func (r request) release() invocation {
	args := make([]any, 1, 1+len(r.keys.channels))
	args[0] = string(r.owner)
	for _, c := range r.keys.channels {
		args = append(args, c)
	}
	return invocation{releaseScript, r.keys.locks, args}
}

func (r request) remint(fresh fence.Owner, above fence.Token) invocation {
	return invocation{remintScript, r.keys.counted,
		[]any{string(r.owner), string(fresh), r.ttl.Milliseconds(), above.String(), r.tokens()}}
}

func (r request) writeback(token fence.Token) invocation {
	return invocation{writebackScript, r.keys.counted, []any{string(r.owner), token.String()}}
}
