package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
)

// openFolders makes a directory and opens it that many times.
func openFolders(t *testing.T, n int) (at string, folders []*folder) {
	t.Helper()
	at = t.TempDir()
	for range n {
		f, err := openRoot(at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.close(); err != nil {
				t.Error(err)
			}
		})
		folders = append(folders, f)
	}
	return at, folders
}

// Whoever returns has had an fsync that began after the change and ended before
// the return, whatever else was under way, and calls of one directory are shared.
func TestRoundsCoverChanges(t *testing.T) {
	const writers, each = 32, 20
	_, folders := openFolders(t, writers)
	var now, calls atomic.Int64 // now orders what happens
	var mu sync.Mutex
	type span struct{ begun, ended int64 }
	var fsyncs []span
	s := newRounds()
	held := make(chan struct{}) // keeps the first fsync until all have come
	s.fsync = func(*folder) error {
		begun := now.Add(1)
		if calls.Add(1) == 1 {
			<-held
		}
		mu.Lock()
		defer mu.Unlock()
		fsyncs = append(fsyncs, span{begun, now.Add(1)})
		return nil
	}
	var group sync.WaitGroup
	var come atomic.Int64
	for writer := range writers {
		group.Go(func() {
			for range each {
				var changed int64
				if come.Add(1) == writers {
					close(held)
				}
				refused, undurable := s.join(folders[writer], func() error { changed = now.Add(1); return nil })
				returned := now.Add(1)
				if refused != nil || undurable != nil || changed == 0 {
					t.Errorf("changed at %d: %v, %v", changed, refused, undurable)
				}
				covered := false
				mu.Lock()
				for _, f := range fsyncs {
					covered = covered || changed < f.begun && f.ended < returned
				}
				mu.Unlock()
				if !covered {
					t.Errorf("a change made at %d is called durable at %d: no fsync is between", changed, returned)
				}
			}
		})
	}
	group.Wait()
	if n := calls.Load(); n >= writers*each {
		t.Errorf("%d fsyncs for %d changes: none was shared", n, writers*each)
	}
	if len(s.under) > 0 {
		t.Errorf("%d directories are left behind", len(s.under))
	}
}

// A change that is refused is its own matter; others of its round are not touched.
func TestRoundsRefuse(t *testing.T) {
	at, folders := openFolders(t, 3)
	synctest.Test(t, func(t *testing.T) {
		s, first := newRounds(), make(chan struct{})
		fsyncs := 0
		s.fsync = func(f *folder) error {
			if fsyncs++; fsyncs == 1 {
				<-first
			}
			return f.sync()
		}
		for i, f := range folders {
			go func() {
				refused, undurable := s.join(f, func() error {
					if i == 1 {
						return f.rename("nothing", f, "something")
					}
					return f.mkdir(fmt.Sprint(i), 0o755)
				})
				if undurable != nil || errors.Is(refused, syscall.ENOENT) != (i == 1) || (refused == nil) != (i != 1) {
					t.Errorf("change %d: %v, %v", i, refused, undurable)
				}
			}()
			synctest.Wait()
		}
		close(first)
		synctest.Wait()
		if fsyncs != 2 {
			t.Errorf("%d fsyncs, want one for each round", fsyncs)
		}
	})
	for _, name := range []string{"0", "2"} {
		if _, err := os.Stat(filepath.Join(at, name)); err != nil {
			t.Error(err)
		}
	}
}

// A failed fsync is told to all whose change it was for. From then on each asks
// through its own descriptor, which the kernel tells the error too, as long as it
// was opened before.
func TestRoundsFail(t *testing.T) {
	_, folders := openFolders(t, 6)
	synctest.Test(t, func(t *testing.T) {
		s, broken := newRounds(), errors.New("broken disk")
		ends := []chan error{make(chan error), make(chan error)} // of the first two fsyncs
		asked := map[*folder]int{}
		fsyncs := 0
		s.fsync = func(f *folder) error {
			asked[f]++
			if fsyncs++; fsyncs <= len(ends) {
				return <-ends[fsyncs-1]
			}
			if f == folders[4] {
				return broken
			}
			return nil
		}
		results := make([]error, len(folders))
		join := func(writers ...int) {
			for _, i := range writers {
				results[i] = errors.New("it does not return")
				go func() { _, results[i] = s.join(folders[i], func() error { return nil }) }()
				synctest.Wait()
			}
		}
		join(0)
		join(1, 2)
		ends[0] <- nil
		synctest.Wait()
		join(3, 4, 5)
		ends[1] <- broken
		synctest.Wait()
		for i, f := range folders {
			fails, fsyncs := i == 1 || i == 2 || i == 4, 1
			if i == 2 { // 1 has asked for it
				fsyncs = 0
			}
			if errors.Is(results[i], broken) != fails || (results[i] == nil) == fails || asked[f] != fsyncs {
				t.Errorf("writer %d: %v after %d fsyncs through its own descriptor, want an error: %v, after %d", i, results[i], asked[f], fails, fsyncs)
			}
		}
	})
}
