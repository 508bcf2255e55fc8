package main

// mostConnections is how many clients may be connected at once, if this process
// may have enough files open.
const mostConnections = 16_384

// keptFiles are for the ledger, the spool, the admin listener and the rest of
// the process.
const keptFiles = 256

// connectionsFor returns the limit of connections for so many open files: each
// may need a second one, for an object or a connection to the store. The
// runtime has raised the soft limit to the hard one.
func connectionsFor(files uint64) int {
	if files <= keptFiles {
		return 16
	}
	return int(min(mostConnections, max(16, (files-keptFiles)/2)))
}
