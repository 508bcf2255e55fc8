package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/lockclient"
)

type lockCmd struct {
	Resource  []string       `short:"r" sep:"none" env:"-" placeholder:"PATH" help:"What to lock, as it stands in a URL: /reports/q3.csv. Given more than once, all of them are locked or none, with one token."`
	Fence     string         `placeholder:"URL" help:"The fencegate in front of the storage: http://HOST:PORT."`
	TTL       time.Duration  `default:"15s" env:"-" placeholder:"DURATION" help:"How long the lock outlives a crash of this process (default ${default})."`
	Grace     *time.Duration `env:"-" placeholder:"DURATION" help:"How long before the end of a lease that cannot be renewed the command gets TERM (default: 2s, at most a quarter of the TTL)."`
	Wait      *patience      `short:"w" env:"-" placeholder:"DURATION" help:"How long to wait for the lock (default 60s)."`
	NoWait    bool           `short:"n" env:"-" help:"Do not wait for another holder, and 5s at most for the fence."`
	Code      int            `short:"E" name:"conflict-exit-code" default:"75" env:"-" placeholder:"CODE" help:"Exit code when the lock was not acquired in time (default ${default})."`
	Tree      bool           `env:"-" help:"Claim everything below the path too."`
	HTTPProxy bool           `name:"http-proxy" env:"-" help:"Set http_proxy for the command, so that its requests to the fence's own URL get the token, too."`
	MaxHold   time.Duration  `env:"-" placeholder:"DURATION" help:"How long the lock may be held at most (default: for as long as the command runs)."`
	Name      string         `default:"default" env:"-" placeholder:"NAME" help:"The label name of the metrics: the job, never something that changes (default ${default})."`
	Metrics   string         `name:"metrics-textfile" placeholder:"DIR" help:"Keep the lock's metrics in fencegate_lock_NAME.prom in this directory, for node_exporter's textfile collector."`
	redisFlags
	Command []string `arg:"" optional:"" passthrough:"partial" help:"The command and its arguments, after --."`
}

// Help is what fencegate lock --help says before its flags.
func (lockCmd) Help() string {
	return `Runs a command while holding a lock. The command finds FENCING_TOKEN, FENCING_OWNER, FENCING_RESOURCE (the first of several; all are in FENCING_RESOURCES, with blanks between), FENCING_CLIENT, FENCING_DEADLINE (Unix ms, at the start), FENCEGATE_FENCE and FENCEGATE_URL in its environment. Its writes to the fence carry X-Fencing-Token and X-Fencing-Owner, or go to $FENCEGATE_URL, which adds them: curl -T q3.csv "$FENCEGATE_URL/reports/q3.csv". It does not find a FENCEGATE_REDIS that has a password.

When the lease cannot be renewed, the command and its process group get TERM, and all that it has started KILL before the lease ends. What it leaves running when it ends by itself gets the same: nothing outlives the lock. Signals to fencegate lock are passed on; the lock is held while the command heeds them. If fencegate lock itself is killed (-9), so is the command, but not what it has started: the fence refuses that once another has the lock. Likewise STOP to fencegate lock alone cannot be caught, and its command goes on beyond the lease; TSTP (Ctrl-Z) stops both, and they go on only within the lease.

Within another fencegate lock on the same resources and fence the command just runs, under that lock.

Exit code: the command's (128+n for a signal, 126 or 127 when it cannot be started); 75 not acquired in time; 76 the lock was lost; 74 the command could not be ended in time; 69 Redis or the fence does not answer; 64 usage.`
}

// grace returns how long before the lease's end TERM is due.
func (c *lockCmd) grace() time.Duration {
	if c.Grace != nil {
		return *c.Grace
	}
	return min(2*time.Second, c.TTL/4)
}

func (c *lockCmd) wait() time.Duration {
	if c.Wait != nil {
		return time.Duration(*c.Wait)
	}
	if c.NoWait {
		return claimPatience
	}
	return time.Minute
}

// claimPatience is what the fence gets under -n.
const claimPatience = 5 * time.Second

// closePatience bounds how long a lock is looked after that was perhaps taken
// by a call to a Redis that does not answer. What this misses ends with the TTL.
const closePatience = 500 * time.Millisecond

func closeSoon(locks *lockclient.Client) {
	closed := make(chan struct{})
	go func() {
		_ = locks.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closePatience):
	}
}

