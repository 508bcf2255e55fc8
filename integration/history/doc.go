// Package history records what clients asked of a fence, sets it beside what
// took effect in the store, and looks for broken promises.
//
// A history is two lists. The operations are what clients know: what they sent,
// when, and what they were answered. The effects are what the store knows: its
// own log, in the order in which it applied them. A write's id is in what it
// writes, so an effect leads back to its operation, token and owner.
//
// The checks are pure functions of a History. Each looks for one promise and
// returns the violations with their evidence:
//
//   - Order: on one object, effects never fall in token.
//   - Claims: once an operation with token t was answered by the store, or a
//     claim was granted, nothing below t takes effect there any more.
//   - Owners: for one resource and token, the writes of one owner at most take
//     effect.
//   - Answers: what was refused has no effect, what succeeded has exactly one
//     between call and return, and no write has two.
//   - Registers: each object is a register with a fence, and there is an order
//     of all that clients saw which such a register could have produced.
//     Searched with porcupine, by the store's log and again by the answers
//     alone, so that a log that lies is found too. A search that takes too long
//     is reported as such.
//
// Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine
// share. The store's log and the clients' calls can so be compared; a client
// that is paused between an event and its note notes it too late, never too
// early for a return and never too late for a call, which is the safe side.
//
// # Files
//
// A Recorder writes one JSON object in a line for each call and again for its
// return, with the same id; the later line replaces the earlier one. Each line
// is one write to the file, before the request is sent and after the answer was
// read: whatever the client was doing when it was killed, what it had sent is
// there, as an operation without return.
package history
