package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// run makes the history of a store behind a perfect fence: holders of rising
// tokens write to a few objects and read them, now and then without an answer,
// and old holders try again and are refused.
func run(random *rand.Rand, holders int) History {
	var h History
	now, value := int64(0), map[string]string{}
	tick := func() int64 { now += 1 + random.Int64N(5); return now }
	for token := uint64(1); token <= uint64(holders); token++ {
		object := fmt.Sprintf("/o%d", random.IntN(3))
		id := func(i int) string { return fmt.Sprintf("%d.%d", token, i) }
		do := func(o Operation) Operation {
			o.Resource, o.Owner = object, fmt.Sprint("owner of ", o.Token)
			if o.Kind != Claim {
				o.Object = object
			}
			return o
		}
		h.Operations = append(h.Operations, do(claim(id(0), token, tick(), tick(), 200)))
		for i := range 2 + random.IntN(6) {
			o := do(put(id(i+1), token, tick(), 0, 201, ""))
			switch random.IntN(6) {
			case 0:
				o.Kind = Delete
			case 1:
				o.Kind, o.Status, o.Value, o.Return = Get, 200, value[object], tick()
				h.Operations = append(h.Operations, o)
				continue
			case 2:
				if o.Token--; o.Token > 0 { // another's, perhaps of another object, which is not there
					o.Owner, o.Return, o.Status, o.Reason = "late", tick(), 412, "stale_token"
					h.Operations = append(h.Operations, o)
				}
				continue
			}
			e := Effect{At: tick(), ID: o.ID, Object: object, Delete: o.Kind == Delete}
			o.Return = tick()
			if random.IntN(5) == 0 {
				o.Status, o.Reason = 504, "outcome_unknown"
			}
			if random.IntN(10) == 0 {
				o.Status, o.Reason, o.Return = 0, "", 0
			}
			h.Operations, h.Effects = append(h.Operations, o), append(h.Effects, e)
			value[object] = o.ID
			if e.Delete {
				value[object] = ""
			}
		}
	}
	return h
}

// mutants each break something of a good history, and return false if there is
// nothing to break in this one.
var mutants = map[string]func(h *History, random *rand.Rand) bool{
	"an effect comes last of all": func(h *History, random *rand.Rand) bool {
		i := random.IntN(len(h.Effects) / 2)
		e := h.Effects[i]
		e.At = h.Effects[len(h.Effects)-1].At + 1
		h.Effects = append(slices.Delete(h.Effects, i, i+1), e)
		return true
	},
	"an effect happens again": func(h *History, random *rand.Rand) bool {
		i := random.IntN(len(h.Effects))
		h.Effects = slices.Insert(h.Effects, i, h.Effects[i])
		return true
	},
	"an effect of a success is lost": func(h *History, random *rand.Rand) bool {
		known := h.byID()
		i := slices.IndexFunc(h.Effects, func(e Effect) bool { return known[e.ID].Succeeded() })
		h.Effects = slices.Delete(h.Effects, i, i+1)
		return true
	},
	"a refused write takes effect": func(h *History, random *rand.Rand) bool {
		i := slices.IndexFunc(h.Operations, func(o Operation) bool { return o.Refused() })
		if i < 0 {
			return false
		}
		o := h.Operations[i]
		h.Effects = append(h.Effects, Effect{At: o.Call + 1, ID: o.ID, Object: o.Object, Delete: o.Kind == Delete})
		slices.SortStableFunc(h.Effects, func(a, b Effect) int { return int(a.At - b.At) })
		return true
	},
	"a read is of long ago": func(h *History, random *rand.Rand) bool {
		for i := len(h.Operations) - 1; i >= 0; i-- {
			o := &h.Operations[i]
			effects := h.on(o.Object)
			first := slices.IndexFunc(effects, func(e Effect) bool { return !e.Delete })
			if o.Kind == Get && first >= 0 && first+1 < len(effects) && effects[first+1].At < o.Call {
				o.Value = effects[first].ID
				return true
			}
		}
		return false
	},
	"two owners share a token": func(h *History, random *rand.Rand) bool {
		for i := 1; i < len(h.Effects); i++ {
			a, b := h.byID()[h.Effects[i-1].ID], h.byID()[h.Effects[i].ID]
			if a.Token == b.Token && a.Resource == b.Resource {
				b.Owner = "another"
				return true
			}
		}
		return false
	},
	"a token is lower than what was claimed": func(h *History, random *rand.Rand) bool {
		known := h.byID()
		for _, e := range slices.Backward(h.Effects) {
			if o := known[e.ID]; o.Token > 1 {
				o.Token--
				return true
			}
		}
		return false
	},
}

func TestPerfectHistories(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		if v := Check(run(random, 60), time.Minute); len(v.Violations)+len(v.Undecided) > 0 {
			t.Fatalf("seed %d: %v %v", seed, v.Violations, v.Undecided)
		}
	}
}

func TestMutantsAreFound(t *testing.T) {
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			found := 0
			for seed := range uint64(20) {
				random := rand.New(rand.NewPCG(seed, 1))
				h := run(random, 40)
				if !mutate(&h, random) {
					continue
				}
				if v := Check(h, time.Minute); len(v.Violations) == 0 {
					t.Errorf("seed %d: not found", seed)
				}
				found++
			}
			if found == 0 {
				t.Error("no history had anything to break")
			}
		})
	}
}

// A long history is decided, which it would not be in one piece.
func TestLongHistory(t *testing.T) {
	h := run(rand.New(rand.NewPCG(1, 2)), 8000)
	if v := Check(h, time.Minute); len(v.Violations)+len(v.Undecided) > 0 {
		t.Fatalf("%v %v", v.Violations, v.Undecided)
	}
}

// What cannot be decided in time is told, not passed.
func TestUndecidedIsTold(t *testing.T) {
	var h History
	for i := range 200 { // all at the same time, and the last read rules all orders out
		id := fmt.Sprint("w", i)
		h.Operations = append(h.Operations, put(id, 1, 0, 1000, 201, ""), get(fmt.Sprint("r", i), 0, 0, 1000, id))
	}
	h.Operations = append(h.Operations, get("last", 0, 1001, 1002, "nobody's"))
	found, undecided := CheckRegisters(h, ByClients, time.Millisecond)
	if len(found) > 0 || !slices.Equal(undecided, []string{"/x"}) {
		t.Errorf("found %v, undecided %q", found, undecided)
	}
}
