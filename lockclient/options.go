package lockclient

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

const (
	defaultTTL     = 15 * time.Second
	minTTL         = 100 * time.Millisecond
	maxTTL         = 24 * time.Hour
	defaultMaxWait = 60 * time.Second
)

// Option is a setting. Given to New it is the default of all locks of that
// client; given to Lock, TryLock or Do it overrides the default for that lock.
type Option func(*settings) error

type settings struct {
	ttl     time.Duration
	maxWait time.Duration
	tree    bool
	plain   bool
	name    string
	client  string
	names   fence.NameOptions
	space   keyspace
	fence   *origin // nil: no fence
	http    *http.Client
	metrics *Metrics

	maxHold   time.Duration // 0: none
	reentrant bool
	warn      func(string) // nil: nobody listens
}

func defaults() settings {
	return settings{
		ttl:     defaultTTL,
		maxWait: defaultMaxWait,
		name:    "default",
		client:  defaultClient(),
		space:   keyspace{"{fencegate}:"},
	}
}

func defaultClient() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fence.CleanClient(fmt.Sprintf("%s/%d", host, os.Getpid()))
}

// with returns s changed by opts, or every fault found in them at once.
func (s settings) with(opts []Option) (settings, error) {
	var faults *multierror.Error
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(&s); err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	return s, faults.ErrorOrNil()
}

// WithTTL sets how long the lease lasts without renewal: 100 ms to 24 h,
// 15 s by default. It bounds how long a crashed holder blocks the others.
func WithTTL(d time.Duration) Option {
	return func(s *settings) error {
		if d < minTTL || d > maxTTL {
			return fmt.Errorf("ttl: %v is not between %v and %v", d, minTTL, maxTTL)
		}
		s.ttl = d
		return nil
	}
}

// WithMaxWait bounds the whole of Lock: the wait for another holder and then
// for the fence. 60 s by default; 0 does not wait for another holder, as
// TryLock. The claim of an acquired lock is given at least 1 s.
func WithMaxWait(d time.Duration) Option {
	return func(s *settings) error {
		if d < 0 {
			return fmt.Errorf("max wait: %v is negative", d)
		}
		s.maxWait = d
		return nil
	}
}

// WithMaxHold ends the lease d after it was acquired, however often it could
// be renewed: a holder that hangs does not keep the others out for ever. The lock
// is then lost as Expired, with ErrMaxHold, and Redis frees it. At least 100 ms;
// 0, the default, sets no bound.
func WithMaxHold(d time.Duration) Option {
	return func(s *settings) error {
		if d != 0 && d < minTTL {
			return fmt.Errorf("max hold: %v is neither 0 nor at least %v", d, minTTL)
		}
		s.maxHold = d
		return nil
	}
}

// WithReentrant makes Lock, TryLock and Do return another handle to a lock that
// their context carries (NewContext, and the context of Do's function), if it is
// of the same client and namespace and covers what is asked for. The handle has
// the same token and lease; the lock is released by the last Unlock. Other
// options are then without effect.
//
// A carried lock that is lost gives its *LostError: work that began under it must
// not go on under another. One that was released, or that covers nothing of what
// is asked for, does not count, and a new lock is taken. If it covers only a part,
// the result is ErrNotAcquired at once, as waiting for oneself would never end.
func WithReentrant() Option {
	return func(s *settings) error { s.reentrant = true; return nil }
}

// WithWarn calls f, at most once for each, with what Check finds wrong in
// Redis' settings when the client takes its first lock. It may be called from
// another goroutine and must not take locks of the same client. Given to Lock it
// has no effect.
func WithWarn(f func(string)) Option {
	return func(s *settings) error { s.warn = f; return nil }
}

// WithTree claims everything at and below the resource, and lets the Transport
// write there.
func WithTree() Option {
	return func(s *settings) error { s.tree = true; return nil }
}

var metricName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// WithName sets the label "name" of the metrics: [a-z][a-z0-9_-]*, at most 64
// characters, "default" by default. Each value is a time series for good, so it
// must come from the code, never from data.
func WithName(name string) Option {
	return func(s *settings) error {
		if !metricName.MatchString(name) {
			return fmt.Errorf("name: %q is not [a-z][a-z0-9_-]{0,63}", name)
		}
		s.name = name
		return nil
	}
}

// WithFence names the fencegate that guards the storage, as scheme://host:port.
// Without it a Lock has a token but nothing enforces it, and Transport refuses
// to send.
func WithFence(url string) Option {
	return func(s *settings) error {
		o, err := parseOrigin(url)
		if err != nil {
			return fmt.Errorf("fence: %w", err)
		}
		s.fence = &o
		return nil
	}
}

// WithNamespace sets what the keys in Redis start with, "fencegate" by
// default. All locks whose tokens can meet at one fence must share it, since
// each namespace has a counter of its own.
func WithNamespace(ns string) Option {
	return func(s *settings) error {
		keys, err := newKeyspace(ns)
		if err != nil {
			return err
		}
		s.space = keys
		return nil
	}
}

// WithPlainCounter makes tokens from the counter alone: small numbers, but they
// restart at 1 when Redis loses the counter. Then each resource costs one more
// round of claims, and a fence whose claims went unused is not protected.
func WithPlainCounter() Option {
	return func(s *settings) error { s.plain = true; return nil }
}

// WithClient sets what the fence's audit shows for this holder: host, process
// or job; "host/pid" by default, cut at 128 bytes.
func WithClient(name string) Option {
	return func(s *settings) error {
		s.client = fence.CleanClient(name)
		return nil
	}
}

// WithMetrics counts into m; nil counts nothing.
func WithMetrics(m *Metrics) Option {
	return func(s *settings) error { s.metrics = m; return nil }
}

// WithHTTPClient sends claims through h. Its redirect policy is not used: a
// claim that followed a redirect would show the owner to another host.
func WithHTTPClient(h *http.Client) Option {
	return func(s *settings) error {
		if h == nil {
			return errors.New("http client: is nil")
		}
		s.http = h
		return nil
	}
}

// WithFenceNames says how the store compares names; it must agree with the
// fence's route.
func WithFenceNames(o fence.NameOptions) Option {
	return func(s *settings) error { s.names = o; return nil }
}
