package torture

import (
	"testing"

	"fencegate/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.Workers{"holder": runHolder}) }
