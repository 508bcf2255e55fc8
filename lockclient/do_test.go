package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	failed := errors.New("the work failed")
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Do(ctx, "/r", func(within context.Context, l *Lock) error {
		if within.Err() != nil || l.Err() != nil {
			t.Errorf("%v, %v", within.Err(), l.Err())
		}
		cancel()
		if within.Err() == nil {
			t.Error("the context does not descend from the caller's")
		}
		if l.Err() != nil {
			t.Errorf("the caller's context ended the lock: %v", l.Err())
		}
		return failed
	})
	if !errors.Is(err, failed) || errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	s.mustBeFree(c)
}

func TestDoTellsThatTheLockWasLost(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	err := c.Do(t.Context(), "/r", func(within context.Context, l *Lock) error {
		_ = l.lose(Stolen, nil)
		<-within.Done()
		if cause := context.Cause(within); !errors.Is(cause, ErrLost) {
			t.Errorf("the context ended with %v", cause)
		}
		return nil // it did not look
	})
	if !errors.Is(err, ErrTakenOver) || !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestDoReleasesWhenItsFunctionPanics(t *testing.T) {
	s := startRedis(t)
	c := s.client()
	func() {
		defer func() { _ = recover() }()
		_ = c.Do(t.Context(), "/r", func(context.Context, *Lock) error { panic("bug") })
	}()
	s.mustBeFree(c)
}

func TestOwnersAreNotPrinted(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r")
	owner := string(l.Stamp().Owner)
	lost := &LostError{Resource: l.Resource(), Token: l.Token(), Reason: Stolen}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{l, l.Stamp(), lost, struct{ L *Lock }{l}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, owner) {
				t.Errorf("%s of %T shows the owner", verb, v)
			}
		}
	}
}

func TestOwnersAreRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		o := string(newOwner())
		if len(o) < 22 || seen[o] {
			t.Fatalf("owner of %d characters, seen before: %v", len(o), seen[o])
		}
		seen[o] = true
	}
}

func TestUnlockOfALostLockDoesNotWait(t *testing.T) {
	s := startRedis(t)
	l := mustLock(t, s.client(), "/r", WithTTL(300*time.Millisecond))
	s.freeze()
	within(t, 5*time.Second, l.Lost(), "lost")
	done := make(chan error, 1)
	go func() { done <- l.Unlock(context.Background()) }()
	if err := within(t, releaseWait/2, done, "Unlock"); !errors.Is(err, ErrLeaseExpired) || !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}
