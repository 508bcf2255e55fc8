package main

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

const byTheLock = "clients must not rely on it; a lock with its token does what they want"

// creators is how many try to create one object at once.
const creators = 20

func ifNoneMatch(x *exam, f *found) error {
	if err := x.have("none-match", oldContent); err != nil {
		return err
	}
	r, err := x.put("none-match", "replaced", "If-None-Match: *")
	if err != nil {
		return err
	}
	now, err := x.get("none-match")
	if err != nil {
		return err
	}
	if !now.is(oldContent) {
		f.wrong(byTheLock, "ignored: PUT with If-None-Match: * replaces an object (%v)", r)
		return nil
	}
	made, err := x.createAtOnce("created")
	switch {
	case err != nil:
		return err
	case made != 1:
		f.wrong("nothing under the policies adopt and require: fencegate sends writes to one object one after another, and the store then keeps it", "%d of %d that create one object at once are told that they have", made, creators)
	default:
		f.fine("kept, also by %d at once: one creates", creators)
	}
	return nil
}

// createAtOnce has many create one object, and returns how many are told that
// they have.
func (x *exam) createAtOnce(name string) (made int, err error) {
	x.scratch.wrote(name)
	var mu sync.Mutex
	var errs []error
	var ready, running sync.WaitGroup
	ready.Add(creators)
	for range creators {
		running.Go(func() {
			w, err := x.store.dial(x.ctx)
			var r reply
			if err == nil {
				defer w.close()
				err = w.send(x.store.head(http.MethodPut, x.scratch.path(name), 3, "If-None-Match: *", "Connection: close") + "ne")
			}
			ready.Done()
			ready.Wait()
			if err == nil {
				err = w.send("w")
			}
			if err == nil {
				r, err = w.receive(http.MethodPut, x.pace.answer)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else if r.stored() {
				made++
			}
		})
	}
	running.Wait()
	return made, errors.Join(errs...)
}

// weakFor is for how many seconds a store is given to make an ETag a strong one:
// Apache does so when the object is older than its clock's unit.
const weakFor = 3

func ifMatch(x *exam, f *found) error {
	if err := x.have("match", oldContent); err != nil {
		return err
	}
	before, err := x.get("match")
	if err != nil {
		return err
	}
	tag := before.header.Get("ETag")
	for range weakFor {
		if !strings.HasPrefix(tag, "W/") {
			break
		}
		if err := x.sleep(time.Second); err != nil {
			return err
		}
		if before, err = x.get("match"); err != nil {
			return err
		}
		tag = before.header.Get("ETag")
	}
	r, err := x.put("match", "replaced", `If-Match: "no-such-version"`)
	if err != nil {
		return err
	}
	now, err := x.get("match")
	switch {
	case err != nil:
		return err
	case !now.is(oldContent):
		f.wrong(byTheLock, "ignored: PUT with the If-Match of another version replaces an object (%v)", r)
		return nil
	case tag == "":
		f.know(byTheLock, "of no use: objects have no ETag")
		return nil
	}
	if r, err = x.put("match", "next", "If-Match: "+tag); err != nil {
		return err
	}
	if !r.stored() {
		f.wrong(byTheLock, "of no use: PUT with the right version is answered %v", r)
		return nil
	}
	f.fine("kept")
	return nil
}
