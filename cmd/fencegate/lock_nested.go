package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("FENCEGATE_URL")+heldPath, nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("FENCEGATE_URL is none that fencegate lock has set")}
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err == nil {
		res.Body.Close()
	}
	if err != nil || res.StatusCode != http.StatusNoContent {
		return &exitError{exitLost, fmt.Errorf("the lock on %s that this runs within is not held any more", strings.Join(c.Resource, ", "))}
	}
	return startError(path, syscall.Exec(path, c.Command, os.Environ()))
}

// heldPath, behind FENCEGATE_URL, answers 204 while the lease holds.
const heldPath = "/.well-known/fencegate/held"

// bare is a header of the fence without a value.
var bare = regexp.MustCompile(`(?i)x-fencing-(token|owner):\s*$`)

// checkCommand refuses what the shell that ran fencegate lock has expanded too
// early: the variables are set only for the command.
func checkCommand(command []string) error {
	for _, arg := range command {
		if found := bare.FindString(arg); found != "" {
			return fmt.Errorf("the command sends %q without a value: the shell has expanded the variable before there was a lock. Quote it for a shell of the command's own, as in -- sh -c 'curl -H \"X-Fencing-Token: $FENCING_TOKEN\" …', or use \"$FENCEGATE_URL\" there", strings.TrimSpace(found))
		}
	}
	return nil
}
