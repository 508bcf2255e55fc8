package integration

import (
	"os"
	"path/filepath"
	"testing"
)

// nobody is an ordinary user. Tests that run as one stay it.
func nobody() uint32 {
	if os.Geteuid() == 0 {
		return 65534
	}
	return 0
}

// A directory that this user may not write.
func TestStartWithoutRights(t *testing.T) {
	t.Parallel()
	used := stoppedServer(t)
	locked := func(p *place, paths ...string) {
		for _, path := range paths {
			if err := os.Chmod(path, 0o555); err != nil {
				t.Fatal(err)
			}
		}
	}
	// give hands a directory with all in it over to the user.
	give := func(p *place, path string) {
		err := filepath.WalkDir(path, func(path string, _ os.DirEntry, err error) error {
			if err != nil || p.uid == 0 {
				return err
			}
			return os.Lchown(path, int(p.uid), int(p.uid))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*place)
		want    []string
	}{
		{"state", func(p *place) { give(p, p.data); p.seal() }, []string{"state", "permission denied", "this user must be able to"}},
		{"data", func(p *place) {
			give(p, p.state)
			locked(p, p.data)
		}, []string{"data", "permission denied", "this user must be able to write there"}},
		{"state, --init", func(p *place) {
			p.remove(p.state)
			p.remove(p.data)
			p.make(p.state, p.data)
			give(p, p.data)
			locked(p, p.state)
			p.args = []string{"--init"}
		}, []string{"state", "cannot be created", "permission denied", "writable by this user"}},
		{"data, --init", func(p *place) {
			p.remove(p.state)
			p.remove(p.data)
			p.make(p.state, p.data)
			give(p, p.state)
			locked(p, p.data)
			p.args = []string{"--init"}
		}, []string{"data", "permission denied", "this user must be able to write there"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := usedPlace(t, used)
			p.uid = nobody()
			c.prepare(p)
			p.fails(73, c.want)
		})
	}
}

func (p *place) make(dirs ...string) {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o777); err != nil {
			p.t.Fatal(err)
		}
	}
}

// seal lets nobody but root open the files of the ledger.
func (p *place) seal() {
	for _, name := range []string{"ledger.db", "lock"} {
		if err := os.Chmod(filepath.Join(p.state, name), 0); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := os.Chmod(p.state, 0o555); err != nil {
		p.t.Fatal(err)
	}
}
