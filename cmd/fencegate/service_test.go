package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencegate/integration/harness"
)

// configOf reads a configuration, with a state directory and addresses of its
// own unless text names them.
func configOf(t testing.TB, dir, text string) *serveConfig {
	t.Helper()
	for key, value := range map[string]string{
		"state": filepath.Join(dir, "state"), "listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "upstream": "dir:" + filepath.Join(dir, "data"),
	} {
		if !strings.Contains(text, key+":") {
			text += "\n" + key + ": " + value
		}
	}
	c, err := parseConfig("f.yml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(c *serveConfig, init bool) (*service, error) {
	return startService(context.Background(), c, init, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
}

// serves starts what a configuration says, and stops it at the end.
func serves(t testing.TB, c *serveConfig, init bool) *service {
	t.Helper()
	s, err := start(c, init)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stops(t, s) })
	return s
}

func stops(t testing.TB, s *service) {
	t.Helper()
	if err := s.stop(10 * time.Second); err != nil {
		t.Error(err)
	}
}

// refuses checks that a start fails with a code and a text.
func refuses(t testing.TB, c *serveConfig, init bool, code int, want ...string) {
	t.Helper()
	s, err := start(c, init)
	if err == nil {
		stops(t, s)
		t.Errorf("it starts, want %q", want)
		return
	}
	for _, w := range want {
		if exitCode(err) != code || !strings.Contains(err.Error(), w) {
			t.Errorf("%d %v, want %d %q", exitCode(err), err, code, w)
		}
	}
}

// answer sends one request and returns "status reason".
func answer(t testing.TB, s *service, method, path string, header ...string) string {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.dataAddr()+path, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(res.Status[:3] + " " + res.Header.Get("X-Fencing-Reason"))
}

// The kind of a ledger's tokens stays what it was made with.
func TestTokenKindOfALedger(t *testing.T) {
	dir := t.TempDir()
	stops(t, must(start(configOf(t, dir, "tokens: time"), true)))
	refuses(t, configOf(t, dir, "tokens: any"), false, exitConfig, `f.yml:1:9: tokens "any"`, "made for tokens of the kind time", "leave it out")
	const future = "X-Fencing-Token: 9007199254740991"
	for _, text := range []string{"tokens: time", ""} {
		s := must(start(configOf(t, dir, text), false))
		if got := answer(t, s, "PUT", "/a", future); got != "400 token_implausible" {
			t.Errorf("%q: %s for a token from the future", text, got)
		}
		if got := answer(t, s, "PUT", "/a", "X-Fencing-Token: 5"); got != "412 stale_token" {
			t.Errorf("%q: %s for a token of before the ledger", text, got)
		}
		stops(t, s)
	}
	dir = t.TempDir()
	stops(t, must(start(configOf(t, dir, ""), true)))
	refuses(t, configOf(t, dir, "tokens: time"), false, exitConfig, "made for tokens of the kind any")
	if got := answer(t, serves(t, configOf(t, dir, "tokens: any"), false), "PUT", "/a", future); got != "201" {
		t.Errorf("%s for the highest token", got)
	}
}

func must(s *service, err error) *service {
	if err != nil {
		panic(err)
	}
	return s
}

// The ledger can be elsewhere than the rest of the state, and the only one that
// will do.
func TestLedgerElsewhere(t *testing.T) {
	dir := t.TempDir()
	ledger := "ledger: bolt:" + filepath.Join(dir, "ledger")
	s := must(start(configOf(t, dir, ledger), true))
	stops(t, s)
	if _, err := os.Stat(filepath.Join(dir, "ledger", "ledger.db")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "state", "ledger.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a ledger in the state directory too: %v", err)
	}
	stops(t, must(start(configOf(t, dir, ledger+"\nledger_id: "+s.ledgerID), false)))
	wrong := strings.Repeat("f", 32)
	refuses(t, configOf(t, dir, ledger+"\nledger_id: "+wrong), false, exitData, "ledger_id is "+wrong)
	// Storage behind HTTP remembers no ledger: here ledger_id alone decides.
	remote := ledger + "\nupstream: http://127.0.0.1:1/\nledger_id: "
	refuses(t, configOf(t, dir, remote+wrong), false, exitData, "its id is "+s.ledgerID, "expected "+wrong)
	refuses(t, configOf(t, t.TempDir(), "upstream: http://127.0.0.1:1/\nledger_id: "+s.ledgerID), true, exitData, "--init would make a new, empty ledger", "take out ledger_id")
	stops(t, must(start(configOf(t, dir, remote+s.ledgerID), false)))
}

// What settle is when it is not given depends on where the storage is.
func TestSettle(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "settle: 2s": 2 * time.Second, "settle: 0s": 0,
		"upstream: http://127.0.0.1:1": networkSettle, "upstream: https://h\nsettle: 100ms": leastSettle,
	} {
		got, err := settleFor(configOf(t, t.TempDir(), text), slog.New(slog.DiscardHandler))
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// A store behind HTTP: what a status means depends on the route.
func TestServesARemoteStore(t *testing.T) {
	hosts := make(chan string, 10)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts <- r.Host + r.URL.Path
		if strings.HasSuffix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer store.Close()
	dir := t.TempDir()
	upstream := "upstream: " + store.URL + "/prefix/\nhost: keep\nmax_wait: 50ms\n" +
		"routes:\n- {path: /sure, definite_statuses: [500]}\n- {path: /open, policy: open}\n"
	first := must(start(configOf(t, dir, upstream+"settle: 100ms"), true))
	harness.Eventually(t, "the hold over a new ledger to end", func() (any, bool) { s := first.gate.State(); return s, !s.Recovering })
	stops(t, first)
	s := serves(t, configOf(t, dir, upstream+"settle: 1h"), false) // which stopped clean, so nothing is held
	for _, c := range []struct{ path, token, want string }{
		{"/a", "", "428 token_missing"},
		{"/open/a", "", "200"},
		{"/sure/bad", "5", "500"},
		{"/sure/bad", "6", "500"}, // the first one has ended
		{"/bad", "5", "500"},
		{"/bad", "6", "503 settling"}, // it may still take effect
	} {
		var header []string
		if c.token != "" {
			header = append(header, "X-Fencing-Token: "+c.token)
		}
		if got := answer(t, s, "PUT", c.path, header...); got != c.want {
			t.Errorf("PUT %s with token %q: %s, want %s", c.path, c.token, got, c.want)
		}
	}
	close(hosts)
	var seen []string
	for h := range hosts {
		seen = append(seen, strings.TrimPrefix(h, s.dataAddr()))
	}
	if got := strings.Join(seen, " "); got != "/prefix/open/a /prefix/sure/bad /prefix/sure/bad /prefix/bad" {
		t.Errorf("the store was sent %s", got)
	}
}
