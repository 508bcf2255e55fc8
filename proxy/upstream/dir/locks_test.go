package dir

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

func lockBody(scope string) string {
	return `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:` + scope + `/></D:lockscope>` +
		`<D:locktype><D:write/></D:locktype><D:owner><D:href>mailto:me@test</D:href></D:owner></D:lockinfo>`
}

// One who has no token changes nothing under a lock; one who has it may.
func TestLocks(t *testing.T) {
	s := openDAV(t)
	fill(t, s.root, "a 1", "b 2", "s/x 3", "s/t/y 4")
	excl := lockBody("exclusive")
	ifToken := []string{"If: ({token})"}
	const need = "lock-token-submitted"
	converse(t, s, []step{
		{method: "LOCK", path: "/a", body: excl, header: []string{"Timeout: Infinite, Second-5", "Depth: 0"}, status: 200, answer: "<D:timeout>Second-600</D:timeout>"},
		{method: "LOCK", path: "/a", body: excl, status: 423, answer: "no-conflicting-lock"},
		{method: "LOCK", path: "/a", body: lockBody("shared"), status: 423, answer: "<D:href>/a</D:href>"},
		{method: "LOCK", path: "/", body: excl, status: 423, answer: "<D:href>/a</D:href>"},
		{method: "PUT", path: "/a", body: "x", status: 423, answer: need},
		{method: "PUT", path: "/a", body: "x", header: []string{"If: (<urn:uuid:other>)"}, status: 412},
		{method: "PUT", path: "/a", body: "x", header: []string{"If: (Not <urn:uuid:other>)"}, status: 423},
		{method: "DELETE", path: "/a", status: 423, answer: "<D:href>/a</D:href>"},
		{method: "MOVE", path: "/a", header: to("/c"), status: 423},
		{method: "MOVE", path: "/b", header: to("/a"), status: 423},
		{method: "COPY", path: "/b", header: to("/a"), status: 423},
		{method: "COPY", path: "/a", header: to("/c"), status: 201},
		{method: "PROPPATCH", path: "/a", body: set("x", "1"), status: 423, answer: need},
		{method: "GET", path: "/a", status: 200, answer: "1"},
		{method: "UNLOCK", path: "/b", header: []string{"Lock-Token: {token}"}, status: 409},
		{method: "UNLOCK", path: "/a", header: []string{"Lock-Token: <urn:uuid:other>"}, status: 409},
		{method: "UNLOCK", path: "/a", status: 400},
		{method: "PUT", path: "/a", body: "mine", header: ifToken, status: 204},
		{method: "PUT", path: "/a", body: "again", header: []string{"If: ({token} [{etag}])"}, status: 204},
		{method: "PUT", path: "/a", body: "not", header: []string{`If: ({token} ["other"])`}, status: 412},
		{method: "PUT", path: "/a", body: "either", header: []string{`If: (["other"]) ({token})`}, status: 204},
		{method: "PROPPATCH", path: "/a", body: set("x", "1"), header: ifToken, status: 207, answer: "200 OK"},
		{method: "COPY", path: "/b", header: to("/a", "If: </a> ({token})"), status: 204},
		{method: "LOCK", path: "/a", header: append(ifToken, "Timeout: Second-7"), status: 200, answer: "Second-7"},
		{method: "LOCK", path: "/b", header: ifToken, status: 412},
		{method: "LOCK", path: "/a", status: 400},
		{method: "UNLOCK", path: "/a", header: []string{"Lock-Token: {token}"}, status: 204},
		{method: "PUT", path: "/a", body: "free", status: 204},
		{method: "PUT", path: "/a", body: "x", header: ifToken, status: 412},

		// Below a directory; and what is new in one.
		{method: "LOCK", path: "/s/", body: excl, status: 200, answer: "<D:lockroot><D:href>/s</D:href>"},
		{method: "PUT", path: "/s/x", body: "x", status: 423},
		{method: "PUT", path: "/s/t/new", body: "x", status: 423},
		{method: "MKCOL", path: "/s/new", status: 423},
		{method: "LOCK", path: "/s/t", body: excl, status: 423},
		{method: "MOVE", path: "/a", header: to("/s/a"), status: 423},
		{method: "MOVE", path: "/s/x", header: to("/x"), status: 423},
		{method: "DELETE", path: "/s/x", status: 423},
		{method: "MKCOL", path: "/s/new", header: ifToken, status: 201},
		{method: "UNLOCK", path: "/s/x", header: []string{"Lock-Token: {token}"}, status: 204},
		{method: "LOCK", path: "/s", body: excl, header: []string{"Depth: 0"}, status: 200},
		{method: "PUT", path: "/s/x", body: "not new", status: 204},
		{method: "PUT", path: "/s/another", body: "new", status: 423},
		{method: "DELETE", path: "/s/x", status: 423},
		{method: "MKCOL", path: "/s/d", status: 423},
		{method: "LOCK", path: "/s/unmapped", body: excl, status: 423},
		{method: "MKCOL", path: "/s/d", header: []string{"If: </s> ({token})"}, status: 201},
		{method: "LOCK", path: "/s/d/mapped", body: excl, status: 201},
		{method: "UNLOCK", path: "/s/d/mapped", header: []string{"Lock-Token: {token}"}, status: 204},
		{method: "LOCK", path: "/s/unmapped", body: excl, header: []string{"If: </s> ({token 3})"}, status: 201},
		{method: "UNLOCK", path: "/s/unmapped", header: []string{"Lock-Token: {token}"}, status: 204},
		{method: "DELETE", path: "/s/x", header: []string{"If: </s/> ({token 3})"}, status: 204},
		{method: "UNLOCK", path: "/s", header: []string{"Lock-Token: {token 3}"}, status: 204},

		// A tree with a lock in it; and locks go with what they are on.
		{method: "LOCK", path: "/s/t/y", body: excl, status: 200},
		{method: "DELETE", path: "/s", status: 423, answer: "/s/t/y"},
		{method: "MOVE", path: "/s", header: to("/moved"), status: 423},
		{method: "MOVE", path: "/b", header: to("/s"), status: 423},
		{method: "LOCK", path: "/s", body: excl, status: 423},
		{method: "LOCK", path: "/s", body: excl, header: []string{"Depth: 1"}, status: 400},
		{method: "MOVE", path: "/s", header: to("/moved", "If: </s/t/y> ({token})"), status: 201},
		{method: "PUT", path: "/moved/t/y", body: "free", status: 204},
		{method: "MKCOL", path: "/s", status: 201},
		{method: "MKCOL", path: "/s/t", status: 201},
		{method: "PUT", path: "/s/t/y", body: "free", status: 201},

		// Where there is nothing yet.
		{method: "LOCK", path: "/new", body: excl, status: 201},
		{method: "GET", path: "/new", status: 200, answerHeader: "Content-Length: 0"},
		{method: "PUT", path: "/new", body: "x", status: 423},
		{method: "DELETE", path: "/new", header: []string{"If: ({token})"}, status: 204},
		{method: "PUT", path: "/new", body: "x", status: 201},
		{method: "LOCK", path: "/no/new", body: excl, status: 409},
		{method: "LOCK", path: "/newdir/", body: excl, status: 409},
		{method: "LOCK", path: "/.fencegate/lock", body: excl, status: 403},
		{method: "LOCK", path: "/x", body: "<lockinfo/>", status: 400},
		{method: "LOCK", path: "/x", body: "<", status: 400},
		{method: "LOCK", path: "/x", body: strings.Replace(excl, "mailto", strings.Repeat("m", maxOwner), 1), status: 413},
		{method: "GET", path: "/x", status: 404},

		// Shared ones.
		{method: "LOCK", path: "/a", body: lockBody("shared"), status: 200},
		{method: "LOCK", path: "/a", body: lockBody("shared"), status: 200},
		{method: "LOCK", path: "/a", body: excl, status: 423},
		{method: "PUT", path: "/a", body: "x", status: 423},
		{method: "PUT", path: "/a", body: "x", header: []string{"If: ({token})"}, status: 204},
		{method: "UNLOCK", path: "/a", header: []string{"Lock-Token: {token}"}, status: 204},
		{method: "PUT", path: "/a", body: "x", status: 423},
	})
}

