package lockclient

import (
	"context"
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
func (r request) tokens() any {
	if r.plain {
		return inPlain
	}
	return inTime
}

// invocation is one script with its keys and arguments: EVALSHA as it is sent.
type invocation struct {
	script *redis.Script
	words  []any
}

// What all invocations have in common, boxed once.
var (
	evalSHA, noToken any = "evalsha", "0"
	inTime, inPlain  any = "time", "plain"
)

func invoke(s *redis.Script, keys []string, args ...any) invocation {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, evalSHA, s.Hash(), len(keys))
	for i := range keys {
		words = append(words, keys[i])
	}
	return invocation{s, append(words, args...)}
}

// run returns the elements of the script's answer. A Redis that does not know the
// script yet is sent it as a whole.
func (v invocation) run(ctx context.Context, rdb redis.UniversalClient) ([]string, error) {
	cmd := v.command(ctx)
	err := rdb.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return v.whole(ctx, rdb)
	}
	return cmd.Val(), err
}

func (v invocation) command(ctx context.Context) *redis.StringSliceCmd {
	cmd := redis.NewStringSliceCmd(ctx, v.words...)
	cmd.SetFirstKeyPos(3) // where a Cluster client looks for the slot
	return cmd
}

// whole sends the script itself.
func (v invocation) whole(ctx context.Context, rdb redis.UniversalClient) ([]string, error) {
	n := v.words[2].(int)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = v.words[3+i].(string)
	}
	return v.script.Eval(ctx, rdb, keys, v.words[3+n:]...).StringSlice()
}

func (r request) acquire() invocation {
	return invoke(acquireScript, r.keys.counted, string(r.owner), r.ttl.Milliseconds(), noToken, r.tokens())
}

func (r request) renew() invocation {
	return invoke(renewScript, r.keys.locks, string(r.owner), r.ttl.Milliseconds())
}

func (r request) release() invocation {
	v := invoke(releaseScript, r.keys.locks, string(r.owner))
	for i := range r.keys.channels {
		v.words = append(v.words, r.keys.channels[i])
	}
	return v
}

func (r request) remint(fresh fence.Owner, above fence.Token) invocation {
	return invoke(remintScript, r.keys.counted, string(r.owner), string(fresh), r.ttl.Milliseconds(), above.String(), r.tokens())
}

func (r request) writeback(token fence.Token) invocation {
	return invoke(writebackScript, r.keys.counted, string(r.owner), token.String())
}
