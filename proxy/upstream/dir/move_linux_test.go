package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a MOVE left half way is put back by its note, if that is whole and speaks
// of what is there.
func TestOpenUndoesMoves(t *testing.T) {
	for _, c := range []struct {
		what  string
		note  string // of the inode and its path
		there string // made at the path before
		want  string // what is at /d/s then
		err   string
	}{
		{what: "whole", note: "move 1 %d 3\nd/s\n", want: "/ /a=1"},
		{what: "empty"},
		{what: "torn", note: "move 1 %d 3\nd/"},
		{what: "longer", note: "move 1 %d 3\nd/s\n\n"},
		{what: "of a later version", note: "move 2 %d 3\nd/s\n"},
		{what: "of something else", note: "move 1 1%d 3\nd/s\n"},
		{what: "occupied", note: "move 1 %d 3\nd/s\n", there: "d/s new", want: "=new", err: "staged/x belongs at s"},
	} {
		root := t.TempDir()
		fill(t, root, area+"/staged/x/a 1", "d/other 1")
		if c.there != "" {
			fill(t, root, c.there)
		}
		fi, err := os.Stat(filepath.Join(root, area, "staged/x"))
		if err != nil {
			t.Fatal(err)
		}
		note := c.note
		if strings.Contains(note, "%d") {
			note = fmt.Sprintf(note, infoOf(fi).ino)
		}
		if err := os.Mkdir(filepath.Join(root, area, "moves"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, area, "moves/x"), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(root, Options{})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.what, err, c.err)
			}
			if got := tree(t, root, area+"/staged/x"); got != "/ /a=1" {
				t.Errorf("%s: what was to be put back is %q", c.what, got)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			wantStagingEmpty(t, root)
		}
		if got := tree(t, root, "d/s"); got != c.want {
			t.Errorf("%s: it is %q, want %q", c.what, got, c.want)
		}
	}
}
