package proxy

import (
	"log/slog"
	"time"

	"fencegate/proxy/front"
)

// MaxHeaderBytes limits the head of a request.
const MaxHeaderBytes = 64 << 10

// NewServer returns the data listener's server: HTTP/1 only, with limits on
// heads and idle connections. Bodies have limits of their own (BodyLimits).
func NewServer(p *Proxy, log *slog.Logger) *front.Server {
	return &front.Server{
		Handler:     p,
		HeadTimeout: p.opts.HeadTimeout,
		IdleTimeout: 2 * time.Minute,
		MaxHead:     MaxHeaderBytes,
		Log:         log,
	}
}
