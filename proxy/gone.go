package proxy

import (
	"context"
	"net"
	"time"
)

// connKey is what a request's context has its connection under.
type connKey struct{}

// watchClient returns a context that ends when the client leaves, until end is
// called. Once a body has been read, net/http looks out for that itself, by
// reading on. Before, it cannot, since what comes is the body: then the
// connection is watched without reading from it, where awaitLeave can do so.
//
// What the client has sent before it left is in the way of that only when it is
// more than the kernel takes: then the end has not arrived here.
func (x *exchange) watchClient() (_ context.Context, end func()) {
	ctx := x.r.Context()
	conn, ok := ctx.Value(connKey{}).(net.Conn)
	if !ok || !x.bodyUnread() || x.took != nil && x.took.err != nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if awaitLeave(conn) {
			cancel()
		}
	}()
	return ctx, func() {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // nothing else reads meanwhile
		<-ended
		_ = conn.SetReadDeadline(time.Time{})
		cancel()
	}
}
