package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// scratch is the folder that everything happens in, and what may be in it.
type scratch struct {
	folder string // escaped, with a slash at its end

	mu      sync.Mutex
	names   []string // below the folder, of all that was written
	late    []string // those that may come later than we clear up
	folders []string // other folders, with their slash
	before  reply    // what was answered for the folder before it was made
	used    bool
	past    bool // something was sent past fencegate
}

func newScratch(below string) *scratch {
	return &scratch{folder: strings.TrimSuffix(below, "/") + "/.fencegate-doctor-" + strings.ToLower(rand.Text()[:12]) + "/"}
}

func (s *scratch) path(name string) string { return s.folder + name }

// wrote notes a name before something is written there.
func (s *scratch) wrote(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	if strings.HasSuffix(name, "/") && !slices.Contains(s.folders, name) {
		s.folders = append(s.folders, name)
	} else if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// awaits notes names whose write may still take effect; arrived, that it has,
// or has been waited for long enough.
func (s *scratch) awaits(name string) {
	s.wrote(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, name)
}

func (s *scratch) arrived(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = slices.DeleteFunc(s.late, func(n string) bool { return n == name })
}

// pastFence notes that something is sent to the store past fencegate.
func (s *scratch) pastFence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = true
}

// clearWithin is how long clearing up may take.
const clearWithin = 30 * time.Second

// clear removes the folder, whatever has happened, and returns what it could not
// remove and what may appear still. First whole, as servers of files do it; then
// name by name, as stores do it to which a folder is nothing.
func (x *exam) clear() (left, mayAppear []string) {
	s := x.scratch
	if x.lag > 0 && x.sleep(max(4*x.lag, time.Second)) != nil {
		s.awaits("")
	}
	s.mu.Lock()
	names, folders, late := slices.Clone(s.names), slices.Clone(s.folders), slices.Clone(s.late)
	s.mu.Unlock()
	for _, name := range late {
		mayAppear = append(mayAppear, s.path(name))
	}
	if !s.used {
		return nil, mayAppear
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), clearWithin)
	defer cancel()
	remove := func(name string) { _, _ = x.store.ask(ctx, http.MethodDelete, s.path(name), nil) }
	there := func(name string) bool {
		r, err := x.store.ask(ctx, http.MethodGet, s.path(name), nil)
		return err != nil || r.status == http.StatusOK
	}
	left = x.clearDirect(ctx)
	remove("")
	for _, name := range names {
		if !there(name) {
			continue
		}
		if remove(name); there(name) {
			left = append(left, s.path(name))
		}
	}
	for _, name := range slices.Backward(folders) {
		remove(name)
	}
	// A folder is there as long as the store answers otherwise than at first.
	gone := func() bool {
		r, err := x.store.ask(ctx, http.MethodGet, s.folder, nil)
		return err == nil && (r.status == s.before.status || r.status == http.StatusNotFound)
	}
	if !gone() {
		if remove(""); !gone() {
			left = append(left, s.folder)
		}
	}
	return left, mayAppear
}

// awaited are the names whose write may still take effect.
func (s *scratch) awaited() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.late)
}
