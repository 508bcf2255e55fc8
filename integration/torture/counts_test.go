package torture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fencegate/integration/history"
)

// counts are what happened, by name.
type counts map[string]int

func (c counts) add(name string) { c[name]++ }

func (c counts) addAll(other counts) {
	for name, n := range other {
		c[name] += n
	}
}

// reach reports whether everything happened as often as wanted.
func (c counts) reach(wanted counts) bool {
	for name, n := range wanted {
		if c[name] < n {
			return false
		}
	}
	return true
}

// order is that of the table; what is not in it comes last.
var order = []string{
	"seeds", "fenced writes", "effects", "succeeded", "unknown", "other answers of the store", "refused", "reads", "claims", "claims granted",
	"client pauses", "clients killed", "kills", "kills at a chosen moment", "restarts", "fence pauses", "redis losses", "script flushes",
	"network faults", "network faults at the store", "network faults at redis",
	"S1 violations", "S2 violations", "S3 violations", "S4 violations", "S5 violations", "other violations", "registers undecided",
}

func (c counts) String() string {
	var b strings.Builder
	names := slices.Clone(order)
	var rest []string
	for name := range c {
		if !slices.Contains(order, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range append(names, rest...) {
		if n, ok := c[name]; ok {
			fmt.Fprintf(&b, "  %-32s %8d\n", name, n)
		}
	}
	return b.String()
}

// of counts what a history holds.
func (c counts) of(h history.History, v history.Verdict) {
	for i := range h.Operations {
		o := &h.Operations[i]
		switch {
		case o.Kind == history.Claim:
			c.add("claims")
			if o.CutsOff() {
				c.add("claims granted")
			} else {
				c.add("claims refused: " + cmp.Or(o.Reason, "no answer"))
			}
			continue
		case o.Kind == history.Get:
			c.add("reads")
			continue
		case o.Token == 0:
			c.add("writes without a token")
			continue
		}
		c.add("fenced writes")
		switch {
		case o.Refused():
			c.add("refused")
			c.add("refused: " + o.Reason)
		case o.Succeeded():
			c.add("succeeded")
		case o.ByStore():
			c.add("other answers of the store")
		default:
			c.add("unknown")
		}
	}
	c["effects"] += len(h.Effects)
	for name, promise := range map[string]history.Promise{
		"S1 violations": history.Order, "S2 violations": history.Cut, "S3 violations": history.OneOwner, "S4 violations": history.Honest,
	} {
		c[name] += v.Of(promise)
	}
	c["other violations"] += v.Of(history.Once, history.Linear, history.Truthful)
	c["registers undecided"] += len(v.Undecided)
}

// floors are what a run of this length has to reach on a slow machine with the
// race detector, to count as one.
func floors(d time.Duration) counts {
	seconds := int(d.Seconds())
	return counts{
		"fenced writes": 20 * seconds, "succeeded": 4 * seconds, "refused": seconds,
		"client pauses": seconds / 2, "kills": seconds / 15,
	}
}
