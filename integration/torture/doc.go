// Package torture runs fencegate, Redis, lock holders and a store under every
// fault at once, and holds what came of it against each promise.
//
// There is a real fencegate and a real Redis; the holders are processes that
// use lockclient, some of them carelessly: they write with a token whose lease
// is over, as a paused process does that wakes up. A seed gives the order of
// faults: processes stopped and killed, Redis emptied or set back, networks cut
// and stalled, a store that answers late, wrongly or never. It does not give
// the order in which processes run, so the same seed meets different
// interleavings each time; a violation keeps the history of its run.
//
// The store keeps to what a fence may rely on, to the letter and however slow
// the machine is (harness.Plan.Settle), so each violation is one.
//
// That the checks find something is shown by the same seeds without a fence:
// under the policy open there must be violations, or the test fails.
//
//	make torture                       a minute
//	make torture SEED=7 TIME=10m       again with the first seed that was printed
//	FENCEGATE_SOAK=1 make torture      the counts of a release
package torture
