// Package bolt keeps the ledger in one bbolt file on a local disk.
//
// What it promises: a commit that returned nil survives kill −9 and power loss,
// whole; a mark never falls; a file that is damaged anywhere is refused rather
// than believed; nothing in here panics, whatever the file or the disk does.
// What it refuses: to make a ledger by accident, to share one between
// processes, to use one after a commit whose effect on the disk is unknown, and
// to rely on a network file system.
//
// A state directory holds
//
//	ledger.db       rows and meta record; schema.go has the byte layout
//	ledger.suspect  there since a commit failed: time and error. A backup made
//	                while the ledger was not in use has none
//	lock            flock'ed by the process that uses the ledger; its pid
//
// Why it does not simply open the file with bbolt: bbolt initialises an empty
// file, faults on a truncated one, and panics, loops or quietly loses rows on a
// damaged one. Every page is therefore checked from the outside (verify.go)
// before bbolt sees the file.
package bolt

import (
	"time"

	"fencegate/fence"
)

// Names of the files in a state directory.
const (
	ledgerName  = "ledger.db"
	newName     = "ledger.db.new" // a ledger that is being made
	suspectName = "ledger.suspect"
	lockName    = "lock"
)

// DefaultWait is how long Open and Create wait for another process to release
// the ledger when Options.Wait is 0.
const DefaultWait = 5 * time.Second

// Options for Open and Create. The zero value is ready to use.
type Options struct {
	// Wait is how long to wait while another process uses the ledger.
	// 0 is DefaultWait, negative is not at all.
	Wait time.Duration
	// ExpectID is the ledger id that the configuration or the storage
	// remembers; Open refuses any other. "" accepts every ledger. Create
	// ignores it.
	ExpectID string
	// Kind is the token kind of a new ledger; "" is fence.AnyTokens. Open
	// ignores it: Meta tells what the ledger was made for.
	Kind fence.TokenKind
	// Now tells the time for the floor of a new ledger of fence.TimeTokens and
	// for the suspect marker; nil is time.Now.
	Now func() time.Time

	// filesystem names the network file system that path is on, "" for a local
	// one; nil asks the kernel.
	filesystem func(path string) (string, error)
}

func (o Options) withDefaults() Options {
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.Kind == "" {
		o.Kind = fence.AnyTokens
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.filesystem == nil {
		o.filesystem = networkFilesystem
	}
	return o
}
