package torture

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"fencegate/integration/harness"
)

// marks are the highest tokens that have had an effect, by resource.
type marks map[string]uint64

// written says what token a request that has come to the store was sent with,
// and for which resource.
func written(path string, header http.Header) (token uint64, resource string) {
	token, err := strconv.ParseUint(header.Get(headerToken), 10, 64)
	if err != nil {
		panic("a request without a token came to the store: " + err.Error())
	}
	resource, _ = resourceOf(path)
	return token, resource
}

// hold checks S5: the ledger has for each resource a mark that is not below
// what had an effect. It is called when fencegate has just been started.
func (m marks) hold(w *world) {
	w.t.Helper()
	for _, e := range w.store.Effects()[w.counts["effects looked at"]:] {
		w.counts.add("effects looked at")
		token, resource := written(e.Path, e.Header)
		m[resource] = max(m[resource], token)
	}
	if w.open {
		return
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: harness.Patience}
	for resource, token := range m {
		resp, err := client.Get(w.fence.URL() + "/.well-known/fencegate/marks?resource=" + url.QueryEscape(resource))
		if err != nil {
			w.t.Errorf("the mark of %s: %v", resource, err)
			continue
		}
		var answer struct {
			Token uint64 `json:",string"`
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			w.t.Errorf("the mark of %s: %s, %v", resource, resp.Status, err)
		}
		w.counts.add("S5 marks compared")
		if answer.Token < token {
			w.counts.add("S5 violations")
			w.t.Errorf("seed %d: S5 broken after %v: the mark of %s is %d, but token %d had an effect",
				w.seed, (harness.Monotonic() - w.began).Round(time.Millisecond), resource, answer.Token, token)
		}
	}
}

// refusesToStart checks S6: without its ledger, or with a damaged one, a killed
// fencegate does not start, and with the right one again it does.
func (w *world) refusesToStart(random *rand.Rand) {
	w.t.Helper()
	ledger := filepath.Join(w.fence.State, "ledger.db")
	aside := ledger + ".aside"
	if err := os.Rename(ledger, aside); err != nil {
		w.t.Fatal(err)
	}
	want := 66
	if random.IntN(2) == 0 {
		want = 65
		content, err := os.ReadFile(aside)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range min(len(content), 2*os.Getpagesize()) {
			content[i] = byte(random.Uint32())
		}
		if err := os.WriteFile(ledger, content, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if code := harness.Start(w.t, "fencegate", w.fence.Command()).Wait(); code != want {
		w.t.Errorf("seed %d: S6 broken: a start without a sound ledger ends with %d, want %d", w.seed, code, want)
	}
	w.counts.add("S6 starts refused")
	if err := os.Rename(aside, ledger); err != nil {
		w.t.Fatal(err)
	}
	// A note that the ledger is suspect was about the other one.
	if err := os.Remove(filepath.Join(w.fence.State, "ledger.suspect")); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
}
