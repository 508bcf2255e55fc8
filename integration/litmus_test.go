package integration

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// litmus is the test suite for WebDAV servers. Whatever passes against a store
// directly passes through fencegate: when it only watches, and when it demands
// tokens, which something on the way adds.
func TestLitmus(t *testing.T) {
	// Those that pass at least: what the stores are known to do.
	floor := map[string]int{"Apache": 104, "nginx": 39}
	t.Parallel()
	overEachStore(t, func(t *testing.T, store davStore) {
		name := filepath.Base(t.Name())
		direct := litmus(t, store.URL())
		if n := passes(direct); n < floor[name] {
			t.Fatalf("%s by itself passes %d tests, want %d at least:\n%v", name, n, floor[name], direct)
		}
		config := filepath.Join(t.TempDir(), "fencegate.yaml")
		if err := os.WriteFile(config, []byte("routes: [{path: /litmus, fence: tree}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		watched := davFence(t, store, "--policy", "observe")
		required := davFence(t, store, "--config", config)
		for how, got := range map[string]map[string]string{
			"watched":  litmus(t, watched.URL()),
			"required": litmus(t, withToken(t, required, "7")),
		} {
			t.Logf("%s, %s: %d pass, directly %d", name, how, passes(got), passes(direct))
			for test, was := range direct {
				if got[test] != was && was == "pass" {
					t.Errorf("%s, %s: %s is %q, directly %s", name, how, test, got[test], was)
				}
			}
		}
		// One test sends a raw "#" and wants nothing removed.
		m := required.Metrics()
		all, sharp := m.Counter("fencegate_rejections_total"), m.Counter("fencegate_rejections_total", "reason=path_ambiguous")
		if all != 1 || sharp != 1 {
			t.Errorf("with a token %v requests were refused, %v of them for their path, want that one", all, sharp)
		}
		if a := says(t, required, "412 stale_token", "PUT", "/litmus/late", stampOf(6, "late"), "v"); a.header.Get("X-Fencing-Highest") != "7" {
			t.Errorf("the highest token is %s, want 7", a.header.Get("X-Fencing-Highest"))
		}
	})
}

func passes(results map[string]string) (n int) {
	for r := range maps.Values(results) {
		if r == "pass" {
			n++
		}
	}
	return n
}

// litmus runs it against a server and returns how each test ended: pass, FAIL
// or SKIPPED.
func litmus(t *testing.T, base string) map[string]string {
	t.Helper()
	cmd := exec.Command("litmus", "-k", base+"/")
	cmd.Dir = t.TempDir() // for its logs
	out, err := cmd.Output()
	results := litmusResults(string(out))
	if len(results) < 60 {
		t.Fatalf("litmus ends with %v after %d tests: run .ci/setup, or apt-get install litmus\n%s", err, len(results), out)
	}
	return results
}

var (
	litmusSuite  = regexp.MustCompile("^-> running `([a-z]+)'")
	litmusTest   = regexp.MustCompile(`^(?: *\.+ )? *(\d+)\. (\w+)`)
	litmusResult = regexp.MustCompile(`^(?: *\d+\. [\w.]+| *\.+) (pass|FAIL|SKIPPED)\b`)
)

// litmusResults reads litmus's output, in which a test's line is begun anew, after
// a carriage return, when it has ended.
func litmusResults(out string) map[string]string {
	results := map[string]string{}
	var suite, test string
	for line := range strings.FieldsFuncSeq(out, func(c rune) bool { return c == '\r' || c == '\n' }) {
		if m := litmusSuite.FindStringSubmatch(line); m != nil {
			suite = m[1]
		}
		if m := litmusTest.FindStringSubmatch(line); m != nil {
			test = suite + " " + m[1] + " " + m[2]
		}
		if m := litmusResult.FindStringSubmatch(line); m != nil {
			results[test] = m[1]
		}
	}
	return results
}

func TestLitmusResults(t *testing.T) {
	got := litmusResults("-> running `basic':\n\r 0. init.................. \r 0. init.................. pass\n" +
		"\r18. cond_put_corrupt_token WARNING: PUT failed with 400\n    ...................... pass (with 1 warning)\n" +
		"    ...................... \r19. a_b....... \r19. a_b....... FAIL (why)\n\r22. fail_cond_put_unlocked SKIPPED\n" +
		"<- summary for `basic': of 4 tests run: 1 passed\n-> running `http':\n\r 0. init.................. \r")
	want := map[string]string{"basic 0 init": "pass", "basic 18 cond_put_corrupt_token": "pass", "basic 19 a_b": "FAIL", "basic 22 fail_cond_put_unlocked": "SKIPPED"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", slices.Sorted(maps.Keys(got)))
		t.Errorf("%v, want %v", got, want)
	}
}

// withToken returns the URL of something in front of a server that adds a token
// to every request, and has what it is called replaced by what the server is.
func withToken(t *testing.T, s *harness.Server, token string) string {
	t.Helper()
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	adder := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		// Opaque: byte for byte what came.
		r.Out.URL = &url.URL{Scheme: "http", Host: to.Host, Opaque: r.In.RequestURI}
		r.Out.Host = to.Host
		r.Out.Header.Set("X-Fencing-Token", token)
		r.Out.Header.Set("X-Fencing-Owner", fmt.Sprint("owner-of-", token))
		for _, name := range []string{"Destination", "If"} {
			for i, line := range r.Out.Header[name] {
				r.Out.Header[name][i] = strings.ReplaceAll(line, "http://"+r.In.Host, s.URL())
			}
		}
	}, ErrorLog: log.New(io.Discard, "", 0)}) // clients hang up
	t.Cleanup(adder.Close)
	return adder.URL
}
