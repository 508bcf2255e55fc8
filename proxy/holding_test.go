package proxy

import (
	"errors"
	"net/http"

	"fencegate/fence"
	"fencegate/store/memory"
)

// uncertainAt makes the store give no answer to writes at target.
func (w *world) uncertainAt(target string) {
	write := w.store.write
	w.store.write = func(r *http.Request, body string) (*http.Response, fence.Outcome, error) {
		if r.RequestURI == target {
			return nil, fence.Uncertain, errors.New("the connection broke")
		}
		return write(r, body)
	}
}

// held makes writes wait in the store until they are let go.
type held struct {
	arrived chan string // targets of writes, as they arrive
	release chan struct{}
}

// hold makes the world's store keep each write whose target is given.
func (w *world) hold(targets ...string) *held {
	h := &held{arrived: make(chan string, 100), release: make(chan struct{})}
	write := w.store.write
	w.store.write = func(r *http.Request, body string) (*http.Response, fence.Outcome, error) {
		for _, target := range targets {
			if r.RequestURI == target {
				h.arrived <- target
				<-h.release
			}
		}
		return write(r, body)
	}
	return h
}

// occupy has a write with token 4 at target begun and kept in the store. The
// function that it returns lets it end and takes its answer.
func (w *world) occupy(target string) func() {
	w.t.Helper()
	h := w.hold(target)
	c := w.dial()
	request := "PUT " + target + "\nX-Fencing-Token: 4\n\nv4"
	c.send(request)
	<-h.arrived
	return func() {
		w.t.Helper()
		close(h.release)
		c.gets(request, stored)
	}
}

// answers makes the store answer all writes so.
func (w *world) answers(status int, body string) {
	w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) {
		return storeSays(status, body), fence.Definite, nil
	}
}

func memoryWithGlobal(floor fence.Token) *memory.Ledger {
	return memory.New(fence.Meta{Clean: true, Global: floor})
}
