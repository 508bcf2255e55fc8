//go:build unix && !aix

// Package nonblock is reading from and writing to sockets by system calls that
// never wait, for the two connections of a request: the client's and the store's.
//
// Go's runtime prepares for every system call to take long: it is ready to give
// the processor to other goroutines meanwhile, and a thread of its own looks 50,000
// times a second whether it has to. For calls that do not wait that costs more
// than a tenth of all a proxy does. On Linux they are made without it
// (syscall.RawSyscall6), with MSG_DONTWAIT, so that they do not wait even on a
// socket that would. That needs package unsafe, for the address of the buffer and
// nothing else. On 386 sockets have no system calls of their own to make.
//
// With the race detector the usual calls are made: they tell it that what is
// written to a socket comes before what is read from it.
package nonblock
