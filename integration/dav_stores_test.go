package integration

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// davStore is a real server that stores files and speaks WebDAV, or a part of it.
type davStore interface {
	Addr() string
	URL() string
	Root() string       // where its files are
	Requests() []string // the request lines that it has logged
}

// overEachStore runs a scenario over every real store.
func overEachStore(t *testing.T, scenario func(t *testing.T, store davStore)) {
	t.Run("Apache", func(t *testing.T) { t.Parallel(); scenario(t, harness.Apache(t)) })
	t.Run("nginx", func(t *testing.T) { t.Parallel(); scenario(t, harness.NginxDAV(t)) })
}

// davFence starts a fencegate in front of a store.
func davFence(t testing.TB, store davStore, args ...string) *harness.Server {
	t.Helper()
	return harness.Fencegate(t, append([]string{"--upstream", store.URL(), "--protocol", "webdav", "--settle", "100ms"}, args...)...)
}

// ask makes one request as it is written: a line with method and URL, then
// lines of headers, then, after an empty one, the body.
func ask(t testing.TB, base, text string) answer {
	t.Helper()
	a, err := tryAsk(base, text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return a
}

func tryAsk(base, text string) (answer, error) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	res, err := fresh.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(got)}, err
}

// asked is ask with the answer, a status or a status and a reason, compared.
func asked(t testing.TB, base, want, text string) answer {
	t.Helper()
	a := ask(t, base, text)
	if a.String() != want {
		t.Fatalf("%q is answered %v, want %s\n%s", text, a, want, a.body)
	}
	return a
}

// filesOf returns what a store holds: one line for each file, with its content,
// and for each directory.
func filesOf(t testing.TB, store davStore) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(store.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, store.Root())
		if d.IsDir() {
			fmt.Fprintf(&b, "%s/\n", name)
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sentOnly checks that a store has been sent n requests, in which it names no
// GET: those are the test's own.
func sentOnly(t testing.TB, store davStore, n int) {
	t.Helper()
	mark := fmt.Sprint("/?sent-", n, "-", len(store.Requests()))
	ask(t, store.URL(), "GET "+mark)
	var sent []string
	harness.Eventually(t, "the store to log the last request", func() (any, bool) {
		sent = nil
		last := false
		for _, line := range store.Requests() {
			if !strings.HasPrefix(line, "GET ") {
				sent = append(sent, line)
			}
			last = last || strings.Contains(line, mark)
		}
		return sent, last && len(sent) >= n
	})
	if len(sent) != n {
		t.Errorf("the store was sent %q, want %d requests", sent, n)
	}
}
