package integration

import (
	"fmt"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// A second process over one ledger would judge by marks of its own. It gives up
// after the five seconds of --wait and says who is in the way.
func TestStartOverAHeldLedger(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	for name, c := range map[string]struct {
		args   []string
		atMost time.Duration
	}{
		"as it comes": {nil, 10 * time.Second},
		"not waiting": {[]string{"--wait", "0s"}, 4 * time.Second},
		"with --init": {nil, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &place{t: t, state: s.State, data: s.Data, args: c.args}
			code, want := 75, []string{"ledger.db", "in use by another process", fmt.Sprint("process ", s.Process().PID()), "stop it first", "--wait"}
			if name == "with --init" {
				p.args, code, want = []string{"--init"}, 73, []string{"already initialised", "drop --init"}
			}
			start := time.Now()
			p.fails(code, want)
			if took := time.Since(start); took > c.atMost {
				t.Errorf("it took %v to give up", took)
			}
		})
	}
}
