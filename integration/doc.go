// Package integration looks at fencegate from outside: scenarios that start
// the compiled binary, a real Redis and lock holders as processes of their
// own, then pause, kill and restart them, and check that DESIGN's promises
// hold; and the rules of the house that no compiler checks.
//
//   - One scenario is one file named for it, and says at its top which promise
//     it shows. It reads as a story: who does what, what must come of it.
//   - harness/ starts and stops things. It knows nothing of fencegate's code.
//   - A scenario waits for events (a line, a log record, a metric, an answer),
//     never for time to pass.
//   - history/ finds broken promises in what clients and the store recorded.
//     torture/ makes such records, of every fault at once: make torture.
//   - Repetitions of random scenarios come from harness.Scale: a tenth with
//     make test, all of them with make soak.
//   - arrows_test.go says which package may import which, tree_test.go what
//     may lie in the repository.
//   - bench/ is a program that measures what a write costs: make bench.
//   - deploy/ is how fencegate is run in a container and as a service. Tests run
//     it as it is written there, in namespaces of their own; no engine is needed.
//   - DEFECTS.md has a row for every defect that a promise suffered from.
package integration
