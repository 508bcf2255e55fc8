package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// MaxHeaderBytes limits the head of a request.
const MaxHeaderBytes = 64 << 10

// NewServer returns the data listener's server: HTTP/1 only, with limits on
// heads and idle connections. Bodies have limits of their own (BodyLimits).
//
// After a request with both Transfer-Encoding and Content-Length the connection
// should be closed (RFC 9112 section 6.1). That cannot be done: net/http reads
// the chunks and removes the length before a handler could see it. The length is
// not sent on, so nobody behind us is misled.
func NewServer(p *Proxy, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           p,
		ReadHeaderTimeout: p.opts.HeadTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    MaxHeaderBytes,
		Protocols:         &protocols,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			keepUnsentSmall(c)
			return context.WithValue(ctx, connKey{}, c)
		},
		// "OPTIONS *" is to be refused like every target that is not a path.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
