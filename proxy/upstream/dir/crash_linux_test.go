package dir

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A process that is killed in the middle of replacing an object leaves a whole
// version, never older than the last one acknowledged.
func TestKill(t *testing.T) {
	root := t.TempDir()
	for round := range 12 {
		cmd := child(t, root)
		cmd.Env = append(cmd.Env, childLoop+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked := -1
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				if lines.Text() != "open" {
					t.Fatalf("child: %s", lines.Text())
				}
				continue
			}
			acked = n
			if n == 5+3*round { // it keeps on writing while the signal is on its way
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		content, err := os.ReadFile(filepath.Join(root, "d/object"))
		if err != nil {
			t.Fatal(err)
		}
		if found := whichVersion(content); found < acked || found > acked+1 {
			t.Fatalf("round %d: version %d was acknowledged, found version %d of %d bytes", round, acked, found, len(content))
		}
		d, err := Open(root, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		wantStagingEmpty(t, root)
	}
}
