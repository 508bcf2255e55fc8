package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// network is a line that fails now and then.
type network struct {
	*harness.Line
	refuses bool
}

func newNetwork(t *testing.T, target string) *network {
	return &network{Line: harness.NewLine(t, target)}
}

// fail breaks the network in one way, and mends that within half a second.
func (n *network) fail(s *schedule, random *rand.Rand) {
	d := 20*time.Millisecond + upTo(random, 400*time.Millisecond)
	way := pick(random, harness.Up, harness.Down, harness.Both)
	switch random.IntN(8) {
	case 0, 1:
		n.Cut()
	case 2:
		n.HalfClose(way)
	case 3:
		if !n.refuses {
			n.refuses = true
			n.Refuse()
			s.after(d, n.accept)
		}
	case 4:
		n.Stall(way)
		s.after(d, func() { n.Resume(way) })
	case 5:
		n.BlackHole()
		s.after(d, n.Mend)
	case 6:
		n.CutAfter(way, 1+random.Int64N(2000))
		s.after(d, func() { n.CutAfter(way, -1) })
	case 7:
		n.Delay(way, upTo(random, 10*time.Millisecond))
		s.after(d, func() { n.Delay(way, 0) })
	}
}

func (n *network) accept() {
	if n.refuses {
		n.refuses = false
		n.Accept()
	}
}

// mend undoes all faults.
func (n *network) mend() {
	n.accept()
	n.Resume(harness.Both)
	n.CutAfter(harness.Both, -1)
	n.Delay(harness.Both, 0)
	n.Mend()
}
