package fence

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scene is a small world to explore: who sends what, and what may go wrong how
// often.
type scene struct {
	name    string
	writers [][]sending // each sends in order, the next one after an answer or after giving up
	before  []Row       // durable at the first start
	global  Token

	crashes, stops, failures uint8
	// settle of each run; the last one serves all later ones. Default: one unit.
	settle []time.Duration
	// unclean: the first start follows an unclean stop, with nothing left by it.
	unclean bool
}

// sending is one request of a scene.
type sending struct {
	name    string
	touches []Touch
	ask     bool
	stream  bool

	// What follows is worked out once for each scene.
	enforced bool
	previous int            // the same writer's request before it, or -1
	keys     []int          // of the row that each touch raises
	sees     [][]standpoint // for each touch and row
	blockers uint16         // requests that block this one, by blocks
	inTheWay uint16         // the same by the contract's words
	overlaps uint16         // requests with an overlapping object
	objects  []uint8        // for each touch, the places it changes
	fenced   []uint8        // for each touch, the places of its resource
}

// standpoint is what sees says of a touch and a row.
type standpoint struct{ above, below bool }

func write(name string, touches ...Touch) sending { return sending{name: name, touches: touches} }
func ask(name string, touches ...Touch) sending {
	return sending{name: name, touches: touches, ask: true}
}
func stream(name string, touches ...Touch) sending {
	return sending{name: name, touches: touches, stream: true}
}

// inTree is a write of an object under fence: tree.
func inTree(fence, object string, token Token, owner Owner) Touch {
	t := put(fence, token, owner)
	t.Object, t.FenceTree = path(object), true
	return t
}

func under(policy Policy, t Touch) Touch {
	t.Policy = policy
	return t
}

// explorer searches one scene. It keeps what the rules of decide.go say of its
// requests, which, being pure, have to be asked only once for each set of rows.
type explorer struct {
	*scene
	bend     bend
	requests []sending
	keys     []Key
	places   []string
	rulings  map[rows]*ruling
	only     string // look for breaches of this promise alone, if set
}

func newExplorer(sc *scene) *explorer {
	x := &explorer{scene: sc, rulings: map[rows]*ruling{}}
	for _, w := range sc.writers {
		for i, r := range w {
			r.previous = -1
			if i > 0 {
				r.previous = len(x.requests) - 1
			}
			r.touches = slices.Clone(r.touches)
			for k := range r.touches {
				t := &r.touches[k]
				if t.Policy == Open {
					t.Stamp = Stamp{} // as Gate.Arrive does
				}
				r.enforced = r.enforced || t.Policy.Enforced()
				r.keys = append(r.keys, x.keyIndex(t.key()))
				if place := t.Object.Key(); !slices.Contains(x.places, place) {
					x.places = append(x.places, place)
				}
			}
			x.requests = append(x.requests, r)
		}
	}
	for _, row := range sc.before {
		x.keyIndex(row.Key)
	}
	if len(x.requests) > maxRequests || len(x.keys) > maxRows || len(x.places) > maxPlaces {
		panic(fmt.Sprintf("scene %s: %d requests, %d rows and %d places are too many", sc.name, len(x.requests), len(x.keys), len(x.places)))
	}
	if len(sc.settle) == 0 {
		sc.settle = []time.Duration{unit}
	}
	for i := range x.requests {
		x.relate(&x.requests[i], i)
	}
	return x
}

func (x *explorer) keyIndex(k Key) int {
	i := slices.Index(x.keys, k)
	if i < 0 {
		i = len(x.keys)
		x.keys = append(x.keys, k)
	}
	return i
}

// relate works out how a request stands to rows, places and other requests.
func (x *explorer) relate(r *sending, self int) {
	for k := range r.touches {
		t := &r.touches[k]
		var points []standpoint
		for _, key := range x.keys {
			above, below := sees(t, key)
			points = append(points, standpoint{above, below})
		}
		r.sees = append(r.sees, points)
		var objects, fenced uint8
		for i, place := range x.places {
			if object := t.Object.Key(); place == object || t.Tree && within(place, object) {
				objects |= 1 << i
			}
			if fence := t.Fence.Key(); place == fence || (t.Tree || t.FenceTree) && within(place, fence) {
				fenced |= 1 << i
			}
		}
		r.objects, r.fenced = append(r.objects, objects), append(r.fenced, fenced)
	}
	for j := range x.requests {
		if j == self {
			continue
		}
		b := x.requests[j].touches
		if blocks(b, r.touches) {
			r.blockers |= 1 << j
		}
		for _, tb := range b {
			for _, tq := range r.touches {
				objects := meet(tb.Object.Key(), tb.Tree, tq.Object.Key(), tq.Tree)
				fences := meet(tb.Fence.Key(), tb.Tree || tb.FenceTree, tq.Fence.Key(), tq.Tree || tq.FenceTree)
				if objects {
					r.overlaps |= 1 << j
				}
				if objects || fences && tb.Token < tq.Token {
					r.inTheWay |= 1 << j
				}
			}
		}
	}
}

// within reports whether a path is below another. Like meet it is the
// explorer's own, so that a mistake in the rules' geometry shows.
func within(path, root string) bool {
	return path != root && (root == "/" || strings.HasPrefix(path, root+"/"))
}

// meet reports whether two regions have a path in common.
func meet(a string, aTree bool, b string, bTree bool) bool {
	return a == b || aTree && within(b, a) || bTree && within(a, b)
}

func (x *explorer) settleOf(s *state) time.Duration {
	return x.scene.settle[min(int(s.crashCount+s.stopCount), len(x.scene.settle)-1)]
}

// first is the state after the first start.
func (x *explorer) first() state {
	s := state{clean: !x.unclean}
	for i := range x.requests {
		s.phase[i] = unsent
	}
	for _, r := range x.before {
		s.disk[x.keyIndex(r.Key)] = pairOf(r.Token, r.Owner)
	}
	for i := range x.places { // nothing below the global floor, as if it had been answered
		s.answered[i] = uint8(x.global)
	}
	x.restart(&s)
	return s
}
