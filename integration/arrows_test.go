package integration

import (
	"strings"
	"testing"
)

// A pattern is a path below the module, or "path/..." for it and everything
// below, as the go command writes it.

// A room is a place in the module and what of ours may be imported there. The
// first room that matches a package is its room; a package without one has no
// business in the module.
type room struct {
	at    string
	knows []string
	tests []string // what its test files may import besides
}

var rooms = []room{
	{at: "fence"},
	{at: "store", knows: []string{"fence", "store/bolt", "store/memory"}},
	{at: "store/storetest", knows: []string{"fence", "store/memory", "integration/harness"}}, // only tests use it
	{at: "store/*", knows: []string{"fence"}, tests: []string{"store/..."}},
	{at: "proxy", knows: []string{"fence", "proxy/protocol/...", "proxy/front"}, tests: []string{"proxy/..."}},
	{at: "proxy/front", knows: []string{"proxy/nonblock"}}, // a server of HTTP, and of nothing in particular
	{at: "proxy/nonblock"},
	{at: "proxy/admin", knows: []string{"fence"}},
	{at: "proxy/protocol/...", knows: []string{"fence", "proxy/protocol/..."}},
	{at: "proxy/upstream", knows: []string{"fence", "proxy/upstream/..."}},
	{at: "proxy/upstream/dir", knows: []string{"fence", "proxy/upstream", "proxy/protocol/dav"}},
	{at: "proxy/upstream/remote", knows: []string{"fence", "proxy/upstream", "proxy/nonblock"}},
	{at: "proxy/upstream/*", knows: []string{"fence", "proxy/upstream"}},
	{at: "lockclient/...", knows: []string{"fence", "lockclient/..."}, tests: []string{"proxy/..."}},
	{at: "cmd/...", knows: []string{"fence", "store", "store/bolt", "store/memory", "proxy/...", "lockclient/...", "cmd/..."}},
	// The harness knows nothing of ours, so that every test can import it.
	{at: "integration/harness"},
	{at: "integration/bench", knows: []string{"fence", "store/bolt"}}, // it measures raises without HTTP
	{at: "integration/...", knows: []string{"fence", "lockclient"}, tests: []string{"integration/..."}},
}

// everyTest is what test files anywhere may import: a ledger to run on, the
// suite that checks ledgers, and the harness, which nothing else may use.
var everyTest = []string{"store/memory", "store/storetest", "integration/harness"}

// reserved are the modules of others that only some rooms may import, tests
// included. The core reports by plain values; who serves or stores them knows
// the library for it.
var reserved = []struct {
	module string
	rooms  []string
}{
	{"github.com/prometheus/...", []string{"proxy", "proxy/admin", "lockclient/...", "cmd/...", "integration/..."}},
	{"github.com/redis/...", []string{"lockclient/...", "cmd/...", "integration/..."}},
	{"github.com/alicebob/miniredis/...", []string{"cmd/fencegate/..."}}, // the demo; tests use a real Redis
	{"github.com/alecthomas/kong/...", []string{"cmd/..."}},
	{"github.com/anishathalye/porcupine/...", []string{"integration/history"}},
	{"go.etcd.io/bbolt/...", []string{"store/bolt/...", "integration", "integration/bench"}}, // a scenario forges a ledger of a later format; a naive fence is measured
}

// notInFence is what the core leaves to others of the standard library: it
// does no I/O, speaks no HTTP and logs nothing.
var notInFence = []string{
	"net", "net/http/...", "net/rpc/...", "net/smtp", "os/...", "log/...", "database/...",
	"syscall", "io/ioutil", "path/filepath", "html/template", "text/template", "testing/...", "plugin",
}

func TestImportsFollowTheArrows(t *testing.T) {
	pkgs := readPackages(t)
	if len(pkgs) == 0 {
		t.Fatal("no packages found: the check would pass on anything")
	}
	for _, line := range strayArrows(modulePath(t), pkgs) {
		t.Error(line)
	}
}

