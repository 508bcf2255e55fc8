package dir

import (
	"hash/maphash"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// turns lets requests for one object go one after the other. Different objects
// may share a turn by chance, never the other way round: names that any file
// system takes for one (case, Unicode form) have one turn.
type turns [8192]sync.Mutex

var turnSeed = maphash.MakeSeed()

// take waits for the turn of the object at rel and returns how to give it back.
func (t *turns) take(rel string) (done func()) {
	turn := &t[maphash.String(turnSeed, strings.ToLower(norm.NFC.String(rel)))%uint64(len(t))]
	turn.Lock()
	return turn.Unlock
}
