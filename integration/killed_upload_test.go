package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// fencegate is killed in the middle of large uploads. Shown: S5, the mark that
// an upload has raised stays; the object is what it was; and the next start
// leaves nothing of what had come.
func TestKilledInTheMiddleOfUploads(t *testing.T) {
	t.Parallel()
	store := harness.Nginx(t)
	for _, c := range []struct {
		name   string
		args   []string
		staged func(*harness.Server) string // where uploads lie, by name
		named  bool                         // they do
	}{
		{"directory", nil, func(s *harness.Server) string { return filepath.Join(s.Data, ".fencegate", "staged") }, true},
		// What the spool holds has no name: it goes with the process.
		{"remote", []string{"--upstream", store.URL(), "--settle", "200ms"}, func(s *harness.Server) string { return filepath.Join(s.State, "spool") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.Fencegate(t, c.args...)
			says(t, s, "201", http.MethodPut, report, stampOf(6, "before"), "as it was")
			part := strings.Repeat("half ", 400_000)
			u := startUpload(s, report, stampOf(7, "killed"))
			u.arrive(t, s, part)
			if entries, err := os.ReadDir(c.staged(s)); err != nil || len(entries) > 0 != c.named {
				t.Errorf("in the middle of the upload %v lies there, %v", entries, err)
			}
			isMarked(t, s, report, stampOf(7, "killed"), "mark")
			s.Kill()
			u.body.Close()
			<-u.answer
			// What an older version, or a crash in between, may have left.
			if err := os.WriteFile(filepath.Join(s.State, "spool", "body-123"), []byte(part), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Restart()
			if entries, err := os.ReadDir(c.staged(s)); err != nil || len(entries) > 0 {
				t.Errorf("after a start %v is left, %v", entries, err)
			}
			if entries, err := os.ReadDir(filepath.Join(s.State, "spool")); err != nil || len(entries) > 0 {
				t.Errorf("after a start the spool holds %v, %v", entries, err)
			}
			holds(t, s, report, "as it was")
			says(t, s, "412 stale_token", http.MethodPut, report, stampOf(6, "before"), "late")
			isMarked(t, s, report, stampOf(7, "killed"), "mark")
		})
	}
}
