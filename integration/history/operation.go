package history

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Kind is what an operation does.
type Kind string

const (
	Put    Kind = "put"
	Delete Kind = "delete"
	Get    Kind = "get"
	Claim  Kind = "claim"
)

// An Operation is one request of a client and what became of it.
type Operation struct {
	ID       string `json:"id"` // in all histories one; what a put writes
	Client   string `json:"client,omitempty"`
	Kind     Kind   `json:"kind"`
	Resource string `json:"resource"`         // what its token is for
	Object   string `json:"object,omitempty"` // what it names; "" for a claim
	// Tree: it fences what is below Resource too, as everything under a fence of a
	// tree does, and every delete.
	Tree  bool   `json:"tree,omitempty"`
	Token uint64 `json:"token,omitempty"` // 0: none
	Owner string `json:"owner,omitempty"`

	Call   int64  `json:"call"`
	Return int64  `json:"return,omitempty"` // 0: it never returned
	Status int    `json:"status,omitempty"` // 0: no answer
	Reason string `json:"reason,omitempty"` // X-Fencing-Reason
	Value  string `json:"value,omitempty"`  // of a get: the id of the put it saw, "" for none
}

// An Effect is a change that the store made: a put of one object, or a delete of
// one and of all that is below it.
type Effect struct {
	At     int64  `json:"at"`
	ID     string `json:"id"` // of the operation that asked for it
	Object string `json:"object"`
	Delete bool   `json:"delete,omitempty"`
}

// A History is what is known of one run. Effects are in the order in which the
// store made them; the order of operations means nothing.
type History struct {
	Operations []Operation
	Effects    []Effect
}

// IsWrite reports whether it asks for a change.
func (o *Operation) IsWrite() bool { return o.Kind == Put || o.Kind == Delete }

// ByStore reports whether the answer is the store's. The bare 400 and 431 are
// those of an HTTP server that did not understand the request.
func (o *Operation) ByStore() bool {
	return o.Kind != Claim && o.Status != 0 && o.Reason == "" &&
		o.Status != http.StatusBadRequest && o.Status != http.StatusRequestHeaderFieldsTooLarge
}

// CutsOff reports whether its answer promises that nothing with a lower token
// takes effect any more.
func (o *Operation) CutsOff() bool {
	return o.Token != 0 && (o.ByStore() || o.Kind == Claim && o.Status == http.StatusOK)
}

// Refused reports whether its answer promises that it never takes effect: any
// reason, but the two that say that nobody knows.
func (o *Operation) Refused() bool {
	return o.Reason != "" && o.Reason != "outcome_unknown" && o.Reason != "upstream_timeout"
}

// Succeeded reports whether the store said that it has done it. 202 says
// that it may do so later.
func (o *Operation) Succeeded() bool {
	return o.ByStore() && o.Status/100 == 2 && o.Status != http.StatusAccepted
}

// Saw reports whether its answer tells what the object held.
func (o *Operation) Saw() bool {
	return o.Kind == Get && o.ByStore() && (o.Status == http.StatusOK || o.Status == http.StatusNotFound)
}

// Unknown reports whether it may or may not have taken effect, as far as its
// client knows.
func (o *Operation) Unknown() bool { return !o.Succeeded() && !o.Refused() }

// fences reports whether its token holds at object.
func (o *Operation) fences(object string) bool {
	return o.Resource == object || o.Tree && isBelow(object, o.Resource)
}

// changes reports whether the operation, if it is a write, changes object.
func (o *Operation) changes(object string) bool {
	return o.Object == object || o.Kind == Delete && isBelow(object, o.Object)
}

func isBelow(object, root string) bool {
	return strings.HasPrefix(object, strings.TrimSuffix(root, "/")+"/")
}

// byID finds operations.
func (h *History) byID() map[string]*Operation {
	index := make(map[string]*Operation, len(h.Operations))
	for i := range h.Operations {
		index[h.Operations[i].ID] = &h.Operations[i]
	}
	return index
}

// objects are all that were named, in order.
func (h *History) objects() []string {
	named := map[string]bool{}
	for i := range h.Operations {
		named[h.Operations[i].Object] = true
	}
	for _, e := range h.Effects {
		named[e.Object] = true
	}
	delete(named, "")
	return slices.Sorted(maps.Keys(named))
}

// on returns the effects that changed object, in their order.
func (h *History) on(object string) []Effect {
	var effects []Effect
	for _, e := range h.Effects {
		if e.Object == object || e.Delete && isBelow(object, e.Object) {
			effects = append(effects, e)
		}
	}
	return effects
}
