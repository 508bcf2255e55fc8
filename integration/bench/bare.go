package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// bare is what a PUT into a directory costs without anything around it: writers
// in loops that make the system calls of fencegate's own store for files, each
// for itself, without a request, a token or a look at what they return but for
// errors. It serves nothing but the wish to run, a load in JSON, answered by a
// tally when it is over.
type bare struct {
	root   string
	folder *bareFolder
}

// startBare starts the writers' process, with a directory beside those of the
// other stores.
func startBare(ctx context.Context, at place, name string) (*server, error) {
	s, err := startRole(ctx, at, name, roleBare, 0)
	if err == nil {
		s.root = at.state(name)
	}
	return s, err
}

func newBare(root string) (*bare, error) {
	if err := os.MkdirAll(filepath.Join(root, bareStaging), 0o700); err != nil {
		return nil, err
	}
	folder, err := openBareFolder(root)
	return &bare{root, folder}, err
}

// bareStaging is where bodies are until they are durable.
const bareStaging = ".staged"

func (b *bare) serve(l net.Listener) error { return http.Serve(l, b) }

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var wish bareWish
	err := json.NewDecoder(r.Body).Decode(&wish)
	var t tally
	if err == nil {
		t, err = b.run(wish.load())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(t) // who asked is gone if this fails
}

// bareWish is a load, as it is sent.
type bareWish struct {
	Conns, Threads, Paths, Size int
	Duration                    time.Duration
}

func (w bareWish) load() load {
	return load{conns: w.Conns, threads: w.Threads, paths: w.Paths, size: w.Size, duration: w.Duration}
}

// askBare lets the writers at addr run, as wrk runs on other servers.
func askBare(ctx context.Context, l load, addr string) (t tally, err error) {
	text, err := json.Marshal(bareWish{l.conns, l.threads, l.paths, l.size, l.duration})
	if err != nil {
		return t, err
	}
	status, body, err := post(ctx, "http://"+addr+"/", text)
	switch {
	case err != nil:
		return t, err
	case status != http.StatusOK:
		return t, fmt.Errorf("the bare writers: %s", body)
	}
	return parseTally([]byte(body))
}

// run lets as many writers write as a load has connections, to the same paths in
// the same order: those of one thread of wrk in turn.
func (b *bare) run(l load) (t tally, err error) {
	body := slices.Repeat([]byte("x"), l.size)
	turns := make([]atomic.Int64, l.threads)
	took := make([][]time.Duration, l.conns)
	failed := make([]error, l.conns)
	begun := time.Now()
	var group sync.WaitGroup
	for writer := range l.conns {
		group.Go(func() {
			thread := writer % l.threads
			for last := begun; failed[writer] == nil && last.Sub(begun) < l.duration; {
				i := int(turns[thread].Add(1)-1) % (l.paths / l.threads)
				failed[writer] = b.folder.put(l.pathOf(thread, i), body)
				now := time.Now()
				took[writer] = append(took[writer], now.Sub(last))
				last = now
			}
		})
	}
	group.Wait()
	t.Micros = time.Since(begun).Microseconds()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	t.Requests = int64(len(all))
	t.P50, t.P99 = all[len(all)/2].Microseconds(), all[len(all)*99/100].Microseconds()
	return t, errors.Join(failed...)
}
