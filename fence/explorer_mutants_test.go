package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutant is a small deviation from the rules, in their source.
type mutant struct {
	name     string
	file     string // decide.go if empty
	old, new string // old occurs once in the file
	scene    string
	promise  string // that it breaks there
}

// mutants are all that the explorer must notice. Some deviations break no
// promise in any scene, and are not among them:
//
//   - judge without its first lines, covered without Open: the gate clears the
//     stamp of what is open and refuses nobody for it; only what is reported as
//     observed would change.
//   - missing without failed or stopped: when the ledger fails or the drain ends,
//     all that waits is refused in the same step, so nobody is left to ask.
//     Its order decides what a 503 names; TestMissingNamesTheFirst has that.
//   - endsClean without failed: nothing begins after a failure, so without begun
//     writes and entries nothing can land either. A failed ledger is not
//     written again, so the flag could not be set.
//   - leavesEntry without the settle time: an entry that ends at once.
//   - holdAfter with the stored settle time alone: it is at least that of any
//     run that may have left something.
//   - judge without the comparison of the global floor with the highest row,
//     which only chooses what is named.
//   - judgeSiblings without NoToken or Passive: a row without a token counts for
//     nothing, and no scene has an MKCOL beside another touch, as no request has.
var mutants = []mutant{
	{name: "rows below a tree are forgotten", old: "r.Token > b.highest.Token", new: "r.Token < b.highest.Token", scene: "tree", promise: "S1"},
	{name: "owners below a tree are forgotten", old: "b.conflict = r", new: "b.conflict = Row{}", scene: "tree and one number", promise: "S3"},
	{name: "rows without a token count", old: "r.Token == NoToken || ", new: "", scene: "adopt", promise: "refusal"},
	{name: "marks count for MKCOL", old: "t.Passive && r.Kind == Mark", new: "false", scene: "collections", promise: "refusal"},
	{name: "the lowest row counts", old: "highest == nil || r.Token > highest.Token", new: "highest == nil || r.Token < highest.Token", scene: "tree", promise: "S1"},
	{name: "owners are not compared", old: "\t\t\tconflict = r\n", new: "\t\t\tconflict = nil\n", scene: "tree and one number", promise: "S3"},
	{name: "the global floor is ignored", old: "case t.Token < s.global &&", new: "case false &&", scene: "global floor", promise: "S2"},
	{name: "equal tokens are stale", old: "highest != nil && highest.Token > t.Token:", new: "highest != nil && highest.Token >= t.Token:", scene: "claim", promise: "refusal"},
	{name: "one lower passes", old: "highest != nil && highest.Token > t.Token:", new: "highest != nil && highest.Token > t.Token+1:", scene: "rising", promise: "S1"},
	{name: "an equal row below fences a tree", old: "s.below.highest.Token > t.Token", new: "s.below.highest.Token >= t.Token", scene: "tree and one number", promise: "refusal"},
	{name: "a tree over newer work is let in", old: "case s.below.highest.Token > t.Token:", new: "case false:", scene: "tree", promise: "S1"},
	{name: "tree_fenced is told as stale_token", old: "Reason: TreeFenced", new: "Reason: StaleToken", scene: "tree", promise: "refusal"},
	{name: "owners below are not compared", old: "case s.below.conflict.Token != NoToken:", new: "case false:", scene: "tree and one number", promise: "S3"},
	{name: "MKCOL needs a token", old: "if t.Passive && !t.FenceTree {", new: "if false {", scene: "collections", promise: "refusal"},
	{name: "adopt passes what is marked", old: "case highest != nil:", new: "case highest != nil && false:", scene: "adopt", promise: "S1"},
	{name: "adopt passes trees over marks", old: "case s.below.highest.Token != NoToken:", new: "case false:", scene: "adopt", promise: "S1"},
	{name: "adopt passes the global floor", old: "case s.global != NoToken:", new: "case false:", scene: "global floor", promise: "S2"},
	{name: "require adopts", old: "case t.Policy == Adopt:", new: "case true:", scene: "open beside require", promise: "policy"},
	{name: "MKCOL raises", old: "t.Token == NoToken || t.Passive || ", new: "t.Token == NoToken || ", scene: "collections", promise: "rows"},
	{name: "a mark covers a tree", old: "if r.Kind == Mark && t.floors() {", new: "if false {", scene: "tree and one number", promise: "S5"},
	{name: "a row without the owner covers", old: "r.Token > t.Token || r.Token == t.Token &&", new: "r.Token >= t.Token || r.Token == t.Token &&", scene: "one number, two owners", promise: "S3"},
	{name: "who has no owner takes the row's away", old: "(t.Owner == NoOwner || r.Owner == t.Owner)", new: "r.Owner == t.Owner", scene: "one number, two owners", promise: "rows"},
	{name: "nothing with an owner is covered", old: "(t.Owner == NoOwner || r.Owner == t.Owner)", new: "t.Owner == NoOwner", scene: "claim", promise: "liveness"},
	{name: "marks above count", old: "case k.Kind == Floor && k.Path", new: "case k.Path", scene: "tree and one number", promise: "refusal"},
	{name: "floors above are out of sight", old: "case k.Kind == Floor && k.Path.Covers(t.Fence):", new: "case false:", scene: "tree", promise: "S1"},
	{name: "rows below are out of sight", old: "case t.Tree && t.Fence.Covers(k.Path):", new: "case false:", scene: "tree", promise: "S1"},
	{name: "rows below count for single paths", old: "case t.Tree && t.Fence.Covers(k.Path):", new: "case t.Fence.Covers(k.Path):", scene: "tree and one number", promise: "refusal"},
	{name: "one request's rows are not compared", old: "if i == j || ", new: "if true || ", scene: "move within a tree", promise: "overtaking"},
	{name: "one request's observed rows are not compared", old: "|| o.Passive {", new: "|| o.Passive || !o.Policy.Enforced() {", scene: "move out of an observed tree", promise: "overtaking"},
	{name: "an observed verdict hides another", old: "case !v.OK() && t.Policy.Enforced():", new: "case !v.OK():", scene: "move out of an observed tree", promise: "overtaking"},
	{name: "equal tokens wait for one another under a fence", old: "tb.Token < tq.Token", new: "tb.Token <= tq.Token", scene: "fenced tree", promise: "liveness"},
	{name: "nobody waits for lower tokens under a fence", old: "tb.Token < tq.Token", new: "false", scene: "fenced tree", promise: "S2"},
	{name: "higher tokens are waited for", old: "tb.Token < tq.Token", new: "tb.Token > tq.Token", scene: "fenced tree", promise: "S2"},
	{name: "one object is written by many at once", old: "tb.objectRegion().overlaps(tq.objectRegion())", new: "false", scene: "claim", promise: "turn"},
	{name: "rows need not be durable", old: "case s.failed, !s.covered:", new: "case s.failed:", scene: "rising", promise: "S5"},
	{name: "the hold is ignored", old: "case s.holding:", new: "case false:", scene: "streams", promise: "S1"},
	{name: "entries are ignored", old: "case s.entry:", new: "case false:", scene: "claim", promise: "S2"},
	{name: "begun writes are ignored", old: "case s.begun:", new: "case false:", scene: "claim", promise: "S2"},
	{name: "the wrong outcomes leave entries", old: "o == Uncertain", new: "o == Definite", scene: "streams", promise: "S1"},
	{name: "short settle times leave no entries", old: "settle > 0", new: "settle > time.Hour", scene: "streams", promise: "S1"},
	{name: "the clean flag is read upside down", old: "if m.Clean {", new: "if !m.Clean {", scene: "streams", promise: "S1"},
	{name: "the hold is as long as the new settle time", old: "return max(settle, m.Settle)", new: "return settle", scene: "crash in the hold, settle lowered", promise: "S1"},
	{name: "a stop with begun writes is clean", old: "return begun == 0 && ", new: "return ", scene: "streams", promise: "S1"},
	{name: "a stop with entries is clean", old: " && entries == 0", new: "", scene: "streams", promise: "S2"},
	{name: "a stop in the hold is clean", old: " && !holding", new: "", scene: "settle raised", promise: "S1"},
	{name: "a start forgets the settle time before", file: "ledger.go", old: "if m.Clean {", new: "if true {", scene: "crash in the hold, settle lowered", promise: "S1"},
	{name: "a start leaves the clean flag", file: "ledger.go", old: "\tm.Clean = false\n", new: "", scene: "streams", promise: "S2"},
	{name: "an owner is not recorded later", file: "row.go", old: "old.Owner == NoOwner && r.Owner != NoOwner", new: "false", scene: "one number, two owners", promise: "rows"},
	{name: "no owner is an owner", file: "owner.go", old: "o != NoOwner && other != NoOwner && o != other", new: "o != other", scene: "one number, two owners", promise: "refusal"},
	{name: "a fenced tree has a mark", file: "touch.go", old: "return t.Tree || t.FenceTree", new: "return t.Tree", scene: "fenced tree", promise: "S5"},
	{name: "trees overlap only upwards", file: "touch.go", old: "a.tree && a.path.Covers(b.path) || ", new: "", scene: "tree", promise: "S1"},
	{name: "trees overlap only downwards", file: "touch.go", old: " || b.tree && b.path.Covers(a.path)", new: "", scene: "tree", promise: "S1"},
}

