// Package dir is the storage that fencegate serves itself: a local directory
// under protocol "plain" or "webdav". Every regular file below the root is an
// object; its path is its name.
//
// # Promises
//
//   - A write is atomic and durable. The body goes into a file of its own in
//     the staging area, is fsync'd there, renamed over the object, and the
//     directory is fsync'd before the write is answered. Writes that meet in a
//     directory share its fsync, one that begins after the last of their renames.
//     Readers see one whole version, whatever is killed and whenever.
//   - Preconditions (If-Match, If-None-Match, If-Unmodified-Since) are checked
//     in one step with the rename or removal that they guard.
//   - What COPY and MOVE replace is never lost: at every moment, and after a crash
//     at any, the destination is whole, as it was or as it is to be.
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
// opened. Under protocol plain directories have no listing. Replacing a file does
// not keep its mode, owner or extended attributes, except WebDAV properties; new
// files get 0666 and new directories 0777, less the umask.
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
//	staged/     bodies and copies on their way; swept by the next Open
//	moves/      under WebDAV: notes of where a source in staged/ belongs
//	trash/      what was deleted; emptied in the background
//
// # WebDAV
//
// RFC 4918, classes 1 and 2, with the header fields Destination and If naming
// paths from the root, as the proxy maps them.
//
//   - PUT and MKCOL where there is no parent are 409; no directory is made on the
//     way.
//   - COPY is made in the staging area, made durable there, and put in place in one
//     step. MOVE is a rename, of properties too. Over a directory, or of one over a
//     file, the two change places (renameat2), and what was replaced goes to the
//     trash; where a file system cannot do that (NFS, FAT, other systems than Linux)
//     it is 403 until the destination is deleted. Source and destination may not be
//     the same (403), nor one inside the other. Neither crosses a mount point (403,
//     as everything else), and a tree that holds a symbolic link or special file is
//     not copied (403, nothing is changed); MOVE takes it along. If anything of the
//     source is deleted while a COPY is under way, that is 409, and nothing is
//     changed. Each file of a copied tree is one whole version; the tree is not of
//     one moment. Files get a later time than what they replace.
//   - PROPFIND with Depth infinity of a directory is 403. There is no limit to the
//     size of a directory. Names that are not UTF-8 or have control characters in
//     them are not shown, since no request can name them.
//   - Dead properties are in the extended attribute user.fencegate.properties, so that
//     they go with the file in one step, and outlast a restart. What does not fit is
//     507: all properties of a file together have 64 KiB on XFS, about 4 KiB on ext4,
//     none where there are no such attributes.
//   - Locks, exclusive or shared, are in memory and gone after a restart. They last 10
//     minutes at most unless they are refreshed, since they also keep out the next
//     holder of a fencing token. DELETE and MOVE end those on what goes away.
//   - GET of a directory is a page for browsers.
//
// Refusals that RFC 4918 has a name for (section 16) say it in an XML body.
//
// # Answers
//
// Everything that the store refuses by itself is a plain text answer without
// any X-Fencing header; see StatusError. An entity tag is strong: it is made of
// modification time, size and inode, and a version's modification time is after
// that of the version it replaces and, unless that one's is in the future, unlike
// any other that the store gives.
package dir
