package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"

	"fencegate/fence"
)

// nested reports whether what is to be locked is locked already by the fencegate
// lock that this one runs within. Waiting for it would never end.
func (c *lockCmd) nested() bool {
	if os.Getenv("FENCING_TOKEN") == "" || os.Getenv("FENCING_OWNER") == "" || os.Getenv("FENCEGATE_URL") == "" {
		return false
	}
	outer, err := url.Parse(os.Getenv("FENCEGATE_FENCE"))
	if err != nil {
		return false
	}
	own, err := url.Parse(c.Fence)
	if err != nil || !sameOrigin(outer, own) {
		return false
	}
	held := map[fence.Resource]bool{}
	for name := range strings.FieldsSeq(os.Getenv("FENCING_RESOURCES")) {
		if r, err := fence.Canonical(name, fence.NameOptions{}); err == nil {
			held[r] = true
		}
	}
	for _, name := range c.Resource {
		if r, err := fence.Canonical(name, fence.NameOptions{}); err != nil || !held[r] {
			return false
		}
	}
	return true
}

// passThrough runs the command in place of this process, if the outer lock is
// still held: its variables may have been kept beyond it.
func (c *lockCmd) passThrough(path string) error {
	names := strings.Join(c.Resource, ", ")
	tree, err := askHeld(os.Getenv("FENCEGATE_URL"))
	switch {
	case err != nil:
		return &exitError{exitLost, fmt.Errorf("the lock on %s that this runs within is not held any more", names)}
	case c.Tree && !tree:
		return &exitError{exitUsage, fmt.Errorf("--tree: the lock on %s that this runs within does not cover what is below: expected --tree there", names)}
	}
	return startError(path, syscall.Exec(path, c.Command, os.Environ()))
}

// askHeld asks the helper of an outer lock whether that is held, and whether for
// everything below too.
func askHeld(helper string) (tree bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, helper+heldPath, nil)
	if err != nil {
		return false, err
	}
	res, err := (&http.Client{Transport: onceOnly()}).Do(r)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	var held heldAnswer
	if res.StatusCode != http.StatusOK {
		return false, errors.New(res.Status)
	}
	err = json.NewDecoder(io.LimitReader(res.Body, 1<<10)).Decode(&held)
	return held.Tree, err
}

// bare is a header of the fence without a value: a whole argument, or in quotes
// within one.
var bare = regexp.MustCompile(`(?i)x-fencing-(token|owner):\s*(["']?\s*$|["']\s)`)

// checkCommand refuses what the shell that ran fencegate lock has expanded too
// early: the variables are set only for the command.
func checkCommand(command []string) error {
	for _, arg := range command {
		if found := bare.FindStringSubmatch(arg); found != nil {
			return fmt.Errorf("the command sends X-Fencing-%s without a value: the shell has expanded the variable before there was a lock. Put the command into single quotes for a shell of its own, as in -- sh -c 'curl -H \"X-Fencing-Token: $FENCING_TOKEN\" …', or into a script", found[1])
		}
	}
	return nil
}
