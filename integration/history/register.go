package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Evidence is what the register check believes about writes.
type Evidence string

const (
	// ByLog: a write took effect when the store's log says so, and otherwise
	// never.
	ByLog Evidence = "by the store's log"
	// ByClients: a write that succeeded took effect at some time between call and
	// return, one without a definite answer at some time after its call or never.
	// What only the log can tell is whether such a delete happened: what it
	// leaves looks like what others leave.
	ByClients Evidence = "by the clients' answers"
)

// state is an object as a register with a fence: the highest token that was let
// in, and the id of the put that it holds, "" for none.
type state struct {
	token uint64
	value string
}

// step is one operation on a register: a write sets the value and needs a token
// not below the fence's; a cut raises the fence likewise; a read sees the value.
// A tokened get is a cut and a read, for the fence is looked at before the store
// is asked, and a later holder may write in between.
type step struct {
	kind  stepKind
	token uint64
	value string
	of    *Operation
}

type stepKind byte

const (
	write stepKind = iota
	cutOff
	read
)

// next is the whole model: whether a register may do this step, and what it is
// after it.
func (s state) next(do step) (bool, state) {
	switch do.kind {
	case write:
		return do.token >= s.token, state{do.token, do.value}
	case cutOff:
		return do.token >= s.token, state{do.token, s.value}
	}
	return do.value == s.value, s
}

func registerFrom(initial state) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(now, input, _ any) (bool, any) { return now.(state).next(input.(step)) },
	}
}

// CheckRegisters looks for an order of each object's operations that a register
// with a fence could have produced. It returns the violations, and the objects
// for which no answer was found within the patience.
func CheckRegisters(h History, by Evidence, patience time.Duration) (found []Violation, undecided []string) {
	deadline := time.Now().Add(patience)
	histories := stepsOf(h, by)
	for _, object := range slices.Sorted(maps.Keys(histories)) {
		now := state{}
	parts:
		for _, part := range parts(histories[object]) {
			left := max(time.Until(deadline), time.Millisecond)
			switch porcupine.CheckOperationsTimeout(registerFrom(now), part, left) {
			case porcupine.Unknown:
				undecided = append(undecided, object)
			case porcupine.Illegal:
				found = append(found, explain(object, by, now, part, h, max(time.Until(deadline), time.Second)))
				break parts // what the register was from here on is not known
			}
			now = after(now, part)
		}
	}
	return found, undecided
}

// stepsOf splits what happened by object, in the order of calls.
func stepsOf(h History, by Evidence) map[string][]porcupine.Operation {
	histories := map[string][]porcupine.Operation{}
	add := func(object string, do step, call, ret int64) {
		histories[object] = append(histories[object], porcupine.Operation{Input: do, Call: call, Return: ret})
	}
	effects := map[string]Effect{}
	for _, e := range h.Effects {
		effects[e.ID] = e
	}
	objects, seen := h.objects(), firstSeen(h)
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.CutsOff() {
			for _, object := range objects {
				if o.fences(object) {
					add(object, step{cutOff, o.Token, "", o}, o.Call, o.Return)
				}
			}
		}
		if o.Saw() {
			add(o.Object, step{read, 0, o.Value, o}, o.Call, o.Return)
		}
		if !o.IsWrite() {
			continue
		}
		e, took := effects[o.ID]
		first, saw := seen[o.ID]
		var from, to int64
		switch {
		case took && (by == ByLog || o.Kind == Delete && !o.Succeeded()):
			from, to = e.At, e.At
		case by == ByClients && o.Succeeded():
			from, to = o.Call, o.Return
		case by == ByClients && !o.Refused() && saw:
			from, to = o.Call, first // it landed, before the first who saw it was answered
		default:
			continue // a put that nobody saw may come last of all: it binds nothing
		}
		do := step{kind: write, token: o.Token, of: o}
		if o.Kind == Put {
			do.value = o.ID
		}
		for _, object := range objects {
			if o.changes(object) {
				add(object, do, from, to)
			}
		}
	}
	for _, history := range histories {
		slices.SortStableFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return histories
}

// firstSeen tells of each put by when a client had seen it.
func firstSeen(h History) map[string]int64 {
	seen := map[string]int64{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if !o.Saw() || o.Value == "" {
			continue
		}
		if at, again := seen[o.Value]; !again || o.Return < at {
			seen[o.Value] = o.Return
		}
	}
	return seen
}

// part is how many steps a part has at least. The search needs memory of the
// square of its length.
const part = 300

// parts cuts a history behind steps that tell the value and overlap no other:
// whatever order came before, the register is then known.
func parts(history []porcupine.Operation) [][]porcupine.Operation {
	var cutUp [][]porcupine.Operation
	begin, latest := 0, int64(math.MinInt64)
	for i, do := range history {
		alone := do.Call > latest && (i+1 == len(history) || do.Return < history[i+1].Call)
		latest = max(latest, do.Return)
		if alone && do.Input.(step).kind != cutOff && i+1-begin >= part {
			cutUp = append(cutUp, history[begin:i+1])
			begin = i + 1
		}
	}
	if begin < len(history) {
		cutUp = append(cutUp, history[begin:])
	}
	return cutUp
}

// after is the register behind a part that parts has cut.
func after(s state, part []porcupine.Operation) state {
	for _, do := range part {
		s.token = max(s.token, do.Input.(step).token)
	}
	return state{s.token, part[len(part)-1].Input.(step).value}
}

// explain finds the first return up to which the part has no order, and shows
// what came before it.
func explain(object string, by Evidence, now state, part []porcupine.Operation, h History, patience time.Duration) Violation {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	returns := slices.SortedFunc(slices.Values(part), func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	// upTo is what had returned when the n-th did, and the writes under way, which
	// may have been seen.
	upTo := func(n int) []porcupine.Operation {
		prefix := slices.Clone(returns[:n])
		for _, do := range returns[n:] {
			if do.Call <= returns[n-1].Return && do.Input.(step).kind == write {
				prefix = append(prefix, do)
			}
		}
		return prefix
	}
	legal, illegal := 0, len(returns)
	for illegal-legal > 1 && ctx.Err() == nil {
		middle := (legal + illegal) / 2
		if porcupine.CheckOperationsTimeout(registerFrom(now), upTo(middle), patience) == porcupine.Ok {
			legal = middle
		} else {
			illegal = middle
		}
	}
	v := Violation{Promise: Linear, Object: object}
	last := returns[illegal-1]
	v.What = fmt.Sprintf("no order explains the answers up to that of %s (%s)", last.Input.(step).of.ID, by)
	shown := map[string]bool{}
	for _, do := range returns[max(0, illegal-evidenced):illegal] {
		if o := do.Input.(step).of; !shown[o.ID] {
			shown[o.ID] = true
			v.Operations = append(v.Operations, *o)
		}
	}
	first := v.Operations[0].Call
	for _, e := range h.on(object) {
		if shown[e.ID] || e.At >= first && e.At <= last.Return {
			v.Effects = append(v.Effects, e)
		}
	}
	if n := len(v.Effects); n > evidenced {
		v.Effects = v.Effects[n-evidenced:]
	}
	return v
}
