// Package lockclient takes locks in Redis, gives each acquisition a fencing
// token, and attaches the token to the writes that go through a fencegate.
//
//	c, err := lockclient.New(rdb, lockclient.WithFence("http://localhost:8080"))
//	l, err := c.Lock(ctx, "/reports/q3.csv")
//	defer l.Unlock(ctx)
//	client := &http.Client{Transport: l.Transport(nil)}
//
// A lock alone does not protect storage: its holder can be paused past the
// lease and write afterwards. Here that write carries a token below the next
// holder's, and the fence refuses it.
//
// # What it promises
//
//   - Tokens rise with every acquisition in one namespace, through FLUSHALL,
//     eviction and failover too, unless the counter is lost while Redis' clock
//     is behind it (the clock went back, or somebody had set the counter ahead).
//     Then the claim finds out and a higher token is minted (WithFence).
//   - When Lock returns with a fence set, no write of an earlier holder takes
//     effect any more. If the fence does not confirm that, Lock fails.
//   - The lease ends locally before Redis can give the lock to another, counted
//     from before the first byte of the last successful renewal was sent, on the
//     fastest of the machine's clocks. No answer from Redis is needed to notice.
//   - One failed renewal does not end a lease that still has time.
//   - After Lock has returned, its token and owner never change.
//   - Every lock key expires by itself. Close leaves no goroutine behind.
//   - A lock on several names (LockMulti) is all or nothing, with one token.
//   - With several independent Redis nodes (NewRedlock) all of this holds while a
//     minority of them is dead, slow, frozen or empty, tokens included.
//
// # What it refuses
//
//   - Mutual exclusion by Redis alone is not promised: after a failover two
//     clients can hold one lock. The fence keeps their writes apart; without
//     WithFence nothing does, and Transport does not send.
//   - It does not queue fairly across processes, nor lock recursively unless told
//     to (WithReentrant): a second Lock of a name waits for the first.
//   - It does not undo or cut writes that have begun when a lease ends. That is
//     what the fence is for.
//   - A node of a quorum that lost its data must not come back by itself: see
//     NewRedlock for when it may, and with what counter.
//
// CONTRACT.md has the keys, scripts, HTTP exchange and arithmetic for clients
// in other languages.
package lockclient
