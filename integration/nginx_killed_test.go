package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// The same over a network: a write that was on its way when fencegate was
// killed may still land in nginx, within settle. Shown: S5 durable and S1 order
// with A2's part in them; and that nginx keeps no part of a body.
func TestKilledUnderWritersOverNginx(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	s := harness.Fencegate(t, "--upstream", store.URL(), "--settle", "200ms")
	killUnderWriters(t, s, harness.Scale(20), func() {
		harness.Eventually(t, "nginx to drop what it got of bodies", func() (any, bool) {
			left, err := filepath.Glob(filepath.Join(store.Root(), "..", "uploads", "*"))
			if err != nil {
				t.Fatal(err)
			}
			spooled, err := os.ReadDir(filepath.Join(s.State, "spool"))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range spooled {
				left = append(left, e.Name())
			}
			return strings.Join(left, " "), left == nil
		})
	})
}
