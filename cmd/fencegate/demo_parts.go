package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

// demoRedis returns the address of the Redis at addr, or of a stand-in within
// this process when addr is empty.
func demoRedis(addr string) (string, func(), error) {
	if addr != "" {
		rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}) // a wrong address shall not take long
		defer rdb.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := rdb.Ping(ctx).Err(); err != nil {
			return "", nil, &exitError{exitUnavailable, fmt.Errorf("--redis %s does not answer: %w", addr, err)}
		}
		return addr, func() {}, nil
	}
	standIn, err := miniredis.Run()
	if err != nil {
		return "", nil, err
	}
	// It expires keys only when told that time has passed.
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				standIn.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	return standIn.Addr(), func() { close(stop); ticking.Wait(); standIn.Close() }, nil
}

// demoWriter is a running demo-writer process.
type demoWriter struct {
	name    string
	token   fence.Token
	refused int
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startDemoWriter(name, redisAddr, fenceURL string, stderr io.Writer) (*demoWriter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &demoWriter{name: name, cmd: exec.Command(self, "demo-writer", "--lock-redis", redisAddr, "--lock-fence", fenceURL,
		"--client", "demo/"+name, "--ttl", demoTTL.String())}
	w.cmd.Stderr = stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	return w, w.cmd.Start()
}

// ask sends a line and returns the answer.
func (w *demoWriter) ask(line string) (string, error) {
	if _, err := fmt.Fprintln(w.in, line); err != nil || !w.out.Scan() {
		return "", &exitError{exitFailed, fmt.Errorf("%s ended at %q; its error is above", w.name, line)}
	}
	if strings.HasPrefix(w.out.Text(), "412") {
		w.refused++
	}
	return w.out.Text(), nil
}

func (w *demoWriter) signal(s syscall.Signal) error { return w.cmd.Process.Signal(s) }

// end lets the writer give its lock back and waits for it.
func (w *demoWriter) end() {
	if w.cmd.Process == nil {
		return
	}
	_ = w.signal(syscall.SIGCONT)
	w.in.Close()
	cut := time.AfterFunc(10*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer cut.Stop()
	_ = w.cmd.Wait()
}

// quiet keeps go-redis from printing what is in its errors anyway.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func sortedKeys(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
