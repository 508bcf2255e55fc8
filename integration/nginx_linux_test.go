package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// nginxScript lays out what compose.yaml gives the store: a volume and a /tmp
// that can be written, its configuration, and nothing else.
const nginxScript = `
mount -t tmpfs -o mode=755 tmpfs /srv
mkdir /srv/store
chown "$2" /srv/store
mount --bind "$1" /etc/nginx/nginx.conf
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -o remount,bind,ro /`

// newStore makes a cell in which nginx can run as compose.yaml has it run.
func newStore(t testing.TB, more string, args ...string) (c *cell, run func(args ...string) *harness.Process) {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/nginx"); err != nil {
		t.Fatal("nginx is not installed: run .ci/setup, or apt-get install nginx")
	}
	conf, err := filepath.Abs(filepath.Join(top, "integration/deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	store := composed(t).Services["store"]
	uid, gid := ownerOf(t, store.User)
	c = newCell(t, more+nginxScript, append([]string{conf, store.User}, args...)...)
	return c, func(args ...string) *harness.Process {
		t.Helper()
		argv := append(append([]string{}, store.Entrypoint...), args...)
		argv[0] = "/usr/sbin/" + argv[0]
		return c.start("nginx", "/", uid, gid, argv...)
	}
}

const storeURL = "http://127.0.0.1:8082"

// awaitStatus waits until a GET of what p serves is answered with this status.
func awaitStatus(t testing.TB, p *harness.Process, client *http.Client, url string, status int) {
	t.Helper()
	harness.Eventually(t, fmt.Sprint(url, " to answer ", status), func() (any, bool) {
		select {
		case <-p.Exited():
			t.Fatalf("what should answer on %s has ended", url)
		default:
		}
		a, err := send(client, http.MethodGet, url, fence.Stamp{}, nil)
		return fmt.Sprint(a, err), err == nil && a.status == status
	})
}

// nginx takes the configuration, and stores as fencegate expects of a store: a
// write has happened when it is answered, one name means one object, and nothing
// but objects can be reached.
func TestNginxConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs root")
	}
	t.Parallel()
	c, run := newStore(t, "")
	check := run("-t")
	if code := check.Wait(); code != 0 || !strings.Contains(strings.Join(check.Stderr(), "\n"), "test is successful") {
		t.Fatalf("nginx -t ends with %d: %q", code, check.Stderr())
	}
	nginx := run()
	client := c.client()
	awaitStatus(t, nginx, client, storeURL+"/nothing", http.StatusNotFound)
	for _, r := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"PUT", report, "first", 201, ""},
		{"PUT", report, strings.Repeat("large ", 1<<19), 204, ""},
		{"PUT", report, "second", 204, ""},
		{"GET", report, "", 200, "second"},
		{"GET", "/uploads", "", 404, ""},
		{"GET", "/../uploads", "", 400, ""},
		{"MKCOL", "/made/", "", 405, ""},
		{"DELETE", report, "", 204, ""},
		{"GET", report, "", 404, ""},
	} {
		a, err := send(client, r.method, storeURL+r.path, fence.Stamp{}, strings.NewReader(r.body))
		if err != nil || a.status != r.status || r.answer != "" && a.body != r.answer {
			t.Errorf("%s %s is answered %v %q, %v, want %d %q", r.method, r.path, a, a.body, err, r.status, r.answer)
		}
	}
	nginx.Signal(syscall.SIGQUIT)
	if code := nginx.Wait(); code != 0 {
		t.Errorf("nginx ends with %d", code)
	}
}
