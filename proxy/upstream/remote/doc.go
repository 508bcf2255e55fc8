// Package remote is storage behind another HTTP server: nginx or Apache with
// WebDAV, an S3-compatible gateway, anything that speaks HTTP/1.1. It is a
// client of its own, with net/http's types and parsing, because it has to know
// of each write whether it may still take effect.
//
// # Promises
//
//   - One request, one attempt. Of what the kernel has taken a byte nothing is
//     sent again, on any connection, whatever the method or its headers. No
//     redirect is followed, no proxy of the environment is used.
//   - Method, path and query go out byte for byte, below the prefix of the
//     store's URL. Bodies pass untouched, compressed or not. No header is added
//     but Host, the length or chunked coding and, without Idle, "Connection:
//     close".
//   - What became of a write is judged by what was handed to the socket before
//     the answer came and by the whole answer; the rules are in outcome.go.
//   - Before an uncertain write returns, its connection is reset (SO_LINGER 0):
//     what the kernel has not sent is discarded. On Linux the same happens when
//     the process is killed, no more than 256 KiB wait in the kernel, and TCP
//     gives up after half the settle time, so that a healed network does not
//     deliver the rest.
//
// # Connections
//
// With Idle a connection is kept after a request that left nothing on it: sent
// whole before its answer began, answered definitely and to a marked end, with a
// head that all readers understand alike (clean.go). It is not kept after
// informational answers, after refusals of a request with a body, which the
// store need not have read, or after answers that describe a body they do not
// bring, as most to HEAD do. The connection used last is taken first. Right
// before the first byte of a request is written, nothing may have arrived on its
// connection, neither data nor its end; else it is dropped and the next one, in
// the end a new one, is taken. A store that closes in the instant in which it is
// written to leaves the write uncertain.
//
// A head and a body of up to 64 KiB together are sent by the caller in one write;
// only what the kernel does not take at once has a goroutine, so that an early
// answer is seen meanwhile. A write that is taken whole costs three system calls:
// to look whether the store has kept silent, to write, and to read its answer.
// A body with a method Bytes, as that of a bytes.Buffer, is not copied, and one
// that is an io.SectionReader of an os.File is sent by the kernel (Linux, not with
// TLS).
//
// The deadline of a context with a method EndsByDeadline is that of the socket,
// which is told of it only where it knows of none that is earlier; other contexts
// of writes cut the connection when they end. That of a read is asked for its end
// only when the store has let it wait for 10 ms: what cancels it is mostly a client
// that leaves, and to watch that costs more than most reads.
//
// Heads of the form that most answers have are parsed here (simple.go), all others
// by http.ReadResponse; both lead to the same.
//
// # Refusals
//
// HTTP/1.1 and 1.0 only. Informational answers (1xx) are skipped; one that
// switches protocols (101) is an error and nothing is tunnelled. Expect is never
// sent. The head of an answer may have 1 MiB, informational ones included.
// Trailers are read, as a part of the body, and dropped.
//
// Write keeps the body of an answer in memory, up to 8 MiB. Of a larger one, or
// one that breaks off, only status and headers are passed on; where the body
// carries the result of the write, it counts as not answered.
//
// Read keeps the body of a question (PROPFIND, REPORT) in memory, up to 1 MiB,
// before it connects; a larger one is an error. It streams the answer.
//
// # Early answers
//
// Storage that answers before it has taken the whole request (413, 401) leaves
// open what becomes of the rest, so such a write is uncertain even if it was
// surely refused. Refusals are passed on at once. An early success counts as an
// answer only if the rest could be sent as well. Where a new connection brings
// an answer before anything was sent, nothing is: a refusal is passed on.
package remote
