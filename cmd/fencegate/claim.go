package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"fencegate/fence"
)

type claimCmd struct {
	Resource string   `short:"r" env:"FENCING_RESOURCE" placeholder:"PATH" help:"What to claim, as it stands in a URL (default within fencegate lock: what is locked)."`
	Tree     bool     `env:"-" help:"Claim everything below the path too."`
	Fence    string   `placeholder:"URL" help:"The fencegate in front of the storage (default within fencegate lock: the same)."`
	Wait     patience `short:"w" default:"60s" env:"-" placeholder:"DURATION" help:"How long to try while the fence is not ready (default ${default})."`
	redisFlags
}

// Help is what fencegate claim --help says before its flags.
func (claimCmd) Help() string {
	return `Cuts off earlier holders: once it has succeeded, no write with a lower token takes effect at the path any more. fencegate lock has claimed what it locks; this is for further paths that the same command writes, and for holders of locks that were taken otherwise.

The token is FENCING_TOKEN, the owner FENCING_OWNER, both from the environment. Where they are not set and --redis is given, it takes the lock there, claims with that and gives it back; it then prints the token.

Exit code: 0 claimed; 76 a later holder was seen; 75 the fence was not ready in time; 69 it does not answer; 64 usage.`
}

// stamp reads what fencegate lock exports. The owner is not shown.
func (c *claimCmd) stamp() (fence.Stamp, error) {
	token, owner := os.Getenv("FENCING_TOKEN"), os.Getenv("FENCING_OWNER")
	if token == "" || owner == "" {
		return fence.Stamp{}, errors.New("FENCING_TOKEN and FENCING_OWNER are not both set: run it within fencegate lock … -- …, set both as your lock service tells, or give --redis")
	}
	s := fence.Stamp{Client: fence.CleanClient(os.Getenv("FENCING_CLIENT"))}
	var err error
	if s.Token, err = fence.ParseToken(token, fence.MaxToken); err != nil {
		return fence.Stamp{}, fmt.Errorf("FENCING_TOKEN: %w", err)
	}
	if s.Owner, err = fence.ParseOwner(owner); err != nil {
		return fence.Stamp{}, fmt.Errorf("FENCING_OWNER: %w", err)
	}
	return s, nil
}

// Run claims, trying again while the fence says that it is not ready.
func (c *claimCmd) Run(std streams) error {
	var faults *multierror.Error
	var stamp fence.Stamp
	var err error
	byLock := c.given() && !withToken()
	if !byLock {
		stamp, err = c.stamp()
	}
	wrong := []error{err, checkResource(c.Resource), checkFence(c.Fence)}
	if byLock {
		wrong = append(wrong, c.redisFlags.check()...)
	}
	for _, err := range wrong {
		if err != nil {
			faults = multierror.Append(faults, err)
		}
	}
	if c.Wait < 0 {
		faults = multierror.Append(faults, fmt.Errorf("--wait %s: expected a duration of 0 or more", c.Wait))
	}
	if faults != nil {
		faults.ErrorFormat = oneLine
		return &exitError{exitUsage, faults}
	}
	ctx, stop := untilTold()
	defer stop()
	if byLock {
		return c.byLock(ctx, std)
	}
	return c.asHolder(ctx, stamp)
}

// asHolder claims with the token of a lock around this command.
func (c *claimCmd) asHolder(told context.Context, stamp fence.Stamp) error {
	wait := time.Duration(c.Wait)
	ctx, cancel := context.WithTimeout(told, max(wait, time.Second)) // a single try needs some time too
	defer cancel()
	url := strings.TrimSuffix(c.Fence, "/") + "/.well-known/fencegate/claims"
	deadline := time.Now().Add(wait)
	for {
		refused, err := postClaim(ctx, url, c.Resource, c.Tree, stamp)
		switch {
		case toldCode(told) != 0:
			return &exitError{toldCode(told), fmt.Errorf("%w before the fence has answered", context.Cause(told))}
		case err != nil:
			return &exitError{exitUnavailable, inOneLine(fmt.Errorf("the fence did not confirm the claim on %s: %w", c.Resource, err))}
		case refused == nil:
			return nil
		case refused.status != http.StatusServiceUnavailable:
			return &exitError{refused.exitCode(), inOneLine(refused)}
		}
		// Retry-After is in whole seconds, so perhaps rounded up.
		pause := min(max(refused.retryAfter, 100*time.Millisecond), time.Second)
		if time.Now().Add(pause).After(deadline) {
			return &exitError{exitHeld, inOneLine(fmt.Errorf("not within %s: %w", wait, refused))}
		}
		select {
		case <-time.After(pause):
		case <-told.Done():
		}
	}
}
