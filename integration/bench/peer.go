package main

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
	"time"
)

// The peers are as their packages come from Debian, with what a load of many
// requests per connection needs in their configuration.

//go:embed nginx.conf.tmpl
var nginxConf string

//go:embed haproxy.cfg.tmpl
var haproxyConf string

//go:embed caddyfile.tmpl
var caddyConf string

var confs = template.Must(template.New("nginx").Parse(nginxConf))

func init() {
	template.Must(confs.New("haproxy").Parse(haproxyConf))
	template.Must(confs.New("caddy").Parse(caddyConf))
}

// nginxSettings are what the configuration of an nginx depends on.
type nginxSettings struct {
	Buffering bool   // a body is taken whole before any of it is sent on
	Files     string // a directory that is served instead of another server
	Redis     string // port of a Redis with the marks of a fence in Lua
	Script    string // that it runs there
	SHA       string // of the script

	Root               bool
	Dir, Listen, Store string // filled in by startNginx
}

// nginx is a recipe for a proxy.
func nginx(settings nginxSettings) recipe {
	return recipe{start: func(ctx context.Context, at place, name string) (*server, error) {
		return startNginx(ctx, at, name, settings)
	}}
}

func startNginx(ctx context.Context, at place, name string, settings nginxSettings) (*server, error) {
	path, err := find("nginx")
	if err != nil {
		return nil, err
	}
	addr, conf, err := configure(at, name, "nginx", func(dir, addr string) any {
		settings.Root, settings.Dir, settings.Listen, settings.Store = os.Getuid() == 0, dir, addr, at.store
		return settings
	})
	if err != nil {
		return nil, err
	}
	p, err := startProcess(at.dir, name, exec.Command(path, "-p", filepath.Dir(conf), "-e", "stderr", "-c", conf))
	if err != nil {
		return nil, err
	}
	if _, err := p.await(ctx, "start worker processes"); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &server{process: p, addr: addr}, nil
}

// startFiles starts nginx as a store of files, and to be read directly.
func startFiles(ctx context.Context, at place, name string) (*server, error) {
	root := filepath.Join(at.dir, "files-data")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	s, err := startNginx(ctx, at, name, nginxSettings{Files: root})
	if err == nil {
		s.root = root
	}
	return s, err
}

// How a Redis keeps the marks: not at all over its end, or each before it answers.
var (
	redisInMemory = []string{"--appendonly", "no"}
	redisAlways   = []string{"--appendonly", "yes", "--appendfsync", "always"}
)

// compareScript is the fence that is built by hand: one comparison, at once
// for all clients.
const compareScript = `local mark = tonumber(redis.call('GET', KEYS[1]) or '0') ` +
	`local token = tonumber(ARGV[1]) ` +
	`if token < mark then return 0 end ` +
	`if token > mark then redis.call('SET', KEYS[1], ARGV[1]) end ` +
	`return 1`

// startLua starts nginx with a fence in Lua, and the Redis that it asks.
func startLua(keeps []string, delay time.Duration) func(context.Context, place, string) (*server, error) {
	return func(ctx context.Context, at place, name string) (*server, error) {
		redis, port, err := startRedis(ctx, at, name+"-redis", keeps, delay)
		if err != nil {
			return nil, err
		}
		sum := sha1.Sum([]byte(compareScript))
		s, err := startNginx(ctx, at, name, nginxSettings{Buffering: true, Redis: port, Script: compareScript, SHA: hex.EncodeToString(sum[:])})
		if err != nil {
			return nil, errors.Join(err, redis.stop())
		}
		s.parts, s.fenced = []*process{redis}, true
		return s, nil
	}
}

func startRedis(ctx context.Context, at place, name string, keeps []string, delay time.Duration) (p *process, port string, err error) {
	path, err := find("redis-server")
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(at.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, "", err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, "", err
	}
	if _, port, err = net.SplitHostPort(addr); err != nil {
		return nil, "", err
	}
	args := append(slowly(delay), path, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "")
	args = append(args, keeps...)
	if p, err = startProcess(at.dir, name, exec.Command(args[0], args[1:]...)); err != nil {
		return nil, "", err
	}
	if _, err := p.await(ctx, "Ready to accept connections"); err != nil {
		return nil, "", errors.Join(err, p.stop())
	}
	return p, port, nil
}

func startHAProxy(ctx context.Context, at place, name string) (*server, error) {
	path, err := find("haproxy")
	if err != nil {
		return nil, err
	}
	addr, conf, err := configure(at, name, "haproxy", func(_, addr string) any {
		return map[string]any{"Listen": addr, "Store": at.store, "Cores": runtime.NumCPU()}
	})
	if err != nil {
		return nil, err
	}
	return startListening(ctx, at, name, addr, exec.Command(path, "-db", "-f", conf))
}

func startCaddy(ctx context.Context, at place, name string) (*server, error) {
	path, err := find("caddy")
	if err != nil {
		return nil, err
	}
	addr, conf, err := configure(at, name, "caddy", func(_, addr string) any {
		_, port, _ := strings.Cut(addr, ":")
		return map[string]any{"Port": port, "Store": at.store}
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "run", "--adapter", "caddyfile", "--config", conf)
	home := filepath.Dir(conf) // where it would keep certificates
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	return startListening(ctx, at, name, addr, cmd)
}

// configure writes a configuration, for a free address, into a directory of its
// own.
func configure(at place, name, kind string, with func(dir, addr string) any) (addr, conf string, err error) {
	dir := filepath.Join(at.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", "", err
	}
	if addr, err = freeAddr(); err != nil {
		return "", "", err
	}
	conf = filepath.Join(dir, "conf")
	file, err := os.Create(conf)
	if err != nil {
		return "", "", err
	}
	err = confs.ExecuteTemplate(file, kind, with(dir, addr))
	return addr, conf, errors.Join(err, file.Close())
}

// startListening starts a server that does not say when it is ready.
func startListening(ctx context.Context, at place, name, addr string, cmd *exec.Cmd) (*server, error) {
	p, err := startProcess(at.dir, name, cmd)
	if err != nil {
		return nil, err
	}
	often := time.NewTicker(20 * time.Millisecond)
	defer often.Stop()
	late := time.After(patience)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return &server{process: p, addr: addr}, nil
		}
		select {
		case <-often.C:
			continue
		case <-p.exited:
			err = fmt.Errorf("%s has ended; see %s", name, p.file)
		case <-late:
		case <-ctx.Done():
		}
		return nil, errors.Join(err, p.stop())
	}
}

// find looks for a program also where Debian puts those that users seldom run.
func find(program string) (string, error) {
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: run .ci/setup bench", program)
}

// freeAddr returns an address that nobody listens on now.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
