package integration

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// composeRuns is what compose.yaml starts, in its order: init once, the store,
// fencegate in front of it.
func composeRuns(t *testing.T, img image) {
	services := composed(t).Services
	dir := t.TempDir()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	if out, err := exec.Command("cp", "-a", img.root, root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// An engine answers for the names of services; here a file does.
	if err := errors.Join(
		os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1 store\n"), 0o644),
		os.Mkdir(state, 0o700), os.Chown(state, int(img.uid), int(img.gid)),
	); err != nil {
		t.Fatal(err)
	}
	cell, runNginx := newStore(t, `
mount --bind "$3" /mnt
mount -o remount,bind,ro,nosuid,nodev /mnt
mount --bind -o nosuid,nodev,noexec "$4" /mnt/var/lib/fencegate/state`, root, state)
	run := func(words ...string) *harness.Process {
		t.Helper()
		return cell.start("container", "/mnt", img.uid, img.gid, words...)
	}
	command := func(service string, more ...string) *harness.Process {
		t.Helper()
		return run(slices.Concat(img.entrypoint, services[service].Command, more)...)
	}
	client := cell.client()
	says := func(want, method, url string, token fence.Token, body string) answer {
		t.Helper()
		a, err := send(client, method, url, fence.Stamp{Token: token}, strings.NewReader(body))
		if err != nil || a.String() != want {
			t.Fatalf("%s %s with token %d is answered %v, %v, want %s\n%s", method, url, token, a, err, want, a.body)
		}
		return a
	}
	const gate = "http://127.0.0.1:8080"

	if code := command("fencegate").Wait(); code != 66 {
		t.Errorf("without a ledger fencegate ends with %d, want 66", code)
	}
	if code := command("init").Wait(); code != 0 {
		t.Fatalf("init ends with %d", code)
	}
	store := runNginx()
	awaitStatus(t, store, client, storeURL+"/nothing", http.StatusNotFound)
	server := command("fencegate", "--settle=100ms") // after a first start nothing may begin for as long
	awaitStatus(t, server, client, "http://127.0.0.1:8081/readyz", http.StatusOK)
	if code := run(services["fencegate"].Healthcheck.Test[1:]...).Wait(); code != 0 {
		t.Errorf("the health check ends with %d", code)
	}
	says("201", "PUT", gate+report, 34, "from B")
	says("412 stale_token", "PUT", gate+report, 33, "from A, late")
	for _, url := range []string{gate, storeURL} {
		if a := says("200", "GET", url+report, 0, ""); a.body != "from B" {
			t.Errorf("%s holds %q", url, a.body)
		}
	}
	says("204", "DELETE", gate+report, 35, "")
	says("404", "GET", gate+report, 0, "")
	store.Signal(syscall.SIGTERM)
	store.Wait()
	says("502 upstream_unreachable", "PUT", gate+report, 35, "nobody there")
	server.Signal(syscall.SIGTERM)
	if code := server.Wait(); code != 0 {
		t.Errorf("TERM ends fencegate with %d", code)
	}
}
