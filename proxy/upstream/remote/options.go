package remote

import (
	"errors"
	"fmt"
	"time"
)

// Options of a store. The zero value is right for most stores behind http.
type Options struct {
	// HostKeep sends the Host that the client named, instead of the one in the
	// store's URL: for stores that tell virtual hosts apart or sign it.
	HostKeep bool

	// CAFile holds the certificates, in PEM, that the store's is checked
	// against. Default: those of the system. This and the next three are for
	// https only.
	CAFile string
	// ServerName is the name in the store's certificate. Default: the host of
	// its URL.
	ServerName string
	// CertFile and KeyFile are our own certificate and its key, in PEM, for
	// stores that ask for one. Both or neither.
	CertFile, KeyFile string

	// ReadTimeout is how long a read may take until the head of its answer has
	// arrived, connecting included. Default 5 min. Writes end by their context.
	ReadTimeout time.Duration
	// DialTimeout is how long connecting may take, TLS included. Default 10 s.
	DialTimeout time.Duration
	// Idle is how long a connection is kept for another request, on Unix. It
	// should be less than what the store does. 0: each request has its own.
	Idle time.Duration
	// Settle is how long a write without an answer may take to have its effect.
	// TCP gives up on a store that neither acknowledges nor takes data for half
	// of it (Linux). Default 30 s.
	Settle time.Duration

	// DefiniteStatuses, 200 to 599, are answers after which a write has no
	// further effect although other stores use them differently, such as 500
	// for a refused operation.
	DefiniteStatuses []int
}

// check returns what is wrong with o, all of it.
func (o Options) check() error {
	var faults []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"read timeout", o.ReadTimeout}, {"dial timeout", o.DialTimeout}, {"idle", o.Idle}, {"settle", o.Settle}} {
		if d.value < 0 {
			faults = append(faults, fmt.Errorf("%s is %v, want a positive duration or 0 for the default", d.name, d.value))
		}
	}
	if o.Settle > 0 && o.Settle < 2*time.Millisecond {
		faults = append(faults, fmt.Errorf("settle is %v, want at least 2ms: TCP has to give up in half of it", o.Settle))
	}
	for _, status := range o.DefiniteStatuses {
		if status < 200 || status > 599 {
			faults = append(faults, fmt.Errorf("definite status %d, want one from 200 to 599", status))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 5 * time.Minute
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 10 * time.Second
	}
	if o.Settle == 0 {
		o.Settle = 30 * time.Second
	}
	if !canPeek {
		o.Idle = 0
	}
	return o
}

// userTimeout is how long TCP goes on sending what is not acknowledged.
func (o Options) userTimeout() time.Duration { return o.Settle / 2 }
