// Package store opens ledgers by URL.
package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fencegate/fence"
	"fencegate/store/bolt"
	"fencegate/store/memory"
)

// Options for Open and Create; bolt.Options documents the fields.
type Options = bolt.Options

// schemes is what a ledger URL may start with, for messages.
const schemes = `"bolt:DIRECTORY" (durable) or "memory:" (tests and demonstrations; forgets everything)`

// URLError means that a text is no ledger URL.
type URLError struct{ URL string }

func (e *URLError) Error() string {
	return fmt.Sprintf("%q is no ledger: use %s", e.URL, schemes)
}

// Open opens the ledger that url names: "bolt:DIRECTORY" as bolt.Open does, or
// "memory:", which is new and empty each time. Errors are a *URLError or those
// of the package that keeps the ledger.
func Open(ctx context.Context, url string, opts Options) (fence.Ledger, error) {
	switch scheme, path := split(url); {
	case scheme == "bolt" && path != "":
		l, err := bolt.Open(ctx, path, opts)
		if err != nil {
			return nil, err // not l: a nil *bolt.Ledger is no nil fence.Ledger
		}
		return l, nil
	case scheme == "memory" && path == "":
		return memory.New(newMemory(opts)), nil
	default:
		return nil, &URLError{url}
	}
}

// Create makes the ledger that url names and returns its record, as bolt.Create
// does. For "memory:" there is nothing to make.
func Create(ctx context.Context, url string, opts Options) (fence.Meta, error) {
	switch scheme, path := split(url); {
	case scheme == "bolt" && path != "":
		return bolt.Create(ctx, path, opts)
	case scheme == "memory" && path == "":
		return newMemory(opts), nil
	default:
		return fence.Meta{}, &URLError{url}
	}
}

func split(url string) (scheme, path string) {
	scheme, path, ok := strings.Cut(url, ":")
	if !ok {
		return "", ""
	}
	return scheme, path
}

func newMemory(opts Options) fence.Meta {
	meta := fence.Meta{ID: "memory", Kind: opts.Kind}
	if meta.Kind == fence.TimeTokens {
		now := time.Now
		if opts.Now != nil {
			now = opts.Now
		}
		meta.Global = fence.Token(now().UnixMicro())
	}
	return meta
}
