package main

import "net/http"

// to is the header that names a destination.
func (x *exam) to(name string) string {
	return "Destination: " + x.store.scheme + "://" + x.store.host + x.store.prefix + x.scratch.path(name)
}

// transfer is MOVE or COPY.
func (x *exam) transfer(method, from, to string, more ...string) (reply, error) {
	x.scratch.wrote(to)
	return x.store.ask(x.ctx, method, x.scratch.path(from), nil, append(more, x.to(to))...)
}

// here reports whether a name has some content, "" for none.
func (x *exam) here(name, content string) (bool, error) {
	r, err := x.get(name)
	if content == "" {
		return err == nil && r.status != http.StatusOK, err
	}
	return err == nil && r.is(content), err
}

func mkcol(x *exam, f *found) error {
	x.scratch.wrote("folder/")
	first, err := x.store.ask(x.ctx, "MKCOL", x.scratch.path("folder/"), nil)
	if err != nil {
		return err
	}
	if err := x.have("folder/object", oldContent); err != nil {
		return err
	}
	again, err := x.store.ask(x.ctx, "MKCOL", x.scratch.path("folder/"), nil)
	if err != nil {
		return err
	}
	kept, err := x.here("folder/object", oldContent)
	switch {
	case err != nil:
		return err
	case !kept:
		f.add(verdictUnsafe, "fencegate lets MKCOL pass without a token, since it destroys nothing; this store's does", "what is in a folder is gone after a second MKCOL (%v)", again)
	case first.status != http.StatusCreated || again.stored():
		f.wrong("clients cannot tell whether they have made a folder", "answered %v, and %v for one that is there", first, again)
	default:
		f.fine("answered %v, and %v for one that is there", first, again)
	}
	return nil
}

func move(x *exam, f *found) error    { return x.transfers(f, "MOVE", "move-a", "move-b") }
func copying(x *exam, f *found) error { return x.transfers(f, "COPY", "copy-a", "copy-b") }

// transfers sees whether MOVE or COPY has happened when it is answered, to a new
// name and over an object.
func (x *exam) transfers(f *found, method, from, to string) error {
	var r reply
	for _, content := range []string{"first", "second"} {
		if err := x.have(from, content); err != nil {
			return err
		}
		var err error
		if r, err = x.transfer(method, from, to, "Overwrite: T"); err != nil {
			return err
		}
		left := content
		if method == "MOVE" {
			left = ""
		}
		there, err := x.here(to, content)
		if err != nil {
			return err
		}
		source, err := x.here(from, left)
		switch {
		case err != nil:
			return err
		case !r.stored():
			f.know("clients cannot use it", "answered %v", r)
			return nil
		case !there || !source:
			f.wrong("see what the store does with "+method+"; its answer does not tell", "answered %v, but the %s content is not where it should be", r, content)
			return nil
		}
	}
	if err := x.have(from, "third"); err != nil {
		return err
	}
	if _, err := x.transfer(method, from, to); err != nil {
		return err
	}
	replaced, err := x.here(to, "third")
	if err != nil {
		return err
	}
	if !replaced {
		f.fine("replaces its destination (%v); not without Overwrite, which fencegate adds", r)
		return nil
	}
	f.fine("replaces its destination (%v), also without Overwrite", r)
	return nil
}

func overwrite(x *exam, f *found) error {
	for _, method := range []string{"MOVE", "COPY"} {
		if err := x.have("overwrite-a", "new"); err != nil {
			return err
		}
		if err := x.have("overwrite-b", oldContent); err != nil {
			return err
		}
		r, err := x.transfer(method, "overwrite-a", "overwrite-b", "Overwrite: F")
		if err != nil {
			return err
		}
		if kept, err := x.here("overwrite-b", oldContent); err != nil {
			return err
		} else if !kept {
			f.wrong(byTheLock, "ignored: %s replaces its destination (%v)", method, r)
			return nil
		}
	}
	f.fine("kept by MOVE and COPY")
	return nil
}

// failedMove moves what is not there, and an object onto itself.
func failedMove(x *exam, f *found) error {
	for _, from := range []string{"failed-none", "failed"} {
		if err := x.have("failed", oldContent); err != nil {
			return err
		}
		r, err := x.transfer("MOVE", from, "failed", "Overwrite: T")
		if err != nil {
			return err
		}
		if kept, err := x.here("failed", oldContent); err != nil {
			return err
		} else if !kept {
			f.wrong("no setting helps: refuse MOVE in the store, or use protocol plain", "the destination is lost by a MOVE of %s that is answered %v", map[bool]string{true: "itself", false: "nothing"}[from == "failed"], r)
			return nil
		}
	}
	f.fine("the destination survives")
	return nil
}
