package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

type demoCmd struct {
	Redis string `placeholder:"HOST:PORT" help:"Take the locks in this Redis (default: a stand-in inside the demo)."`
}

const (
	demoResource = "/reports/q3.csv"
	demoTTL      = time.Second
)

// errNotAsTold means that the demonstration went otherwise than it says.
var errNotAsTold = &exitError{exitFailed, errors.New("the demonstration did not go as told; see the step marked ✗")}

// errInterrupted means that a signal ended the demonstration.
var errInterrupted = &exitError{exitFailed, errors.New("the demonstration was interrupted")}

// Run tells the story twice, without the fence and with it. A signal ends it
// with everything cleared away.
func (c *demoCmd) Run(std streams) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	redis.SetLogger(quiet{})
	fmt.Fprint(std.out, "A lock holder is paused past its lease, and wakes up when another has already written.\n"+
		"Both holders are real processes, the pause is a real SIGSTOP, the storage a real directory.\n")
	addr, end, err := demoRedis(c.Redis)
	if err != nil {
		return err
	}
	defer end()
	for _, act := range []struct {
		title  string
		policy fence.Policy
		play   func(*demo) error
	}{
		{"1. Without the fence (--policy open)", fence.Open, (*demo).unfenced},
		{"2. With the fence (--policy require)", fence.Require, (*demo).fenced},
	} {
		fmt.Fprintf(std.out, "\n%s\n\n", act.title)
		d, err := newDemo(ctx, std, addr, act.policy)
		if err != nil {
			return err
		}
		err = errors.Join(act.play(d), d.close())
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return err
		}
		if d.failed {
			return errNotAsTold
		}
	}
	fmt.Fprint(std.out, "\nThe lock could not prevent the late write; the storage, fenced, did.\n"+
		"Start it for your own files: fencegate serve --init\n")
	return nil
}

// demo is one act: a fencegate of its own over an empty directory.
type demo struct {
	ctx    context.Context // ends on a signal
	kept   func() bool     // undoes that the writers die with ctx
	std    streams
	dir    string
	redis  string
	svc    *service
	reg    *prometheus.Registry
	a, b   *demoWriter
	failed bool
}

func newDemo(ctx context.Context, std streams, redisAddr string, policy fence.Policy) (_ *demo, err error) {
	d := &demo{ctx: ctx, kept: func() bool { return true }, std: std, redis: redisAddr, reg: prometheus.NewRegistry()}
	if d.dir, err = os.MkdirTemp("", "fencegate-demo-"); err != nil {
		return nil, err
	}
	config := defaults()
	config.Upstream, config.State = "dir:"+filepath.Join(d.dir, "data"), filepath.Join(d.dir, "state")
	config.Listen, config.Admin, config.Policy = "127.0.0.1:0", "127.0.0.1:0", policy
	d.svc, err = startService(context.Background(), config, true, slog.New(slog.DiscardHandler), d.reg)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.dir))
	}
	for _, w := range []struct {
		writer **demoWriter
		name   string
	}{{&d.a, "A"}, {&d.b, "B"}} {
		if *w.writer, err = startDemoWriter(w.name, d.redis, d.url(), std.err); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	d.kept = context.AfterFunc(ctx, func() { // whoever waits for their answers goes on
		_ = d.a.signal(syscall.SIGKILL)
		_ = d.b.signal(syscall.SIGKILL)
	})
	return d, nil
}

func (d *demo) url() string { return "http://" + d.svc.dataAddr() }

func (d *demo) close() error {
	d.kept()
	for _, w := range []*demoWriter{d.a, d.b} {
		if w != nil {
			w.end()
		}
	}
	return errors.Join(d.svc.stop(5*time.Second), os.RemoveAll(d.dir))
}

// unfenced shows what happens to storage that cannot check tokens.
func (d *demo) unfenced() error {
	before, err := d.toPause()
	if err != nil {
		return err
	}
	if err := d.pausePastLease(); err != nil {
		return err
	}
	if _, err := d.lock(d.b); err != nil {
		return err
	}
	if err := d.write(d.b, "from B", "201", "204"); err != nil {
		return err
	}
	if err := d.resume(); err != nil {
		return err
	}
	if err := d.write(d.a, "from A, late", "201", "204"); err != nil {
		return err
	}
	d.content("from A, late", "B's data is gone, and nobody was told")
	return d.moved(before)
}

