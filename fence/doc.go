// Package fence is the core of fencegate: it decides which write may pass.
//
// # The zombie writer
//
// A takes a lock, gets token 33, and starts to write a file. Then A stops: a
// long garbage collection, a suspended virtual machine, a network that is cut.
// Its lease runs out. B takes the lock, gets token 34, and writes the file. A
// wakes up. It looked at its lease before it stopped, so it goes on writing, and
// B's work is gone.
//
// No lock service can prevent this: whatever A asks, it can be stopped between
// the answer and the write. Only the place where the write arrives can, by
// remembering 34 and refusing 33. Storage that was not built for it does not, so
// fencegate stands in front of it and does.
//
// Comparing tokens on arrival is not enough. A's write may have been let through
// when B's token was still unknown, and be on its way to the storage when B's
// write overtakes it. So the gate also knows what is in flight, and what had no
// definite answer and may still land; B waits for those.
//
// # Promises
//
//   - S1, order: on one object, writes take effect in non-decreasing token order.
//   - S2, claim: once a request with token t was answered by the store, reads
//     too, or a claim was granted, no write below t takes effect there any more.
//   - S3, one owner: of the writes with one token on one resource that carry an
//     owner, those of at most one owner take effect.
//   - S4, honest answers: a write that was refused as stale_token,
//     owner_conflict or tree_fenced never takes effect. If it might have, the
//     answer is outcome_unknown.
//   - S5, durable: a token is on disk before the first byte of the write that
//     needs it goes to the store. kill −9 or power loss at any point breaks none
//     of the above.
//   - S6, fail closed: when the ledger cannot be read or written, nothing
//     protected passes.
//
// A paused or dead old holder delays the new one by at most one request at the
// store, plus the settle time when that request's outcome is uncertain.
//
// # Assumptions
//
//   - A1: every write to the protected storage passes this one process.
//   - A2: once fencegate has stopped sending a request, the store applies it
//     within the settle time or never.
//   - A3: a request takes effect between its start and its definite answer, or
//     within A2; nothing behind fencegate repeats writes, or answers first.
//   - A4: two paths with different fence keys never name the same object.
//   - A5: tokens that meet come from one counter.
//   - A6: what fsync confirmed stays.
//
// # Where things are
//
// token.go, owner.go, stamp.go, resource.go and row.go are the vocabulary;
// touch.go is what a request needs to pass. decide.go holds the rules, as
// functions without clock, lock or I/O. gate.go and permit.go are what the
// proxy uses, passage.go is what the gate knows of a permit, and wait.go how
// one waits; arrive.go, lookup.go, commit.go, begin.go, settle.go and stop.go
// apply the rules at the events of a request's way and of the gate's life.
// node.go finds what stands in a request's way. ledger.go is what the gate
// needs of durable storage.
package fence