// TestExplorerMutants explores, for each mutant, the scene that shows it, and
// so shows that the explorer would notice. Each must break the promise that it
// is bound to; one whose place in the source is gone, that does not compile, or
// that ends in any other way is a failure.
func TestExplorerMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew")
	}
	binary := compileMutants(t)
	two := make(chan struct{}, 2)
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			explorerScene(t, m.scene)
			out, err := runMutant(t, binary, i+1, m.scene, m.promise)
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("nothing breaks %s: the explorer is blind, or the rule has no use\n%s", m.promise, out)
			case !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, []byte("VIOLATION "+m.promise+":")):
				t.Errorf("no breach of %s, but %v\n%s", m.promise, err, out)
			default:
				t.Logf("%s", out)
			}
		})
	}
	t.Run("none", func(t *testing.T) { // what is compiled is right but for the mutants
		if out, err := runMutant(t, binary, 0, "tree and one number", ""); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// runMutant explores one scene by the rules with one deviation, or none for 0.
func runMutant(t *testing.T, binary string, number int, scene, promise string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	name := regexp.QuoteMeta(strings.ReplaceAll(scene, " ", "_"))
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestExplorer$/^"+name+"$")
	cmd.Env = append(os.Environ(), onlyEnv+"="+promise, soakEnv+"=", fmt.Sprintf("%s=%d", mutantEnv, number))
	return cmd.CombinedOutput()
}
