// Package dir is the storage that fencegate serves itself: a local directory
// under protocol "plain". Every regular file below the root is an object; its
// path is its name.
//
// # Promises
//
//   - A write is atomic and durable. The body goes into a file of its own in
//     the staging area, is fsync'd there, renamed over the object, and the
//     directory is fsync'd before the write is answered. Readers see one whole
//     version, whatever is killed and whenever.
//   - Preconditions (If-Match, If-None-Match, If-Unmodified-Since) are checked
//     in one step with the rename or removal that they guard.
//   - Nothing outside the root is read or written. Paths are resolved by the
//     kernel beneath the open root (openat2 on Linux, os.Root elsewhere),
//     never by joining strings.
//   - No write takes effect after the process is gone, so a local directory
//     needs no settle time: a system call in flight at kill −9 ends before the
//     last thread does, and only then is the lock on the staging area free for
//     a successor. Network file systems are different: see NetworkFS.
//
// # Refusals
//
// Symbolic links are not followed, neither in the middle of a path nor at its
// end: two names for one object would have two fences. For the same reason
// mount points below the root are not entered, and a rename breaks hard links:
// the other name keeps the old content. FIFOs, devices and sockets are not
// opened. Directories have no listing yet. Replacing a file does not keep its
// mode, owner or extended attributes; new files get 0666 and new directories
// 0777, less the umask.
//
// Elsewhere than on Linux, symbolic links are refused by a look before the
// use, so a local user who can write below the root could slip one in between;
// os.Root still keeps the access beneath the root.
//
// # Staging area
//
// The directory ".fencegate" in the root (mode 0700) does not exist for
// clients, in any spelling that the file system takes for it:
//
//	lock        flock'd while the root is served
//	ledger-id   one line, the id of the ledger that guards this root
//	staged/     bodies on their way; swept by the next Open
//	trash/      what was deleted; emptied in the background
//
// # Answers
//
// Everything that the store refuses by itself is a plain text answer without
// any X-Fencing header; see StatusError. An entity tag is strong: it is made of
// modification time, size and inode, and a version's modification time is after
// that of the version it replaces and, unless that one's is in the future, unlike
// any other that the store gives.
package dir
