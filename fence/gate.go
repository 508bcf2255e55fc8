package fence

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Gate decides who may write upstream now. It applies the rules of decide.go to
// the rows of a ledger and the requests in flight, all under one lock that is
// never held across I/O, and makes requests wait for their turn.
//
// A Gate may be used from many goroutines.
type Gate struct {
	ledger Ledger
	opts   Options

	mu       sync.Mutex
	nodes    nodes
	global   Token
	failed   error // the ledger's, for good
	full     bool  // the ledger's disk, at the last commit
	draining bool  // no arrivals
	stopped  bool  // nothing begins any more
	closed   bool  // the ledger is, or is about to be
	holdEnd  time.Time
	holding  bool

	waiting  permits // not begun
	active   permits // begun
	settling permits // entries, in order of their end
	begun    int
	entries  int
	waiters  int
	arriving int           // look-ups of requests that are neither refused nor admitted yet
	scans    chan struct{} // one element for each scan that runs

	dirty      []*cell // pending above durable, not in the running commit
	inCommit   []*cell
	batch      []Row // rows of inCommit; the ledger's while it commits
	committing bool
	committed  sync.WaitGroup

	spare        spare        // passages to be used again
	spareWaiters chan *waiter // and what their permits waited with
	spareRows    []*Row       // and what rose
	spent        passage      // stands for those that have been; never changed
	sighted      []*Row       // scratch of sight
	siblings     []Touch      // scratch of judgeAndRaise

	candidates []*passage // scratch of around

	settleTimer *time.Timer
	holdTimer   *time.Timer
	reading     sync.WaitGroup // look-ups in the ledger
	stopping    chan struct{}  // closed when stopped
	quiet       chan struct{}  // closed when draining and nothing is in flight
	isQuiet     bool
}

// Options of a gate. Zero values are replaced by the defaults named.
type Options struct {
	// Settle is how long a write whose outcome is uncertain may still take
	// effect upstream. 0 suits storage whose writes die with the process.
	Settle time.Duration
	// MaxWait limits how long a request waits to begin. Default: Settle + 15 s.
	MaxWait time.Duration
	// Unwatched is how long Begin waits before it asks for the Done of its context:
	// to watch for what ends it may cost more than most waits, which are for a
	// commit. Default: not at all.
	Unwatched time.Duration
	// MaxPermits limits requests in flight and in doubt; more are refused as
	// Busy. Default 65,536.
	MaxPermits int
	// MaxScans limits the requests for whole trees that read the ledger at once;
	// others wait. Default 2.
	MaxScans int
	// CacheSize limits the paths kept in memory; those in use may exceed it.
	// Default 8,192, about 4 MiB.
	CacheSize int
	// OnCommit, if set, is told of every call of the ledger's Commit. It must
	// not call the gate.
	OnCommit func(rows int, took time.Duration, err error)
}

// Request is what arrives at the gate.
type Request struct {
	// Touches of the request, judged as one. At least one.
	Touches []Touch
	// Ask: the request must see the fence hold but writes nothing.
	Ask bool
	// Stream: the request begins before its body has arrived, and is cut off
	// by a newer token.
	Stream bool
}

// Start takes a ledger into use and returns its gate. After an unclean stop
// nothing enforced begins until the settle time of the last run, or of this
// one if longer, has passed.
func Start(ctx context.Context, ledger Ledger, opts Options) (*Gate, error) {
	if opts.MaxWait == 0 {
		opts.MaxWait = opts.Settle + 15*time.Second
	}
	if opts.MaxPermits == 0 {
		opts.MaxPermits = 65_536
	}
	if opts.MaxScans == 0 {
		opts.MaxScans = 2
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = 8_192
	}
	meta, err := ledger.Start(ctx, opts.Settle)
	if err != nil {
		return nil, fmt.Errorf("starting the ledger: %w", err)
	}
	g := &Gate{
		ledger: ledger, opts: opts, global: meta.Global,
		stopping: make(chan struct{}), quiet: make(chan struct{}), scans: make(chan struct{}, opts.MaxScans),
		spareWaiters: make(chan *waiter, maxSpare),
	}
	g.spent.phase = over
	g.nodes.init(opts.CacheSize)
	g.settleTimer = time.AfterFunc(time.Hour, g.settleDue)
	g.settleTimer.Stop()
	if hold := holdAfter(meta, opts.Settle); hold > 0 {
		g.holding, g.holdEnd = true, time.Now().Add(hold)
		g.holdTimer = time.AfterFunc(hold, g.holdOver)
	}
	return g, nil
}
