package proxy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What a store derived from the context of an attempt looks at it once more
// when the attempt is over. context panics, in a goroutine of its own, if Done
// has ended without an error.
func TestAttemptThatIsOver(t *testing.T) {
	a := new(attempt)
	a.start(time.Now(), time.Hour)
	done := a.Done()
	if err := a.Err(); err != nil {
		t.Errorf("at first it has the error %v", err)
	}
	a.free()
	<-done
	if a.Err() == nil {
		t.Error("it is done, and there is no error")
	}
	for range 1000 {
		a := new(attempt)
		a.start(time.Now(), time.Hour)
		_, cancel := context.WithCancel(a)
		cancel()
		a.free()
	}
}

func TestAttemptEndsByItsDeadline(t *testing.T) {
	for _, asked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := new(attempt)
			a.start(time.Now(), time.Hour)
			defer a.free()
			if asked {
				a.Done()
			}
			time.Sleep(time.Hour - time.Nanosecond)
			synctest.Wait()
			if err := a.Err(); err != nil {
				t.Errorf("before its end: %v", err)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if err := context.Cause(a); err != context.DeadlineExceeded {
				t.Errorf("at its end: %v", err)
			}
			<-a.Done()
		})
	}
}
