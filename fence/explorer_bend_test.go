package fence

import "testing"

// bend is a small deviation in the order of steps, which the explorer must
// notice. Deviations from the rules themselves are in explorer_mutants_test.go.
//
// Not among them, because they break nothing: to drop the judging at begin
// alone (all whom it would refuse were told when they were overtaken), and to
// tell nobody but judge at begin (it breaks no numbered promise, and the
// explorer counts it as "overtaking").
type bend int

const (
	straight bend = iota
	bendEntryAfterPermit
	bendNoEntry
	bendClockBeforeReset
	bendEarlyAnswerIsDefinite
	bendCutIsNotSent
	bendCutIsRefused
	bendBegunRefused
	bendClientEndsBegun
	bendJudgeByDurable
	bendRaiseAtBegin
	bendBeginByPending
	bendDurableAtCommitStart
	bendCommitTakesAllPending
	bendCommitRecordsOneRow
	bendFailureNotLatched
	bendFailureIsSuccess
	bendUploadsNotOvertaken
	bendNobodyOvertaken
	bendUploadsBlock
	bendAskAnsweredAtArrival
	bendAsksSkipHold
	bendAsksSkipEntries
	bendAsksSkipBegun
	bendBeginAfterStop
	bendStopForgetsEntries
	bendNoHold
	bendOwnSettleStored
	bendFlagClearedAtFirstCommit
	bends
)

// bent says where each bend breaks which promises.
var bent = [bends]struct {
	name     string
	scene    string
	promises []string
}{
	bendEntryAfterPermit:         {"the entry is made after the permit is gone", "streams", []string{"S1", "S2", "turn"}},
	bendNoEntry:                  {"an uncertain write is forgotten", "claim", []string{"S1", "S2", "turn"}},
	bendClockBeforeReset:         {"the settle time runs from before the connection is reset", "streams", []string{"S1", "S2", "turn"}},
	bendEarlyAnswerIsDefinite:    {"an answer before the effect counts as definite", "tree", []string{"S1", "S2", "turn"}},
	bendCutIsNotSent:             {"a stream that was cut counts as not sent", "streams", []string{"S1", "S2", "turn"}},
	bendCutIsRefused:             {"a stream that was cut is answered stale_token", "streams", []string{"S4"}},
	bendBegunRefused:             {"overtaking ends writes that have begun", "rising", []string{"S4", "turn"}},
	bendClientEndsBegun:          {"a client that leaves ends what has begun", "adopt", []string{"S1", "S2", "turn"}},
	bendJudgeByDurable:           {"arrivals are judged by durable rows", "one number, two owners", []string{"rows", "overtaking"}},
	bendRaiseAtBegin:             {"rows are raised at begin", "one number, two owners", []string{"S5"}},
	bendBeginByPending:           {"pending rows are enough to begin", "claim", []string{"S5"}},
	bendDurableAtCommitStart:     {"rows count as durable when their commit starts", "move", []string{"S5"}},
	bendCommitTakesAllPending:    {"a commit makes all that is pending durable", "rising", []string{"S5"}},
	bendCommitRecordsOneRow:      {"a commit records one row of several", "move", []string{"S5"}},
	bendFailureNotLatched:        {"a failed commit is tried again", "streams", []string{"S6"}},
	bendFailureIsSuccess:         {"a failed commit counts as done", "streams", []string{"S5", "S6"}},
	bendUploadsNotOvertaken:      {"uploads are not told that they are overtaken", "rising", []string{"overtaking"}},
	bendNobodyOvertaken:          {"nobody is overtaken, nor judged again", "streams", []string{"S1", "S2", "overtaking"}},
	bendUploadsBlock:             {"an upload holds its turn", "fenced tree", []string{"liveness"}},
	bendAskAnsweredAtArrival:     {"a claim is answered when it arrives", "claim", []string{"S2"}},
	bendAsksSkipHold:             {"asks do not wait for the hold", "claim", []string{"S2", "turn"}},
	bendAsksSkipEntries:          {"asks do not wait for entries", "claim", []string{"S2", "turn"}},
	bendAsksSkipBegun:            {"asks do not wait for begun writes", "claim", []string{"S2", "turn"}},
	bendBeginAfterStop:           {"a stop lets somebody begin after the last transaction", "streams", []string{"S1", "S2", "turn"}},
	bendStopForgetsEntries:       {"a stop forgets entries", "streams", []string{"S1", "S2", "turn"}},
	bendNoHold:                   {"nothing is held after a crash", "streams", []string{"S1", "S2", "turn"}},
	bendOwnSettleStored:          {"a start stores its own settle time, though shorter", "crash in the hold, settle lowered", []string{"S1", "S2", "turn"}},
	bendFlagClearedAtFirstCommit: {"the clean flag is cleared at the first commit", "streams", []string{"S1", "S2", "turn"}},
}

// TestExplorerBends bends the order of the explorer's own steps in small ways;
// each must break the promises it is bound to, which shows that the explorer
// would notice.
func TestExplorerBends(t *testing.T) {
	for b := straight + 1; b < bends; b++ {
		t.Run(bent[b].name, func(t *testing.T) {
			for _, promise := range bent[b].promises {
				x := newExplorer(explorerScene(t, bent[b].scene))
				x.bend, x.only = b, promise
				f, _ := x.search()
				if f.promise() != promise {
					t.Errorf("%s is not broken in %d states", promise, f.states)
					continue
				}
				t.Logf("%s, after %d steps\n%s", f.breach, len(f.trace), x.tell(f.trace))
			}
		})
	}
}

func explorerScene(t *testing.T, name string) *scene {
	for _, sc := range explorerScenes(false) {
		if sc.name == name {
			return sc
		}
	}
	t.Fatalf("there is no scene %q", name)
	return nil
}