func TestStrayArrowsAreFound(t *testing.T) {
	const m = "fencegate/"
	for _, c := range []struct {
		name string
		pkg  pkg
		want string // part of the only complaint, "" for none
	}{
		{"core alone", pkg{path: "fence", uses: []string{"errors", "golang.org/x/text/cases"}}, ""},
		{"core and store", pkg{path: "fence", uses: []string{m + "store"}}, "fence imports fencegate/store"},
		{"core and HTTP", pkg{path: "fence", uses: []string{"net/http"}}, "the core does no I/O"},
		{"core and files", pkg{path: "fence", uses: []string{"os"}}, "the core does no I/O"},
		{"core and logging", pkg{path: "fence", uses: []string{"log/slog"}}, "the core does no I/O"},
		{"core and a module", pkg{path: "fence", uses: []string{"golang.org/x/sys/unix"}}, "the core does no I/O"},
		{"core's tests may do I/O", pkg{path: "fence", tests: []string{"os", m + "store/memory"}}, ""},
		{"core's tests and proxy", pkg{path: "fence", tests: []string{m + "proxy"}}, "a test of fence imports fencegate/proxy"},
		{"ledgers apart", pkg{path: "store/bolt", uses: []string{m + "store/memory"}}, "store/bolt imports"},
		{"a twin in tests", pkg{path: "store/bolt", tests: []string{m + "store/memory", m + "store/storetest"}}, ""},
		{"metrics in a ledger", pkg{path: "store/bolt", uses: []string{"github.com/prometheus/client_golang/prometheus"}}, "only proxy, proxy/admin"},
		{"bbolt elsewhere", pkg{path: "store", uses: []string{"go.etcd.io/bbolt"}}, "only store/bolt/..., integration, integration/bench may"},
		{"proxy and protocol", pkg{path: "proxy", uses: []string{m + "fence", m + "proxy/protocol", "github.com/prometheus/client_golang/prometheus"}}, ""},
		{"proxy and upstream", pkg{path: "proxy", uses: []string{m + "proxy/upstream"}}, "proxy imports fencegate/proxy/upstream"},
		{"proxy and store", pkg{path: "proxy", uses: []string{m + "store"}}, "proxy imports fencegate/store"},
		{"protocol and upstream", pkg{path: "proxy/protocol", uses: []string{m + "proxy/upstream/dir"}}, "proxy/protocol imports"},
		{"metrics in protocol", pkg{path: "proxy/protocol/dav", uses: []string{"github.com/prometheus/client_golang/prometheus"}}, "may"},
		{"dir and dav", pkg{path: "proxy/upstream/dir", uses: []string{m + "proxy/protocol/dav"}}, ""},
		{"dir and plain", pkg{path: "proxy/upstream/dir", uses: []string{m + "proxy/protocol"}}, "proxy/upstream/dir imports"},
		{"remote and dav", pkg{path: "proxy/upstream/remote", uses: []string{m + "proxy/protocol/dav"}}, "proxy/upstream/remote imports"},
		{"remote and dir", pkg{path: "proxy/upstream/remote", uses: []string{m + "proxy/upstream/dir"}}, "proxy/upstream/remote imports"},
		{"proxy and front", pkg{path: "proxy", uses: []string{m + "proxy/front"}}, ""},
		{"front and fence", pkg{path: "proxy/front", uses: []string{m + "fence"}}, "proxy/front imports"},
		{"front's tests and proxy", pkg{path: "proxy/front", tests: []string{m + "proxy"}}, "a test of proxy/front imports"},
		{"front and HTTP's grammar", pkg{path: "proxy/front", uses: []string{"golang.org/x/net/http/httpguts", "golang.org/x/sys/unix"}}, ""},
		{"metrics in front", pkg{path: "proxy/front", uses: []string{"github.com/prometheus/client_golang/prometheus"}}, "may"},
		{"admin and proxy", pkg{path: "proxy/admin", uses: []string{m + "proxy"}}, "proxy/admin imports"},
		{"lockclient and proxy", pkg{path: "lockclient", uses: []string{m + "proxy"}}, "lockclient imports"},
		{"miniredis in a test", pkg{path: "lockclient", tests: []string{"github.com/alicebob/miniredis/v2"}}, "only cmd/fencegate/... may"},
		{"miniredis in the demo", pkg{path: "cmd/fencegate", uses: []string{"github.com/alicebob/miniredis/v2"}}, ""},
		{"cmd knows all", pkg{path: "cmd/fencegate", uses: []string{m + "store", m + "proxy/admin", m + "lockclient"}}, ""},
		{"harness in a program", pkg{path: "cmd/fencegate", uses: []string{m + "integration/harness"}}, "cmd/fencegate imports"},
		{"harness in a test", pkg{path: "proxy/admin", tests: []string{m + "integration/harness"}}, ""},
		{"bench and ledger", pkg{path: "integration/bench", uses: []string{m + "fence", m + "store/bolt"}}, ""},
		{"bench and proxy", pkg{path: "integration/bench", uses: []string{m + "proxy"}}, "integration/bench imports"},
		{"scenario and ledger", pkg{path: "integration/torture", uses: []string{m + "store/bolt"}}, "integration/torture imports"},
		{"a new room", pkg{path: "internal/odds"}, "no room of this house"},
	} {
		got := strings.Join(strayArrows("fencegate", []pkg{c.pkg}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want one line with %q", c.name, got, c.want)
		}
	}
}
