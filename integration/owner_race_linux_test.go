package integration

import (
	"fmt"
	"slices"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// Two holders have the same number, as after a failover of Redis, and write while
// the ledger commits. Shown: S3 one owner, the second is refused at once, though
// nothing is on disk yet, and the store hears of the first one only.
func TestTwoOwnersInOneCommit(t *testing.T) {
	t.Parallel()
	store, s := overFakeStore(t)
	slowDisk(t, s)
	rivals := []*pending{
		begins(t, s, "PUT", report, stampOf(34, "a"), "from A"),
		begins(t, s, "PUT", report, stampOf(34, "b"), "from B"),
	}
	names := []string{"from A", "from B"}
	loser := 0
	select {
	case <-rivals[0].done:
	case <-rivals[1].done:
		loser = 1
	}
	rivals[loser].says("409 owner_conflict")
	if n := len(store.Requests()); n != 0 {
		t.Errorf("the store got %d requests before the loser was answered: nothing shows that they shared a commit", n)
	}
	rivals[1-loser].says("201")
	tookEffect(t, store, "PUT "+report+" "+names[1-loser])
	sawOnce(t, store, "PUT", report)
}

// The same without any help of the disk, again and again.
func TestTwoOwnersRace(t *testing.T) {
	t.Parallel()
	store, s := overFakeStore(t)
	var wants []string
	for i := range harness.Scale(500) {
		path := fmt.Sprintf("/pair/%d", i)
		var rivals []*pending
		for _, name := range []string{"a", "b"} {
			rivals = append(rivals, begins(t, s, "PUT", path, stampOf(fence.Token(34), name), "from "+name))
		}
		var said []string
		for j, r := range rivals {
			<-r.done
			said = append(said, r.a.String())
			if r.a.status == 201 {
				wants = append(wants, "PUT "+path+" from "+string("ab"[j]))
			}
		}
		if slices.Sort(said); said[0] != "201" || said[1] != "409 owner_conflict" {
			t.Fatalf("%s: the two are answered %q", path, said)
		}
		sawOnce(t, store, "PUT", path)
	}
	tookEffect(t, store, wants...)
}
