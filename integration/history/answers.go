package history

import "fmt"

// CheckOwners: for one resource and token, the writes of one owner at most take
// effect, of those that have an owner.
func CheckOwners(h History) []Violation {
	type number struct {
		resource string
		token    uint64
	}
	type held struct {
		by *Operation
		e  Effect
	}
	var found []Violation
	known, first := h.byID(), map[number]held{}
	for _, e := range h.Effects {
		o := known[e.ID]
		if o == nil || o.Owner == "" {
			continue
		}
		n := number{o.Resource, o.Token}
		f, seen := first[n]
		if !seen {
			first[n] = held{o, e}
			continue
		}
		if f.by.Owner != o.Owner {
			found = append(found, Violation{OneOwner, e.Object,
				fmt.Sprintf("two owners wrote with token %d", o.Token),
				[]Operation{*f.by, *o}, []Effect{f.e, e}})
		}
	}
	return found
}

// CheckAnswers: no effect of what was refused, exactly one, between call and
// return, of what succeeded; never two of one write, and none that nobody asked
// for.
func CheckAnswers(h History) []Violation {
	var found []Violation
	known, effects := h.byID(), map[string][]Effect{}
	for _, e := range h.Effects {
		effects[e.ID] = append(effects[e.ID], e)
		o := known[e.ID]
		if o == nil || !o.IsWrite() || o.Object != e.Object || (o.Kind == Delete) != e.Delete {
			v := Violation{Promise: Truthful, Object: e.Object, What: fmt.Sprintf("nobody asked for the effect %q", e.ID), Effects: []Effect{e}}
			if o != nil {
				v.Operations = []Operation{*o}
			}
			found = append(found, v)
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if !o.IsWrite() {
			continue
		}
		of := effects[o.ID]
		fault := func(p Promise, what string, args ...any) {
			found = append(found, Violation{p, o.Object, fmt.Sprintf(what, args...), []Operation{*o}, of})
		}
		if len(of) > 1 {
			fault(Once, "%s took effect %d times", o.ID, len(of))
		}
		for _, e := range of {
			if e.At < o.Call {
				fault(Truthful, "%s took effect before it was called", o.ID)
			}
		}
		switch {
		case o.Refused() && len(of) > 0:
			fault(Honest, "%s was refused, %s, and took effect", o.ID, o.Reason)
		case o.Succeeded() && len(of) == 0:
			fault(Honest, "%s was answered %d and never took effect", o.ID, o.Status)
		case o.Succeeded() && of[0].At > o.Return:
			fault(Honest, "%s took effect after it was answered %d", o.ID, o.Status)
		}
	}
	return found
}
