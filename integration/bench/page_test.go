package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPageKeepsWhatIsWrittenByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# Mine\n" + pageBegins + "\nold\n" + pageEnds + "\nmine, too\n")
	r := report{Cases: []caseNotes{{Name: "a", Ratios: []ratioNotes{{Says: "a : b", Target: "≥ 1.00", Ratio: spread{0.5, 0.4, 0.6}}}}}}
	for range 2 {
		if err := r.writeMarkdown(file); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.HasPrefix(page, "# Mine\n"+pageBegins+"\n") || !strings.HasSuffix(page, "\n"+pageEnds+"\nmine, too\n") || strings.Contains(page, "old") {
		t.Errorf("the page is\n%s", page)
	}
	if n := strings.Count(page, "| a : b | ≥ 1.00 | 0.50 (0.40–0.60) | 0.00 | missed |"); n != 1 {
		t.Errorf("the row is there %d times, want once:\n%s", n, page)
	}
	for _, bad := range []string{"", "# Mine\n", pageBegins + "\n", pageEnds + "\n" + pageBegins + "\n"} {
		write(bad)
		if page, err := intoPage(file, ""); err == nil {
			t.Errorf("%q takes a report: %q", bad, page)
		}
	}
}

// A page without a row that is wanted must not look complete.
func TestMissingRowsAreTold(t *testing.T) {
	var r report
	for _, c := range scenes {
		n := caseNotes{Name: c.name}
		for _, w := range c.wanted {
			n.Ratios = append(n.Ratios, ratioNotes{Says: w.says})
		}
		r.Cases = append(r.Cases, n)
	}
	if err := r.missing(); err != nil {
		t.Errorf("nothing is missing, but: %v", err)
	}
	i := slices.Index(names(scenes), "stale")
	r.Cases[i].Ratios = nil
	if err := r.missing(); err == nil || !strings.Contains(err.Error(), "late writes") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want an error for late writes alone", err)
	}
}

// The page that the repository has can take the next report.
func TestBenchmarksPageTakesAReport(t *testing.T) {
	if _, err := intoPage("../BENCHMARKS.md", ""); err != nil {
		t.Error(err)
	}
}