// fenced shows the same with every write judged by its token.
func (d *demo) fenced() error {
	before, err := d.toPause()
	if err != nil {
		return err
	}
	if err := d.pausePastLease(); err != nil {
		return err
	}
	tb, err := d.lock(d.b)
	if err != nil {
		return err
	}
	d.check(tb > d.a.token, "B's token is higher: %s > %s. Lock has claimed it at the fence, so A is cut off already", tb, d.a.token)
	if err := d.resume(); err != nil {
		return err
	}
	if err := d.write(d.a, "from A, late", "412 stale_token"); err != nil {
		return err
	}
	if err := d.write(d.b, "from B", "201", "204"); err != nil {
		return err
	}
	if err := d.write(d.a, "from A, later still", "412 stale_token"); err != nil {
		return err
	}
	d.content("from B", "the newer holder's data is safe")
	return d.moved(before)
}

// toPause is how both acts begin; it returns the metrics of before.
func (d *demo) toPause() (map[string]float64, error) {
	before, err := d.counters()
	if err != nil {
		return nil, err
	}
	if d.a.token, err = d.lock(d.a); err != nil {
		return nil, err
	}
	return before, d.write(d.a, "from A", "201", "204")
}

func (d *demo) lock(w *demoWriter) (fence.Token, error) {
	answer, err := w.ask("lock " + demoResource)
	if err != nil {
		return 0, err
	}
	token, err := fence.ParseToken(strings.TrimPrefix(answer, "locked "), fence.DefaultMaxToken)
	d.check(err == nil, "%s takes the lock on %s: token %s", w.name, demoResource, token)
	return token, nil
}

// write has w write text and compares the answer.
func (d *demo) write(w *demoWriter, text string, want ...string) error {
	answer, err := w.ask("write " + text)
	if err != nil {
		return err
	}
	ok := false
	for _, x := range want {
		ok = ok || answer == x
	}
	d.check(ok, "%s writes %q: %s", w.name, text, answer)
	return nil
}

// pausePastLease stops A and waits until its lock has expired in Redis: an
// expired key is gone for everyone.
func (d *demo) pausePastLease() error {
	if err := d.a.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: d.redis})
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(d.ctx, 20*demoTTL)
	defer cancel()
	start := time.Now()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		n, err := rdb.Exists(ctx, "{fencegate}:lock:"+demoResource).Result()
		if err != nil {
			return fmt.Errorf("waiting for A's lease to end: %w", err)
		}
		if n == 0 {
			tick.Stop()
			break
		}
		<-tick.C
	}
	d.check(true, "A is paused (SIGSTOP), as by a long GC or a suspended VM; its %s lease runs out after %s", demoTTL, time.Since(start).Round(10*time.Millisecond))
	return nil
}

func (d *demo) resume() error {
	err := d.a.signal(syscall.SIGCONT)
	d.check(err == nil, "A wakes up. It looked at its lease before the pause, so it goes on writing")
	return err
}

func (d *demo) content(want, meaning string) {
	got, err := d.get()
	d.check(err == nil && got == want+"\n", "%s now holds %q: %s", demoResource, strings.TrimSpace(got), meaning)
}

func (d *demo) get() (string, error) {
	res, err := http.Get(d.url() + demoResource)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// check prints a step, marked by whether it went as told.
func (d *demo) check(ok bool, format string, args ...any) {
	mark := "✓"
	if !ok {
		mark, d.failed = "✗", true
	}
	fmt.Fprintf(d.std.out, "  %s %s\n", mark, fmt.Sprintf(format, args...))
}

// counters returns the counters that are of interest here.
func (d *demo) counters() (map[string]float64, error) {
	families, err := d.reg.Gather()
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, f := range families {
		switch f.GetName() {
		case "fencegate_requests_total", "fencegate_rejections_total", "fencegate_ledger_commits_total":
		default:
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue()
		}
	}
	return out, nil
}

// moved prints the counters that have risen, and checks that each refusal was
// counted.
func (d *demo) moved(before map[string]float64) error {
	after, err := d.counters()
	if err != nil {
		return err
	}
	fmt.Fprintln(d.std.out, "\n  metrics that moved:")
	for _, name := range sortedKeys(after) {
		if by := after[name] - before[name]; by != 0 {
			fmt.Fprintf(d.std.out, "    %s +%g\n", name, by)
		}
	}
	const stale = "fencegate_rejections_total{reason=stale_token,route=default}"
	if got := after[stale] - before[stale]; got != float64(d.a.refused+d.b.refused) {
		d.check(false, "%g refusals were counted, the writers saw %d", got, d.a.refused+d.b.refused)
	}
	return nil
}