// Locks end by themselves, later if they are refreshed.
func TestLocksEnd(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLocks(func() time.Time { return now })
	lock, err := l.add(davLock{path: "/d/"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Second)
	if l.missing("/d", change{}, nil) != "/d" || l.missing("/d/x", change{comes: true}, nil) != "/d" || l.missing("/d/x", change{}, nil) != "" {
		t.Error("not held before its end")
	}
	if _, ok := l.refresh("/d", []string{lock.token}, time.Minute); !ok {
		t.Error("not refreshed")
	}
	now = now.Add(59 * time.Second)
	if l.missing("/", change{tree: true}, nil) != "/d" || !l.holds("/d", lock.token) {
		t.Error("not held after it was refreshed")
	}
	now = now.Add(time.Second)
	if l.missing("/", change{tree: true}, nil) != "" || l.holds("/d", lock.token) || l.conflict("/d", false, true) != "" {
		t.Error("held after its end")
	}
	if _, ok := l.refresh("/d", []string{lock.token}, time.Minute); ok || len(l.byToken)+len(l.byRoot) != 0 {
		t.Errorf("one that is over is kept: %v", l.byToken)
	}
}

// Their number is bounded, and those that are over do not count.
func TestLocksAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLocks(func() time.Time { return now })
	for i := range maxLocks {
		if _, err := l.add(davLock{path: fmt.Sprint("/", i)}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.add(davLock{path: "/x"}, time.Minute); err == nil {
		t.Error("one more")
	}
	now = now.Add(time.Minute)
	if _, err := l.add(davLock{path: "/x"}, time.Minute); err != nil || len(l.byToken) != 1 || len(l.byRoot) != 1 {
		t.Errorf("%v, %d locks", err, len(l.byToken))
	}
}

// On a file system that folds case, two spellings are under one lock.
func TestLocksFoldCase(t *testing.T) {
	l := newLocks(time.Now)
	l.folds = true
	if _, err := l.add(davLock{path: "/Straße/É"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if l.missing("/sTRAßE/e\u0301", change{}, nil) == "" {
		t.Error("another spelling is free")
	}
}

// A lock is given only when no write that found none is under way.
func TestLockWaitsForWrites(t *testing.T) {
	s := openDAV(t)
	s.do(t, request("PUT", "/a", "1"))
	s.tree.RLock() // as a PUT on its way does
	answered := make(chan int, 1)
	go func() {
		res, o, err := s.serve(request("LOCK", "/a", lockBody("exclusive")))
		if err != nil || o != fence.Definite {
			t.Error(o, err)
			answered <- 0
			return
		}
		answered <- res.StatusCode
	}()
	waitBlocked(t, "sync.RWMutex", "lockPath", answered)
	s.tree.RUnlock()
	if status := <-answered; status != 200 {
		t.Errorf("LOCK: %d", status)
	}
}
