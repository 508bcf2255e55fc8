package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"fencegate/fence"
)

// refusal is an answer of the fence other than 200.
type refusal struct {
	resource   string
	token      fence.Token
	status     int
	reason     string
	retryAfter time.Duration

	Detail    string `json:"detail"`
	Highest   string `json:"highest"`
	FenceRoot string `json:"fence_root"`
	RequestID string `json:"request_id"`
}

func (r *refusal) Error() string {
	s := fmt.Sprintf("the fence refused the claim on %s with token %s: %d %s", r.resource, r.token, r.status, r.reason)
	for _, part := range []struct{ name, value string }{
		{"the highest token seen is ", r.Highest}, {"claim instead ", r.FenceRoot}, {"", r.Detail}, {"request ", r.RequestID},
	} {
		if part.value != "" {
			s += "; " + part.name + part.value
		}
	}
	return s
}

func (r *refusal) exitCode() int {
	switch {
	case r.status == http.StatusPreconditionFailed,
		r.reason == string(fence.OwnerConflict), r.reason == string(fence.TreeFenced):
		return exitLost
	case r.status >= 500:
		return exitUnavailable
	}
	return exitUsage // as asked for it can never be claimed
}

// direct follows no redirect: that would show the owner to another host.
var direct = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// postClaim claims once. It returns nil for a claim that holds, what the fence
// refused, or an error if no fence has answered.
func postClaim(ctx context.Context, url, resource string, tree bool, s fence.Stamp) (*refusal, error) {
	body, err := json.Marshal(map[string]any{
		"resource": resource, "token": s.Token.String(), "owner": string(s.Owner), "client": s.Client, "tree": tree,
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := direct.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return nil, confirmed(text, resource, tree, s)
	}
	no := &refusal{resource: resource, token: s.Token, status: res.StatusCode, reason: res.Header.Get("X-Fencing-Reason")}
	if no.reason == "" {
		return nil, fmt.Errorf("it answered %s without X-Fencing-Reason: it is no fencegate, or something in front of it answered", res.Status)
	}
	_ = json.Unmarshal(text, no) // status and reason decide, the rest explains
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		no.retryAfter = time.Duration(seconds) * time.Second
	}
	return no, nil
}

// confirmed checks that a 200 speaks of this claim.
func confirmed(text []byte, resource string, tree bool, s fence.Stamp) error {
	var a struct {
		Resources []struct {
			Resource string `json:"resource"`
			Covers   string `json:"covers"`
		} `json:"resources"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(text, &a); err != nil || len(a.Resources) != 1 || a.Token != s.Token.String() {
		return errors.New("its answer is no answer to this claim: it is no fencegate")
	}
	want, err := fence.Canonical(resource, fence.NameOptions{})
	if err != nil {
		return err
	}
	if got, err := fence.Canonical(a.Resources[0].Resource, fence.NameOptions{}); err != nil || got != want {
		return fmt.Errorf("it claimed %q instead", a.Resources[0].Resource)
	}
	if tree && a.Resources[0].Covers != "tree" {
		return errors.New("it claimed the path without what is below")
	}
	return nil
}
