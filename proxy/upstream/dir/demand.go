package dir

import (
	"errors"
	"fmt"
	"net/http"

	"fencegate/proxy/protocol/dav"
)

// demands are all that must hold for a write to be carried out: preconditions,
// and under WebDAV the If header and the locks of others.
type demands struct {
	conditions
	lists  []dav.List
	tokens []string // submitted: those that lists name
}

// demandsOf reads what must hold for a write.
func (d *Dir) demandsOf(h http.Header) (w demands, err error) {
	if w.conditions, err = parseConditions(h); err != nil || d.locks == nil {
		return w, err
	}
	if w.lists, err = dav.RequestIf(h); err != nil {
		return w, badRequest(err)
	}
	for _, l := range w.lists {
		for _, c := range l.Conditions {
			if c.State != "" && !c.Not {
				w.tokens = append(w.tokens, c.State)
			}
		}
	}
	return w, nil
}

// badRequest is the answer to what is wrong with a request's header or XML body.
func badRequest(err error) error {
	var body *dav.BodyError
	if errors.As(err, &body) {
		return fmt.Errorf("receive the body: %w", err)
	}
	status := http.StatusBadRequest
	if errors.Is(err, dav.ErrTooLarge) {
		status = http.StatusRequestEntityTooLarge
	}
	return &StatusError{Status: status, Text: err.Error()}
}

// judge returns the refusal of a write to n, where now is, nil meaning nothing.
// It is called with tree held, and with the turn of n.
func (d *Dir) judge(w demands, n name, now *info, c change) error {
	if err := w.judge(now); err != nil {
		return err
	}
	if d.locks == nil {
		return nil
	}
	if err := d.judgeIf(w, n); err != nil {
		return err
	}
	return d.judgeLocks(w, n, c)
}

// judgeLocks returns a 423 if a lock on n is somebody else's.
func (d *Dir) judgeLocks(w demands, n name, c change) error {
	if d.locks == nil {
		return nil
	}
	root := d.locks.missing(n.path(), c, w.tokens)
	if root == "" {
		return nil
	}
	return locked("lock-token-submitted", root, "the path is under a WebDAV lock, on "+root+": its holder must end it, or send its token in If")
}

func locked(condition, root, text string) *StatusError {
	return &StatusError{Status: http.StatusLocked, Text: text, Condition: condition, Hrefs: []string{root}}
}

// judgeIf returns a 412 if a write has an If header and none of its lists holds
// (RFC 4918 section 10.4.4).
func (d *Dir) judgeIf(w demands, n name) error {
	if w.lists == nil {
		return nil
	}
	for _, l := range w.lists {
		about := n
		if l.Resource != "" {
			// Whatever the origin: the proxy has looked at it.
			ref, err := dav.ParseRef(l.Resource)
			if err == nil {
				about, err = nameOfHref(ref.Path)
			}
			if err != nil {
				return badRequest(err)
			}
		}
		if holds, err := d.holds(l, about); err != nil || holds {
			return err
		}
	}
	return refuse(http.StatusPreconditionFailed, "no list of the If header holds: the lock may be over, or the object another version")
}

// holds reports whether all conditions of a list are met by what is at n.
func (d *Dir) holds(l dav.List, n name) (bool, error) {
	for _, c := range l.Conditions {
		met := false
		if c.State != "" {
			met = d.locks.holds(n.path(), c.State)
		} else {
			now, err := d.look(n)
			if err != nil {
				return false, err
			}
			met = now != nil && now.regular() && now.etag() == c.ETag
		}
		if met == c.Not {
			return false, nil
		}
	}
	return true, nil
}

// look describes what is at n, nil for nothing that the store serves.
func (d *Dir) look(n name) (*info, error) {
	if n.base == "" {
		now, err := d.root.stat(".")
		return &now, err
	}
	parent, err := d.openParent(n)
	if err == nil {
		defer parent.close()
		var now *info
		if now, err = lookUp(parent, n.base); err == nil {
			return now, nil
		}
	}
	var own *StatusError
	if errors.As(refused(missing(err)), &own) {
		return nil, nil
	}
	return nil, err
}
