package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// server is what a load is put on.
type server struct {
	*process
	addr  string // host:port for clients
	admin string // of a fencegate: host:port of its second listener
}

// place is where and with what servers are started.
type place struct {
	dir       string // logs, ledgers, directories
	sink      string // host:port
	size      int    // bytes of a body
	fencegate string // the binary
	before    string // an older one to compare with, or ""
}

// startRole starts this program as another server.
func startRole(ctx context.Context, at place, role string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(at.dir, role, exec.Command(self, "-play", role, "-upstream", at.sink))
	if err != nil {
		return nil, err
	}
	line, err := p.await(ctx, listening)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &server{process: p, addr: strings.TrimPrefix(line, listening)}, nil
}

//go:embed nginx.conf.tmpl
var nginxConf string

var nginxTemplate = template.Must(template.New("nginx").Parse(nginxConf))

// startNginx starts nginx as a proxy that checks nothing.
func startNginx(ctx context.Context, at place) (*server, error) {
	path, err := findNginx()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(at.dir, "nginx")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	file, err := os.Create(conf)
	if err != nil {
		return nil, err
	}
	err = nginxTemplate.Execute(file, map[string]any{
		"Root": os.Getuid() == 0, "Dir": dir, "Listen": addr, "Sink": at.sink,
		// Beyond it, a body goes to a file first.
		"Buffer": max(16<<10, at.size+1),
	})
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	p, err := startProcess(at.dir, "nginx", exec.Command(path, "-p", dir, "-e", "stderr", "-c", conf))
	if err != nil {
		return nil, err
	}
	if _, err := p.await(ctx, "start worker processes"); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &server{process: p, addr: addr}, nil
}

func findNginx() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} { // not in every PATH
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("nginx is not installed: run .ci/setup, or apt-get install nginx")
}

// freeAddr returns an address that nobody listens on now.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// startFencegate starts a fencegate with a new ledger, and waits until it is
// ready.
func startFencegate(ctx context.Context, at place, name, binary string, args ...string) (*server, error) {
	dir := filepath.Join(at.dir, name)
	args = append([]string{"serve", "--init", "--state", filepath.Join(dir, "state"),
		"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--policy", "require"}, args...)
	cmd := exec.Command(binary, args...)
	cmd.Env = append(ownSettings(os.Environ()), profileVariable+"="+dir)
	p, err := startProcess(at.dir, name, cmd)
	if err != nil {
		return nil, err
	}
	line, err := p.await(ctx, `"msg":"serving"`)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	s := &server{process: p}
	if s.addr, s.admin, err = parseServing(line); err == nil {
		err = s.awaitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return s, nil
}

// settle is short: it is also how long the first start takes.
const settle = time.Second

func toSink(at place, more ...string) []string {
	return append([]string{"--upstream", "http://" + at.sink, "--settle", settle.String()}, more...)
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
