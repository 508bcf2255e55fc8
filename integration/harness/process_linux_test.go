package harness

import (
	"fmt"
	"testing"
)

// A test that is itself killed cleans nothing up.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	p := Worker(t, "parent", "own-group")
	var child int
	fmt.Sscanf(p.AwaitLine("child"), "child %d", &child)
	p.Kill()
	awaitGone(t, child)
}
