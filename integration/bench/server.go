package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// server is what a load is put on.
type server struct {
	*process
	addr  string // host:port for clients
	admin string // of a fencegate: host:port of its second listener

	parts  []*process // that it does not work without, beside the store
	store  *server    // behind it, unless that is the sink
	root   string     // of a store of files: their directory
	fenced bool       // it refuses late writes
	sink   bool       // it counts what it stores, at countPath
}

// cpu returns the CPU time used so far by all that belongs to the server.
func (s *server) cpu() (time.Duration, error) {
	total, err := s.process.cpu()
	for _, p := range s.parts {
		used, failed := p.cpu()
		total, err = total+used, errors.Join(err, failed)
	}
	return total, err
}

func (s *server) stop() error {
	err := s.process.stop()
	for _, p := range s.parts {
		err = errors.Join(err, p.stop())
	}
	return err
}

// files returns the directory that writes end in, "" if that is the sink.
func (s *server) files() string {
	if s.store != nil {
		return s.store.root
	}
	return s.root
}

// place is where and with what servers are started.
type place struct {
	dir       string // logs, ledgers, directories
	store     string // host:port of what is behind the next one to start
	fencegate string // the binary
	before    string // an older one to compare with, or ""
}

// startSink starts a sink of a kind that -store has.
func startSink(ctx context.Context, at place, name, kind string) (*server, error) {
	s, err := startRole(ctx, at, name, roleSink, 0, "-store", kind)
	if err == nil {
		s.sink = true
	}
	return s, err
}

// state is the file or directory that a role keeps.
func (at place) state(name string) string { return filepath.Join(at.dir, name+".db") }

// startRole starts this program as another server, its disk delayed.
func startRole(ctx context.Context, at place, name, role string, delay time.Duration, more ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append(slowly(delay), self, "-play", role, "-upstream", at.store, "-state", at.state(name))
	args = append(args, more...)
	p, err := startProcess(at.dir, name, exec.Command(args[0], args[1:]...))
	if err != nil {
		return nil, err
	}
	line, err := p.await(ctx, listening)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &server{process: p, addr: strings.TrimPrefix(line, listening)}, nil
}

// startFencegate starts a fencegate, with a new ledger unless there is one, and
// waits until it is ready. command is the binary, and what comes before it.
func startFencegate(ctx context.Context, at place, name string, command []string, args ...string) (*server, error) {
	dir := filepath.Join(at.dir, name)
	state := at.ledger(name)
	args = append([]string{"serve", "--state", state, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--policy", "require"}, args...)
	if _, err := os.Stat(filepath.Join(state, ledgerFile)); errors.Is(err, os.ErrNotExist) {
		args = append(args, "--init")
	}
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Env = append(ownSettings(os.Environ()), profileVariable+"="+dir)
	p, err := startProcess(at.dir, name, cmd)
	if err != nil {
		return nil, err
	}
	line, err := p.await(ctx, `"msg":"serving"`)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	s := &server{process: p, fenced: true}
	if s.addr, s.admin, err = parseServing(line); err == nil {
		err = s.awaitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return s, nil
}

// settle is short: it is also how long the first start takes. But fencegate gives
// up a store that takes in nothing for half of it, which a busy machine must not
// bring about.
const settle = 4 * time.Second

func toStore(at place, more ...string) []string {
	return append([]string{"--upstream", "http://" + at.store, "--settle", settle.String()}, more...)
}

// ownSettings leaves out what would change fencegate's defaults.
func ownSettings(env []string) (kept []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, "FENCEGATE_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// parseServing reads the addresses from fencegate's record that it serves.
func parseServing(line string) (data, admin string, err error) {
	var record struct{ Data, Admin string }
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return "", "", fmt.Errorf("a log record that is none: %w: %s", err, line)
	}
	if record.Data == "" || record.Admin == "" {
		return "", "", fmt.Errorf("a log record without the addresses: %s", line)
	}
	return record.Data, record.Admin, nil
}

// awaitReady asks until it is: there is nothing to wait for instead.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	often := time.NewTicker(20 * time.Millisecond)
	defer often.Stop()
	for {
		status, body, err := get(ctx, "http://"+s.admin+"/readyz")
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-often.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %d %s %w; see %s", s.name, status, body, errors.Join(err, ctx.Err()), s.file)
		}
	}
}
