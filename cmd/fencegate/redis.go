package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

// redisFlags say in which Redis locks are taken.
type redisFlags struct {
	Redis                []string `sep:"none" placeholder:"ADDR" help:"The Redis that locks are taken in: HOST:PORT, or redis:// or rediss://USER:PASSWORD@HOST:PORT/DB, which belongs into the environment rather than here. Given three times or more (in FENCEGATE_REDIS with blanks between) they are independent nodes, of which a majority gives the lock (Redlock)."`
	Sentinel             string   `placeholder:"NAME" help:"The addresses are those of Sentinels, which know the master by this name."`
	RedisPasswordFile    string   `placeholder:"FILE" help:"File with the password for Redis."`
	SentinelPasswordFile string   `placeholder:"FILE" help:"File with the password for the Sentinels (default: none)."`
	Namespace            string   `default:"fencegate" placeholder:"NAME" help:"What the keys in Redis start with (default ${default})."`
}

// given reports whether there is any Redis.
func (f *redisFlags) given() bool { return len(f.Redis) > 0 }

// check returns what is wrong with the flags. It shows nothing of an address:
// there may be a password in it.
func (f *redisFlags) check() (faults []error) {
	if _, err := f.options(); err != nil {
		faults = append(faults, err)
	}
	if f.Namespace == "" || strings.ContainsAny(f.Namespace, "{}") {
		faults = append(faults, fmt.Errorf("--namespace %q: expected a name without { and }", f.Namespace))
	}
	if f.SentinelPasswordFile != "" && f.Sentinel == "" {
		faults = append(faults, errors.New("--sentinel-password-file: expected with --sentinel only"))
	}
	return faults
}

// options returns those of each address.
func (f *redisFlags) options() ([]*redis.Options, error) {
	password, err := readPassword("--redis-password-file", f.RedisPasswordFile)
	if err != nil {
		return nil, err
	}
	var all []*redis.Options
	for _, given := range f.Redis {
		for addr := range strings.FieldsSeq(given) { // so a variable has them
			o, err := redisOptions(addr)
			if err != nil {
				return nil, err
			}
			if f.RedisPasswordFile != "" {
				o.Password = password
			}
			all = append(all, o)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("--redis is missing: " + expectedRedis)
	case f.Sentinel == "" && len(all) == 2:
		return nil, errors.New("--redis: expected one, or three or more independent nodes: of two neither may fail")
	}
	return all, nil
}

// open returns a client for locks in what the flags name. close ends its
// connections. Faults of Redis' settings are told on warnings.
func (f *redisFlags) open(warnings io.Writer, opts ...lockclient.Option) (locks *lockclient.Client, closeAll func(), err error) {
	redis.SetLogger(quiet{})
	options, err := f.options()
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	var nodes []redis.UniversalClient
	if f.Sentinel != "" {
		failover, err := f.failover(options)
		if err != nil {
			return nil, nil, &exitError{exitUsage, err}
		}
		nodes = append(nodes, redis.NewFailoverClient(failover))
	} else {
		for _, o := range options {
			o.DialerRetries = 1 // lockclient tries again, within its time
			nodes = append(nodes, redis.NewClient(o))
		}
	}
	closeAll = func() {
		for _, n := range nodes {
			_ = n.Close()
		}
	}
	opts = append(opts, lockclient.WithNamespace(f.Namespace), lockclient.WithWarn(func(text string) {
		writeWithin(warnings, logPatience, fmt.Sprintln("fencegate: warning:", text))
	}))
	if len(nodes) > 1 {
		locks, err = newRedlock(nodes, opts)
	} else {
		locks, err = lockclient.New(nodes[0], opts...)
	}
	if err != nil {
		closeAll()
		return nil, nil, &exitError{exitUsage, inOneLine(err)}
	}
	return locks, closeAll, nil
}

// nodeLook bounds the look at independent nodes.
const nodeLook = time.Second

// newRedlock makes sure that no node is given twice, as by two names: it would
// have two votes. A client looks for that by itself, but waits for a quorum
// only, and may find out after its first lock, which here is the last.
func newRedlock(nodes []redis.UniversalClient, opts []lockclient.Option) (*lockclient.Client, error) {
	locks, err := lockclient.NewRedlock(nodes, opts...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeLook)
	defer cancel()
	if _, err := locks.Check(ctx); errors.Is(err, lockclient.ErrSameNode) {
		_ = locks.Close()
		return nil, err
	}
	return locks, nil
}

// failover returns how the master is found and used. User, password, database
// and TLS are those of the first address.
func (f *redisFlags) failover(options []*redis.Options) (*redis.FailoverOptions, error) {
	password, err := readPassword("--sentinel-password-file", f.SentinelPasswordFile)
	if err != nil {
		return nil, err
	}
	first := options[0]
	o := &redis.FailoverOptions{
		MasterName: f.Sentinel, SentinelPassword: password,
		Username: first.Username, Password: first.Password, DB: first.DB, TLSConfig: first.TLSConfig,
		ContextTimeoutEnabled: true, DialerRetries: 1,
	}
	for _, s := range options {
		o.SentinelAddrs = append(o.SentinelAddrs, s.Addr)
	}
	return o, nil
}

// readPassword reads the first line of a file; without a file it is empty.
func readPassword(flag, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: %s has no password in its first line", flag, file)
	}
	return line, nil
}

const expectedRedis = "expected HOST:PORT, or redis:// or rediss://USER:PASSWORD@HOST:PORT/DB, here or in FENCEGATE_REDIS"

// redisOptions reads one address. It shows nothing of it: there may be a
// password in it.
func redisOptions(redisAddr string) (*redis.Options, error) {
	options := &redis.Options{Addr: redisAddr}
	switch {
	case strings.Contains(redisAddr, "://"):
		var err error
		if options, err = redis.ParseURL(redisAddr); err != nil {
			return nil, errors.New("--redis: " + expectedRedis)
		}
	default:
		if _, port, err := net.SplitHostPort(redisAddr); err != nil || port == "" || strings.Contains(redisAddr, "@") {
			return nil, errors.New("--redis: " + expectedRedis)
		}
	}
	options.ContextTimeoutEnabled = true // a Redis that is frozen holds nothing up
	return options, nil
}

// hasPassword is true for what cannot be read, too. Several addresses stand
// with blanks between.
func hasPassword(redisAddrs string) bool {
	for addr := range strings.FieldsSeq(redisAddrs) {
		if options, err := redisOptions(addr); err != nil || options.Password != "" {
			return true
		}
	}
	return false
}
