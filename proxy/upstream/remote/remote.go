package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrClosed is the error, or the cause of one, of requests after or during
// Close.
var ErrClosed = errors.New("the connection to the store is closed")

// Remote is one HTTP store. Its methods may be called from many goroutines.
type Remote struct {
	addr   string // to dial, with port
	host   string // the store's own Host
	prefix string // in front of paths, escaped, without final slash
	opts   Options
	tls    *tls.Config // nil for http
	dialer net.Dialer

	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	pool    pool
	running sync.WaitGroup // requests
}

// Open returns the store at url, "http://host:port/prefix" or https, without
// connecting to it. The error tells everything that is wrong with url and
// opts, one fault per line. Files are read once, here.
func Open(url string, opts Options) (*Remote, error) {
	place, urlErr := parseURL(url)
	config, tlsErr := opts.tlsConfig(place)
	if err := errors.Join(urlErr, opts.check(), tlsErr); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	life, end := context.WithCancel(context.Background())
	return &Remote{
		addr: place.addr, host: place.host, prefix: place.prefix,
		opts: opts, tls: config, life: life, end: end,
		dialer: net.Dialer{Control: control(opts.userTimeout())},
		pool:   pool{all: map[*conn]struct{}{}},
	}, nil
}

// enter admits a request, which calls u.running.Done at its end.
func (u *Remote) enter() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return ErrClosed
	}
	u.running.Add(1)
	return nil
}

// explain adds to err why ctx, or the store's life, has ended, if it has: both
// can be matched.
func (u *Remote) explain(ctx context.Context, err error) error {
	if u.life.Err() != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("store at %s: %w: %w", u.addr, cause, err)
	}
	return fmt.Errorf("store at %s: %w", u.addr, err)
}

// Close cuts all connections. Requests in progress get errors, and are waited
// for: nothing is sent after it. It returns nil; later calls too.
func (u *Remote) Close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.end()
	u.cutAll()
	u.running.Wait()
	return nil
}
