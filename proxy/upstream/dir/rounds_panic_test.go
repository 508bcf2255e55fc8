package dir

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A change that panics takes nobody with it: who shares its round learns that it
// is not known to be durable, and the directory takes changes as before.
func TestRoundThatPanics(t *testing.T) {
	_, folders := openFolders(t, 1)
	f := folders[0]
	synctest.Test(t, func(t *testing.T) {
		s := newRounds()
		proceed := make(chan struct{})
		s.fsync = func(*folder) error { <-proceed; return nil }
		fine := func() error { return nil }
		go s.join(f, fine)
		synctest.Wait()
		panicked, shared := make(chan any, 1), make(chan error, 1)
		go func() {
			defer func() { panicked <- recover() }()
			s.join(f, func() error { panic("broken change") })
		}()
		synctest.Wait()
		go func() {
			_, undurable := s.join(f, fine)
			shared <- undurable
		}()
		synctest.Wait()
		close(proceed)
		if p := <-panicked; p != "broken change" {
			t.Errorf("the panic is %v", p)
		}
		if err := <-shared; !errors.Is(err, errCutShort) {
			t.Errorf("who shares the round is told %v, want %v", err, errCutShort)
		}
		if refused, undurable := s.join(f, fine); refused != nil || undurable != nil {
			t.Errorf("afterwards: %v, %v", refused, undurable)
		}
	})
}
