package fence

import (
	"fmt"
	"slices"
	"strings"
)

// found is the result of a search.
type found struct {
	states, steps, depth int
	breach               string  // the first, so the shortest way to any
	trace                []event // to it
}

// promise is the name of what was broken.
func (f *found) promise() string {
	name, _, _ := strings.Cut(f.breach, ":")
	return name
}

// link leads back from a state to the first one.
type link struct {
	from uint32
	by   event
}

// search visits every state that can be reached, nearest first, until a
// promise is broken. Also it returns how to get to each state.
func (x *explorer) search() (found, []link) {
	first := x.first()
	seen := map[state]struct{}{first: {}}
	links := []link{{}}
	now, nowAt := []state{first}, []uint32{0}
	var f found
	broken := func(at uint32, by event, breach string) {
		if f.breach == "" && breach != "" && (x.only == "" || strings.HasPrefix(breach, x.only+":")) {
			f.breach = breach
			f.trace = x.way(links, at)
			if by.kind != evStart {
				f.trace = append(f.trace, by)
			}
		}
	}
	for len(now) > 0 && f.breach == "" {
		var then []state
		var thenAt []uint32
		for i := range now {
			s, at := &now[i], nowAt[i]
			broken(at, event{}, x.checkWaiting(s))
			moves := x.next(s, func(e event, n *state, breach string) {
				f.steps++
				broken(at, e, breach)
				if _, ok := seen[*n]; ok {
					return
				}
				seen[*n] = struct{}{}
				links = append(links, link{at, e})
				then = append(then, *n)
				thenAt = append(thenAt, uint32(len(links)-1))
			})
			if !moves {
				broken(at, event{}, x.checkStuck(s))
			}
			if f.breach != "" {
				break
			}
		}
		now, nowAt = then, thenAt
		f.depth++
	}
	f.states = len(links)
	return f, links
}

// way returns the steps from the first state to another.
func (x *explorer) way(links []link, to uint32) []event {
	var way []event
	for ; to != 0; to = links[to].from {
		way = append(way, links[to].by)
	}
	slices.Reverse(way)
	return way
}

// tell writes a trace in words, each step with what it changed for others.
func (x *explorer) tell(trace []event) string {
	var b strings.Builder
	for i := range x.requests {
		q := &x.requests[i]
		kind := map[bool]string{q.ask: "asks", q.stream: "streams", !q.ask && !q.stream: "writes"}[true]
		fmt.Fprintf(&b, "      %s %s", q.name, kind)
		for k := range q.touches {
			b.WriteString(" " + x.tellTouch(&q.touches[k]))
		}
		b.WriteString("\n")
	}
	s := x.first()
	for n, e := range trace {
		var after state
		x.next(&s, func(by event, n *state, _ string) {
			if by == e {
				after = *n
			}
		})
		fmt.Fprintf(&b, "  %2d. %s", n+1, x.tellStep(&s, &after, e))
		if n+1 < len(trace) {
			b.WriteString("\n")
		}
		s = after
	}
	return b.String()
}

func (x *explorer) tellTouch(t *Touch) string {
	text := t.Object.Key()
	if t.Tree {
		text += "/**"
	}
	if t.FenceTree {
		text += " in tree " + t.Fence.Key()
	}
	if t.Passive {
		text += " passively"
	}
	return fmt.Sprintf("%s (%d,%s,%s)", text, t.Token, string(t.Owner), t.Policy)
}

func (x *explorer) tellStep(s, after *state, e event) string {
	text := eventTexts[e.kind]
	switch e.kind {
	case evArrive, evUploaded, evLeave, evBegin, evRejudge, evApply, evDefinite, evNotSent, evUncertain, evForget, evExpire:
		text = x.requests[e.request].name + " " + text
	}
	if e.kind == evArrive {
		switch after.phase[e.request] {
		case staging, ready, begun:
		default:
			text += ": " + map[bool]string{true: "answered", false: "refused"}[s.pend != after.pend]
			if reason := x.arrival(s.pend, int(e.request)).reason; reason != Passed {
				text += " " + string(reason)
			}
		}
	}
	for j := range x.requests {
		if uint8(j) == e.request || s.phase[j] == after.phase[j] || !after.up {
			continue
		}
		switch after.phase[j] {
		case over, refused:
			text += fmt.Sprintf("; %s is refused", x.requests[j].name)
		case cutOff:
			text += fmt.Sprintf("; %s is cut", x.requests[j].name)
		}
	}
	if e.kind == evClose {
		text += fmt.Sprintf(", clean=%v", after.clean)
	}
	if e.kind == evRestart {
		text += fmt.Sprintf(", hold=%d", after.hold)
	}
	return text
}
