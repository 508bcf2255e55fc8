package fence

import "time"

// Sizes of a scene, so that a state is one comparable value.
const (
	maxRequests = 8
	maxRows     = 4
	maxPlaces   = 3
	maxTokens   = 4 // 0 to 3
)

// pair is the token and owner of a row, in one byte: token*4 + owner.
type pair uint8

var owners = []Owner{NoOwner, "a", "b", "c"}

func pairOf(t Token, o Owner) pair {
	for i := range owners {
		if owners[i] == o && t < maxTokens {
			return pair(t)<<2 | pair(i)
		}
	}
	panic("a stamp that the explorer cannot keep")
}

func (p pair) token() Token { return Token(p >> 2) }
func (p pair) owner() Owner { return owners[p&3] }

// rows are the values of a scene's rows, in the order of its keys.
type rows [maxRows]pair

// Where a request is, beside the phases of a permit.
const (
	unsent  phase = 10 + iota // nobody has heard of it
	cutOff                    // a begun stream that was overtaken, not yet done
	limbo                     // done and forgotten, its entry still to come: bends only
	refused                   // for good, but upstream has it: bends only
)

// slot is what the upstream has of a write.
type slot uint8

const (
	nowhere slot = iota
	sent         // it may take effect, and somebody waits for the answer
	applied      // it took effect, and is not answered yet
	adrift       // plus a settle time in units: nobody waits any more, but it may take effect that long
)

// unit is the shortest time in scenes.
const unit = time.Second

// state is all that matters of a gate, its ledger, its upstream and what
// clients have been told. Two histories that lead to one state have one
// future.
type state struct {
	up         bool
	committing bool
	failed     bool // latched by the gate
	broken     bool // a commit of this run has failed, whatever the gate makes of it
	draining   bool
	stopped    bool
	closed     bool  // the last transaction is written, the process not gone yet
	hold       uint8 // in units, 0 when it is over
	stopCount  uint8
	crashCount uint8
	failCount  uint8

	clean  bool  // on disk
	settle uint8 // on disk, in units

	pend, batch, dur rows // the gate's
	disk             rows // what a restart will find

	phase [maxRequests]phase
	slot  [maxRequests]slot

	last     [maxPlaces]uint8            // token of the last effect (S1)
	answered [maxPlaces]uint8            // highest token answered (S2)
	owner    [maxPlaces][maxTokens]uint8 // whose effects there were with a token (S3)
}

// event is one step from a state to the next; kind and request name it
// uniquely among the steps of one state.
type event struct {
	kind    eventKind
	request uint8
}

type eventKind uint8

const (
	evStart eventKind = iota
	evArrive
	evUploaded
	evLeave
	evBegin
	evRejudge
	evApply
	evDefinite
	evNotSent
	evUncertain
	evForget // bends only
	evExpire
	evCommit
	evCommitOK
	evFailLost
	evFailKept
	evHoldEnds
	evCrash
	evCrashKept
	evRestart
	evDrain
	evStop
	evClose
	evExit
)

var eventTexts = [...]string{
	evStart:     "start",
	evArrive:    "arrives",
	evUploaded:  "has its body complete",
	evLeave:     "gives up, or its client does",
	evBegin:     "begins",
	evRejudge:   "is judged again and refused",
	evApply:     "TAKES EFFECT",
	evDefinite:  "has a definite answer",
	evNotSent:   "was not sent",
	evUncertain: "ends uncertain",
	evForget:    "gets its entry",
	evExpire:    "has settled",
	evCommit:    "a commit starts",
	evCommitOK:  "the commit succeeds",
	evFailLost:  "the commit fails, and is not on disk",
	evFailKept:  "the commit fails, but is on disk",
	evHoldEnds:  "the hold ends",
	evCrash:     "CRASH",
	evCrashKept: "CRASH, the commit in progress is on disk",
	evRestart:   "restart",
	evDrain:     "a stop begins: arrivals are refused",
	evStop:      "the drain ends: nothing begins any more",
	evClose:     "the last transaction",
	evExit:      "the process ends",
}