// check reports everything that is wrong at once, in one line.
func (c *lockCmd) check() error {
	var faults *multierror.Error
	fault := func(format string, args ...any) {
		faults = multierror.Append(faults, fmt.Errorf(format, args...))
	}
	if len(c.Resource) == 0 {
		fault("%w", checkResource(""))
	}
	for _, r := range c.Resource {
		if err := checkResource(r); err != nil {
			fault("%w", err)
		}
	}
	for _, err := range c.redisFlags.check() {
		fault("%w", err)
	}
	if err := checkFence(c.Fence); err != nil {
		fault("%w", err)
	}
	if c.TTL < 100*time.Millisecond || c.TTL > 24*time.Hour {
		fault("--ttl %s: expected 100ms to 24h", c.TTL)
	} else if g := c.grace(); g < 0 || g > c.TTL/2 {
		fault("--grace %s: expected at most half of --ttl %s, for the lease is renewed when a third of it has passed", g, c.TTL)
	}
	switch {
	case c.Wait != nil && c.NoWait:
		fault("-w and -n: expected one of them")
	case c.wait() < 0:
		fault("-w %s: expected a duration of 0 or more", c.wait())
	}
	if c.Code < 0 || c.Code > 255 {
		fault("-E %d: expected an exit code from 0 to 255", c.Code)
	}
	if c.MaxHold < 0 || c.MaxHold > 0 && c.MaxHold < c.TTL {
		fault("--max-hold %s: expected at least the --ttl %s", c.MaxHold, c.TTL)
	}
	if c.HTTPProxy && strings.HasPrefix(strings.ToLower(c.Fence), "https:") {
		fault("--http-proxy: expected with an http:// fence; what goes to an https:// one is said in a tunnel: use $FENCEGATE_URL")
	}
	if err := checkCommand(c.Command); err != nil {
		fault("%w", err)
	}
	if err := c.checkMetrics(); err != nil {
		fault("%w", err)
	}
	if len(c.Command) == 0 {
		fault("no command: expected one after --, as in fencegate lock … -- ./job.sh")
	}
	if faults == nil {
		return nil
	}
	faults.ErrorFormat = oneLine
	return &exitError{exitUsage, faults}
}

// Run takes the lock, runs the command, and ends when nothing of it is left
// and the lock is given back.
func (c *lockCmd) Run(std streams) error {
	if len(c.Command) > 0 && c.Command[0] == "--" { // kong leaves it in
		c.Command = c.Command[1:]
	}
	if err := c.check(); err != nil {
		return err
	}
	path, err := findProgram(c.Command[0])
	if err != nil {
		return err
	}
	if c.nested() {
		return c.passThrough(path)
	}
	metrics, saveMetrics := c.metrics(std)
	defer saveMetrics()
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, notIgnored(append(forwarded, syscall.SIGCHLD, syscall.SIGCONT))...)

	locks, closeAll, err := c.open(std.err, c.options(metrics)...)
	if err != nil {
		return err
	}
	defer closeAll()
	lock, err := c.take(locks, signals)
	if err != nil {
		closeSoon(locks)
		return err
	}
	defer locks.Close()
	h, err := startHelper(lock, c.Fence, c.HTTPProxy)
	if err != nil {
		return giveBack(std, lock, &exitError{exitUnavailable, err})
	}
	defer h.close()
	p := &program{path: path, args: c.Command, env: environment(os.Environ(), lock, c.Fence, h.environment())}
	w, err := startWatched(p, lock, newPace(c.TTL, c.grace()))
	if err != nil {
		return giveBack(std, lock, err)
	}
	w.untilGone(signals, lock.Lost())
	if w.forced && c.MaxHold > 0 {
		// The command ends before the lease, which then tells why it ends.
		select {
		case <-lock.Lost():
		case <-time.After(lock.Remaining() + time.Second):
		}
	}
	return giveBack(std, lock, w.verdict(lock))
}

func (c *lockCmd) options(m *lockclient.Metrics) []lockclient.Option {
	options := []lockclient.Option{
		lockclient.WithFence(c.Fence), lockclient.WithTTL(c.TTL), lockclient.WithMaxWait(c.wait()),
		lockclient.WithName(c.Name), lockclient.WithMetrics(m),
	}
	if c.MaxHold > 0 {
		options = append(options, lockclient.WithMaxHold(c.MaxHold))
	}
	if c.Tree {
		options = append(options, lockclient.WithTree())
	}
	return options
}
