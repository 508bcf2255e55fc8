package dir

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxLockTime is how long a lock lasts at most unless it is refreshed. It is
	// short since a lock also keeps out the next holder of the fencing token.
	maxLockTime = 10 * time.Minute
	// maxLocks bounds the memory that locks take, with maxOwner, in bytes.
	maxLocks = 10_000
	maxOwner = 4 << 10
)

// davLock is one write lock of a WebDAV client (RFC 4918 section 7).
type davLock struct {
	token    string // a URI
	path     string // as the client named it: "/" and no slash at the end
	root     string // path in the one spelling that is compared
	shared   bool
	infinite bool   // covers everything below
	owner    []byte // element, may be nil
	end      time.Time
}

// locks are all of them. They are in memory and gone after a restart. Safe for
// concurrent use; what is found stays true only as long as Dir.tree is held,
// since LOCK holds it alone.
//
// x/net/webdav has a table of its own, which takes any one condition of an If
// header for all, does not know Not and entity tags, and cannot tell which
// locks there are on or below a path.
type locks struct {
	now   func() time.Time
	folds bool // names that differ in case are one

	mu      sync.Mutex
	byToken map[string]*davLock
	byRoot  map[string][]*davLock
}

func newLocks(now func() time.Time) *locks {
	return &locks{now: now, byToken: map[string]*davLock{}, byRoot: map[string][]*davLock{}}
}

// key returns the spelling of a path that is compared.
func (l *locks) key(path string) string {
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	if l.folds {
		path = strings.ToLower(norm.NFC.String(path))
	}
	return path
}

// parentOf returns "" for the root.
func parentOf(key string) string {
	switch i := strings.LastIndexByte(key, '/'); {
	case key == "/":
		return ""
	case i == 0:
		return "/"
	default:
		return key[:i]
	}
}

func isBelow(key, top string) bool {
	return top == "/" && key != "/" || strings.HasPrefix(key, top+"/")
}

// covering returns the locks that the object at key is under.
func (l *locks) covering(key string) (found []*davLock) {
	now := l.now()
	for at := key; at != ""; at = parentOf(at) {
		// From the end, because those that are over are taken out.
		for _, lock := range slices.Backward(l.byRoot[at]) {
			switch {
			case !lock.end.After(now):
				l.remove(lock)
			case at == key || lock.infinite:
				found = append(found, lock)
			}
		}
	}
	return found
}

// below returns the locks on what is below key.
func (l *locks) below(key string) (found []*davLock) {
	now := l.now()
	for _, lock := range l.byToken {
		if isBelow(lock.root, key) && lock.end.After(now) {
			found = append(found, lock)
		}
	}
	return found
}

func (l *locks) remove(lock *davLock) {
	delete(l.byToken, lock.token)
	rest := slices.DeleteFunc(slices.Clone(l.byRoot[lock.root]), func(other *davLock) bool { return other == lock })
	if len(rest) == 0 {
		delete(l.byRoot, lock.root)
		return
	}
	l.byRoot[lock.root] = rest
}

// change is what a write does to a path, as far as locks are concerned.
type change struct {
	comes bool // the name comes or goes, which changes the directory it is in
	tree  bool // all below it changes too
}

// missing returns the root of a lock that a change of path needs but of which no
// token was submitted, "" for none. Of shared locks one token is enough.
func (l *locks) missing(path string, c change, submitted []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byToken) == 0 {
		return ""
	}
	unheld := func(key string) string {
		if key == "" {
			return ""
		}
		under := l.covering(key)
		for _, lock := range under {
			if slices.Contains(submitted, lock.token) {
				return ""
			}
		}
		if len(under) == 0 {
			return ""
		}
		return under[0].path
	}
	key := l.key(path)
	if root := unheld(key); root != "" {
		return root
	}
	if c.comes {
		if root := unheld(parentOf(key)); root != "" {
			return root
		}
	}
	if c.tree {
		for _, lock := range l.below(key) {
			if root := unheld(lock.root); root != "" {
				return root
			}
		}
	}
	return ""
}

// holds reports whether the object at path is under the lock of that token.
func (l *locks) holds(path, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lock := range l.covering(l.key(path)) {
		if lock.token == token {
			return true
		}
	}
	return false
}

// on returns copies of the locks that the object at path is under.
func (l *locks) on(path string) (found []davLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byToken) == 0 {
		return nil
	}
	for _, lock := range l.covering(l.key(path)) {
		found = append(found, *lock)
	}
	return found
}

// conflict returns the root of a lock beside which a new one on path cannot be,
// "" for none.
func (l *locks) conflict(path string, shared, infinite bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.key(path)
	others := l.covering(key)
	if infinite {
		others = append(others, l.below(key)...)
	}
	for _, other := range others {
		if !shared || !other.shared {
			return other.path
		}
	}
	return ""
}

// add makes a lock; the caller has looked for conflicts and holds Dir.tree alone.
func (l *locks) add(lock davLock, lasts time.Duration) (davLock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if len(l.byToken) >= maxLocks {
		for _, lock := range l.byToken {
			if !lock.end.After(now) {
				l.remove(lock)
			}
		}
	}
	if len(l.byToken) >= maxLocks {
		return lock, refuse(http.StatusServiceUnavailable, fmt.Sprintf("there are %d locks already: try again when some are over", maxLocks))
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	lock.token = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	lock.path = strings.TrimSuffix(lock.path, "/")
	if lock.path == "" {
		lock.path = "/"
	}
	lock.root, lock.end = l.key(lock.path), now.Add(lasts)
	kept := lock
	l.byToken[kept.token] = &kept
	l.byRoot[kept.root] = append(l.byRoot[kept.root], &kept)
	return lock, nil
}

// refresh lets the first of these locks that covers path last anew; ok is false
// if none does.
func (l *locks) refresh(path string, tokens []string, lasts time.Duration) (_ davLock, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lock := range l.covering(l.key(path)) {
		if slices.Contains(tokens, lock.token) {
			lock.end = l.now().Add(lasts)
			return *lock, true
		}
	}
	return davLock{}, false
}

// unlock ends the lock of that token if the object at path is under it.
func (l *locks) unlock(path, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lock := range l.covering(l.key(path)) {
		if lock.token == token {
			l.remove(lock)
			return true
		}
	}
	return false
}

// drop ends the locks on what is below path, and with self on path too: the
// objects are no longer there.
func (l *locks) drop(path string, self bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byToken) == 0 {
		return
	}
	key := l.key(path)
	for _, lock := range l.byToken {
		if isBelow(lock.root, key) || self && lock.root == key {
			l.remove(lock)
		}
	}
}
