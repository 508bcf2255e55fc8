package integration

import (
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A DELETE of a tree meets a PUT below it, and the first of the two takes its
// time at the store. Shown: S1 order for trees, the second is not sent before
// the first has taken effect, whichever it is.
func TestDeleteOfATreeAndAPutBelow(t *testing.T) {
	t.Parallel()
	type write struct {
		method, path string
		stamp        fence.Stamp
	}
	put := func(token fence.Token, name string) write { return write{"PUT", "/t/x/y", stampOf(token, name)} }
	del := func(token fence.Token, name string) write { return write{"DELETE", "/t", stampOf(token, name)} }
	for _, c := range []struct {
		name          string
		first, second write
		firstSays     string
		secondSays    string
		left          string // at the object
	}{
		{"PUT, then DELETE of a newer holder", put(33, "a"), del(34, "b"), "204", "204", ""},
		{"PUT, then DELETE of the same holder", put(33, "a"), del(33, "a"), "204", "204", ""},
		{"DELETE, then PUT of a newer holder", del(33, "a"), put(34, "b"), "204", "201", "from b"},
		{"DELETE, then PUT of the same holder", del(33, "a"), put(33, "a"), "204", "201", "from a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t)
			store.Set("/t/x/y", "old")
			hold := make(chan struct{})
			store.Queue(c.first.method, c.first.path, harness.Plan{Wait: hold})
			start := func(w write) *pending {
				body := ""
				if w.method == "PUT" {
					body = "from " + w.stamp.Client[len("test/"):]
				}
				return begins(t, s, w.method, w.path, w.stamp, body)
			}
			first := start(c.first)
			sees(store, c.first.method, c.first.path)
			second := start(c.second)
			awaitBlocked(t, s, 1, store)
			close(hold)
			first.says(c.firstSays)
			second.says(c.secondSays)
			requests, effects := store.Requests(), store.Effects() // the second of each is elsewhere
			if len(requests) != 3 || len(effects) != 3 || requests[2].At < effects[1].At {
				t.Errorf("the second was sent before the first took effect: %+v, %v", requests, effects)
			}
			if got := store.Objects()["/t/x/y"]; got != c.left {
				t.Errorf("the object holds %q, want %q", got, c.left)
			}
		})
	}
}

// The other way round the second is too old. Shown: it is refused while the
// first is still on its way, and the store never hears of it.
func TestStaleWriteBesideASlowTree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		method, path              string // first
		staleMethod, stale, wants string
	}{
		{"DELETE, then an old PUT below", "DELETE", "/t", "PUT", "/t/x/y", "412 stale_token"},
		{"PUT, then an old DELETE above", "PUT", "/t/x/y", "DELETE", "/t", "409 tree_fenced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, s := overFakeStore(t)
			store.Set("/t/x/y", "old")
			hold := make(chan struct{})
			store.Queue(c.method, c.path, harness.Plan{Wait: hold})
			first := begins(t, s, c.method, c.path, stampOf(34, "b"), "")
			sees(store, c.method, c.path)
			says(t, s, c.wants, c.staleMethod, c.stale, stampOf(33, "a"), "")
			close(hold)
			first.says("204")
			if n := len(store.Requests()); n != 1 {
				t.Errorf("the store got %d requests: %v", n, store.Requests())
			}
		})
	}
}
