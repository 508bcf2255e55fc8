package integration

import (
	"testing"

	"fencegate/integration/harness"
)

// workers are what this test binary can be; files for one platform add theirs.
var workers = harness.Workers{"holder": runHolder}

func TestMain(m *testing.M) { harness.Main(m, workers) }
