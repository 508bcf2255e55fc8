package harness

import (
	"testing"
	"time"
)

// Patience is how long anything may take before a test gives up on it: far
// more than a loaded machine needs, since nothing is measured with it.
const Patience = 30 * time.Second

const pollEvery = 5 * time.Millisecond

// Eventually calls look until it reports true. After Patience it ends the test
// with what was waited for and what look saw last. It is for what no line, log
// record or answer tells.
func Eventually(t testing.TB, what string, look func() (seen any, ok bool)) {
	t.Helper()
	if seen, ok := poll(Patience, look); !ok {
		t.Fatalf("still waiting for %s after %v; seen last: %v", what, Patience, seen)
	}
}

func poll(patience time.Duration, look func() (any, bool)) (any, bool) {
	deadline := time.Now().Add(patience)
	for {
		seen, ok := look()
		if ok || time.Now().After(deadline) {
			return seen, ok
		}
		time.Sleep(pollEvery)
	}
}
