// Package front is the server that clients of fencegate talk to: HTTP/1.1 and
// 1.0 over TCP, for one http.Handler. It takes the place of net/http's server,
// which spends more on a small request than the rest of fencegate does: on a
// goroutine that reads ahead, several changes of a timer, and copies of headers.
// And it has to leave some things undone that a fence must not do.
//
// # What a handler gets
//
// An *http.Request as net/http's server makes it, and an http.ResponseWriter
// that http.ResponseController finds its methods on. Other than there:
//
//   - A request, its headers, its body and the ResponseWriter are valid until the
//     handler returns, and no longer: their memory is used again. Strings may be
//     kept.
//   - A header can be written before the body has been read; nothing is read
//     unless the handler does. What it has left of a body when it returns ends
//     the connection; if it has written something by then, it has to have said so
//     in Connection.
//   - The header is taken when the answer begins: at the first byte, at Flush, or
//     when the handler returns. There are no trailers in answers.
//   - Content-Type is not guessed, and no header of a request is changed or added.
//   - A body's error says what it is: os.ErrDeadlineExceeded, io.ErrUnexpectedEOF
//     where the client has ended the connection, ErrMalformed, or one of the
//     network. The trailer is in Request.Trailer once the body was read.
//   - The request's context ends when the client leaves, or closes its sending
//     side, if somebody has asked for its Done; else only when a Read has failed
//     or the handler returns. Who wants to learn of that last end has to have
//     asked before it. Nothing is read to find out (leave_linux.go); on other
//     systems who leaves is noticed by what is read and written alone.
//   - Deadlines of the ResponseController are set on the socket only when there is
//     something to wait for.
//
// # What is refused
//
// Whatever two readers could understand differently, with a bare 400 and the end
// of the connection: lines folded, a space before a colon, names that are no
// tokens, control characters, several Content-Lengths, several Hosts or none
// (RFC 9112 sections 2.2, 3.2, 5.1, 5.2, 6.3), chunks with a bare LF or CR. Beside
// Transfer-Encoding a Content-Length is dropped, and the connection closed behind
// the answer (section 6.1). Codings but chunked get 501, heads above the limit
// 431, other versions 505, other expectations than 100-continue 417. LF alone
// ends a line of a head, as section 2.2 permits.
package front
