package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CheckOrder: on one object, effects never fall in token.
func CheckOrder(h History) []Violation {
	var found []Violation
	known := h.byID()
	for _, object := range h.objects() {
		var highest *Operation
		var at Effect
		for _, e := range h.on(object) {
			o := known[e.ID]
			if o == nil {
				continue // CheckAnswers tells
			}
			if highest != nil && o.Token < highest.Token {
				found = append(found, Violation{Order, object,
					fmt.Sprintf("token %d took effect after %d", o.Token, highest.Token),
					[]Operation{*highest, *o}, []Effect{at, e}})
				continue
			}
			highest, at = o, e
		}
	}
	return found
}

// CheckClaims: after an answer that cuts off lower tokens, none takes effect.
func CheckClaims(h History) []Violation {
	cuts := cutsOf(h)
	var found []Violation
	known := h.byID()
	for _, object := range h.objects() {
		for _, e := range h.on(object) {
			o := known[e.ID]
			if o == nil {
				continue
			}
			if by := cuts.before(object, e.At); by != nil && by.Token > o.Token {
				found = append(found, Violation{Cut, object,
					fmt.Sprintf("token %d took effect %.3f ms after the answer to %s with token %d",
						o.Token, float64(e.At-by.Return)/1e6, by.ID, by.Token),
					[]Operation{*by, *o}, []Effect{e}})
			}
		}
	}
	return found
}

// cuts finds what had cut off an object when. Of each place there are the
// operations in the order of return, each with the highest token up to it.
type cuts struct{ at, below map[string][]cut }

type cut struct {
	time    int64
	highest *Operation
}

func cutsOf(h History) cuts {
	var sorted []*Operation
	for i := range h.Operations {
		if o := &h.Operations[i]; o.CutsOff() {
			sorted = append(sorted, o)
		}
	}
	slices.SortFunc(sorted, func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	c := cuts{map[string][]cut{}, map[string][]cut{}}
	add := func(to map[string][]cut, o *Operation) {
		list, highest := to[o.Resource], o
		if n := len(list); n > 0 && list[n-1].highest.Token > o.Token {
			highest = list[n-1].highest
		}
		to[o.Resource] = append(list, cut{o.Return, highest})
	}
	for _, o := range sorted {
		add(c.at, o)
		if o.Tree {
			add(c.below, o)
		}
	}
	return c
}

// before returns the operation with the highest token that had cut off object
// before the time, nil if there is none.
func (c cuts) before(object string, time int64) *Operation {
	highest := latest(c.at[object], time)
	for place := object; place != "/" && place != ""; {
		place = place[:strings.LastIndexByte(place, '/')]
		if o := latest(c.below[cmp.Or(place, "/")], time); o != nil && (highest == nil || o.Token > highest.Token) {
			highest = o
		}
	}
	return highest
}

func latest(list []cut, time int64) *Operation {
	n, _ := slices.BinarySearchFunc(list, time, func(c cut, t int64) int { return cmp.Compare(c.time, t) })
	if n == 0 {
		return nil
	}
	return list[n-1].highest
}
