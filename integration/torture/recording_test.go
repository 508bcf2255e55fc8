package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"fencegate/integration/history"
)

const (
	claimsPath    = "/.well-known/fencegate/claims"
	headerWriteID = "X-Write-Id" // names the write to the store
	// headerToken tells the store the token, which fencegate keeps to itself, for
	// the comparison with marks.
	headerToken = "X-Write-Token"
	// headerUnclaimed says that the token may be new to the fence.
	headerUnclaimed = "X-Write-Unclaimed"
)

// recording notes every request that leaves a worker, lockclient's claims too,
// with all that its history needs.
type recording struct {
	base     http.RoundTripper
	recorder *history.Recorder
	name     string // of the worker's process
	last     *atomic.Int64
}

func (r recording) RoundTrip(req *http.Request) (*http.Response, error) {
	o := history.Operation{ID: fmt.Sprint(r.name, ".", r.last.Add(1)), Client: r.name}
	if req.URL.Path == claimsPath {
		if err := claimOf(&o, req); err != nil {
			return nil, err
		}
	} else {
		requestOf(&o, req)
	}
	if err := r.recorder.Called(&o); err != nil {
		fmt.Fprintln(os.Stderr, "the record cannot be written:", err)
		os.Exit(1) // what is not recorded must not be sent
	}
	req = req.Clone(req.Context())
	req.Header.Set(headerToken, strconv.FormatUint(o.Token, 10))
	resp, err := r.base.RoundTrip(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		o.Status, o.Reason = resp.StatusCode, resp.Header.Get("X-Fencing-Reason")
	}
	switch {
	case err != nil && !o.IsWrite():
		o.Status, o.Reason = 0, "" // what it answered did not come
	case o.Kind == history.Get && o.Status == http.StatusOK:
		o.Value = idOf(string(body))
	}
	if err := r.recorder.Returned(&o); err != nil {
		fmt.Fprintln(os.Stderr, "the record cannot be written:", err)
		os.Exit(1)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// requestOf describes a request for an object.
func requestOf(o *history.Operation, req *http.Request) {
	o.Object = req.URL.Path
	o.Resource, o.Tree = resourceOf(o.Object)
	switch req.Method {
	case http.MethodPut:
		o.Kind = history.Put
	case http.MethodDelete:
		o.Kind, o.Tree = history.Delete, true
	default:
		o.Kind = history.Get
	}
	o.Token, _ = strconv.ParseUint(req.Header.Get("X-Fencing-Token"), 10, 64)
	o.Owner = req.Header.Get("X-Fencing-Owner")
	if id := req.Header.Get(headerWriteID); id != "" {
		o.ID = id
	}
}

// claimOf describes a claim, whose body it reads and puts back.
func claimOf(o *history.Operation, req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var claim struct {
		Resource, Owner string
		Token           string
		Tree            bool
	}
	if err := json.Unmarshal(body, &claim); err != nil {
		return err
	}
	o.Kind, o.Resource, o.Owner = history.Claim, claim.Resource, claim.Owner
	_, tree := resourceOf(claim.Resource + "/x")
	o.Tree = claim.Tree || tree
	o.Token, err = strconv.ParseUint(claim.Token, 10, 64)
	return err
}

// bodyOf is what a put with this id writes: the id, and filling that shows
// whether all of it is there.
func bodyOf(id string, size int) string {
	return fmt.Sprintf("%s %d\n%s", id, size, strings.Repeat("x", size))
}

// idOf reads that back; of anything else it makes an id that nobody has.
func idOf(body string) string {
	head, filling, _ := strings.Cut(body, "\n")
	id, size, _ := strings.Cut(head, " ")
	if n, err := strconv.Atoi(size); err != nil || filling != strings.Repeat("x", max(n, 0)) {
		return fmt.Sprintf("torn: %.80q, %d bytes", body, len(body))
	}
	return id
}
