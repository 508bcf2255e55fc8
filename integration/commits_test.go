package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A lock holder writes many times. Only its first write costs a commit of the
// ledger: a raise that the rows already cover writes nothing.
func TestEqualTokensCostNoCommit(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	holder := stampOf(7, "holder")
	says(t, s, "201", "PUT", report, holder, "first")
	if n := commits(s); n != 1 {
		t.Fatalf("the first write cost %v commits, want 1", n)
	}
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: harness.Patience}
			defer client.CloseIdleConnections()
			for range harness.Scale(500) {
				a, err := send(client, http.MethodPut, s.URL()+report, holder, strings.NewReader(fmt.Sprint("writer ", writer)))
				if err != nil || a.String() != "204" {
					t.Errorf("answered %v, %v", a, err)
					return
				}
			}
		})
	}
	writers.Wait()
	says(t, s, "200", "GET", report, holder, "") // lifts too, if there is something to lift
	without := holder
	without.Owner = fence.NoOwner
	says(t, s, "204", "PUT", report, without, "no owner") // so may the holder's shell script
	if n := commits(s); n != 1 {
		t.Errorf("%v commits, want the first write's alone", n)
	}
	says(t, s, "204", "PUT", report, stampOf(8, "next"), "next")
	if n := commits(s); n != 2 {
		t.Errorf("%v commits after a higher token, want 2: the metric would show nothing", n)
	}
}

func commits(s *harness.Server) float64 { return s.Metrics().Counter("fencegate_ledger_commits_total") }
