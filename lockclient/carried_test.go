package lockclient

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestReentrantLock(t *testing.T) {
	s := startRedis(t)
	c := s.client(WithReentrant())
	err := c.Do(t.Context(), "/r", func(ctx context.Context, outer *Lock) error {
		err := c.Do(ctx, "/r", func(ctx context.Context, inner *Lock) error {
			if inner == outer || inner.Token() != outer.Token() || inner.Stamp() != outer.Stamp() {
				t.Errorf("%v in %v", inner, outer)
			}
			third, err := c.TryLock(ctx, "/r")
			if err != nil {
				return err
			}
			if err := third.Unlock(ctx); err != nil {
				t.Error(err)
			}
			// A handle's second Unlock takes nothing from the others.
			if err := third.Unlock(ctx); !errors.Is(err, ErrReleased) || !errors.Is(third.Err(), ErrReleased) {
				t.Errorf("second Unlock: %v, Err: %v", err, third.Err())
			}
			return inner.Err()
		})
		if err != nil {
			return err
		}
		if outer.Err() != nil || s.get(keyR) == "" {
			t.Errorf("the inner Unlock released the lock: %v", outer.Err())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	s.mustBeFree(c)
}

// The last Unlock releases, whichever handle's it is.
func TestTheLastHandleReleases(t *testing.T) {
	s := startRedis(t)
	c := s.client(WithReentrant())
	outer := mustLock(t, c, "/r")
	inner := must(c.TryLock(NewContext(t.Context(), outer), "/r"))
	if err := outer.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if inner.Err() != nil || inner.Context().Err() != nil || s.get(keyR) == "" {
		t.Errorf("released by the first: %v", inner.Err())
	}
	if err := inner.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	s.mustBeFree(c)
	// What was released is no lock to hold on to.
	again := must(c.TryLock(NewContext(t.Context(), outer), "/r"))
	if again.Token() <= outer.Token() {
		t.Errorf("token %s again", again.Token())
	}
	_ = again.Unlock(t.Context())
}

func TestWhatIsNotReentrant(t *testing.T) {
	s := startRedis(t)
	c, other := s.client(), s.client()
	l := mustLock(t, c, "/r")
	within := NewContext(t.Context(), l)
	for name, try := range map[string]func() (*Lock, error){
		"without the option": func() (*Lock, error) { return c.TryLock(within, "/r") },
		"another context":    func() (*Lock, error) { return c.TryLock(t.Context(), "/r", WithReentrant()) },
		"another client":     func() (*Lock, error) { return other.TryLock(within, "/r", WithReentrant()) },
		"more than it has":   func() (*Lock, error) { return c.TryLockMulti(within, []string{"/r", "/s"}, WithReentrant()) },
		"a tree of it":       func() (*Lock, error) { return c.TryLock(within, "/r", WithReentrant(), WithTree()) },
	} {
		if got, err := try(); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	begin := time.Now()
	if _, err := c.LockMulti(within, []string{"/r", "/s"}, WithReentrant()); !errors.Is(err, ErrNotAcquired) || time.Since(begin) > 5*time.Second {
		t.Errorf("waiting for oneself: %v after %v", err, time.Since(begin))
	}
	for name, try := range map[string]func() (*Lock, error){
		"another name":      func() (*Lock, error) { return c.TryLock(within, "/s", WithReentrant()) },
		"another namespace": func() (*Lock, error) { return c.TryLock(within, "/r", WithReentrant(), WithNamespace("n")) },
		"below":             func() (*Lock, error) { return c.TryLock(within, "/r/x", WithReentrant()) },
	} {
		got, err := try()
		if err != nil || got.shared == l.shared {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if err := got.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestReentrantBelowATreeAndAmongSeveral(t *testing.T) {
	s := startRedis(t)
	c := s.client(WithReentrant())
	tree := mustLock(t, c, "/t", WithTree())
	several := must(c.TryLockMulti(t.Context(), []string{"/a", "/b"}))
	ctx := NewContext(NewContext(t.Context(), tree), several)
	for path, want := range map[string]*Lock{"/t/x": tree, "/t": tree, "/b": several} {
		got, err := c.TryLock(ctx, path)
		if err != nil || got.shared != want.shared {
			t.Errorf("%s: %v, %v", path, got, err)
			continue
		}
		_ = got.Unlock(ctx)
	}
	if err := several.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// Work that began under a lease must not go on under another.
func TestACarriedLockThatIsLost(t *testing.T) {
	s := startRedis(t)
	c := s.client(WithReentrant())
	clock := &fakeClock{}
	c.clock = clock
	l := mustLock(t, c, "/r")
	clock.advance(time.Minute, time.Minute, time.Minute) // nobody has noticed yet
	s.flush()
	_, err := c.TryLock(NewContext(t.Context(), l), "/r")
	var lost *LostError
	if !errors.As(err, &lost) || lost.Token != l.Token() {
		t.Errorf("got %v", err)
	}
}
