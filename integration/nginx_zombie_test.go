package integration

import (
	"slices"
	"testing"

	"fencegate/integration/harness"
)

// The zombie in front of storage that knows nothing of tokens, and so with
// every write sent over a network. Shown: S1 order, S4 honest answers; and that
// the late write was not even sent.
func TestZombieOverNginx(t *testing.T) {
	t.Parallel()
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			store := harness.Nginx(t)
			s := newScene(t, "--upstream", store.URL(), "--settle", "200ms")
			s.zombie(w.command, w.script)
			isStored(t, store.Root(), report, "from B")
			puts := slices.DeleteFunc(store.Requests(), func(line string) bool { return line != "PUT "+report+" HTTP/1.1" })
			if len(puts) != 2 {
				t.Errorf("nginx was sent %d writes, want one of each holder", len(puts))
			}
		})
	}
}
