package integration

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// systemd itself reads the units: it knows every key and value, and nothing that
// it could lock is left open by accident.
func TestUnitIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, new string
		ok       bool
	}{
		{"", "", true},
		{"NoNewPrivileges=yes", "NoNewPrivilege=yes", false},
		{"ProtectSystem=strict", "ProtectSystem=tight", false},
		{"@system-service", "@system-services", false},
		{"RestrictNamespaces=yes\n", "", false},
	} {
		dir := t.TempDir()
		// It looks for the program too.
		program := filepath.Join(dir, "fencegate")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{serveUnit, initUnit} {
			text, err := os.ReadFile(filepath.Join(top, "integration/deploy", name))
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			changed = strings.ReplaceAll(changed, "/usr/local/bin/fencegate", program)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		complaint := analyzed(t, "verify", filepath.Join(dir, serveUnit), filepath.Join(dir, initUnit))
		// 20 is an exposure of 2.0 of 10; without any setting it is 9.6.
		complaint += analyzed(t, "security", "--offline=true", "--threshold=20", filepath.Join(dir, serveUnit))
		if (complaint == "") != c.ok {
			t.Errorf("with %q: it says %q, want a complaint: %v", c.new, complaint, !c.ok)
		}
	}
}

// analyzed runs systemd-analyze and returns what it complains of: it also warns
// of keys that it ignores without failing.
func analyzed(t testing.TB, verb string, args ...string) string {
	t.Helper()
	cmd := exec.Command("systemd-analyze", append([]string{verb, "--no-pager"}, args...)...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil && complaint.Len() == 0 {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return complaint.String()
}

// unitWorks runs what the units run, as the user and on the file system that
// systemd gives them, and compares what it asks of the kernel with what the unit
// lets through. What a service may not do does not show until it tries.
func unitWorks(t *testing.T, img image) {
	serve, make := readUnit(t, serveUnit), readUnit(t, initUnit)
	// With DynamicUser the directories are links to where others cannot look.
	c := newCell(t, `
mount -t tmpfs tmpfs /usr/local/bin
cp "$1" /usr/local/bin/fencegate
mount -t tmpfs -o mode=755 tmpfs /var/lib
mkdir -p /var/lib/private/fencegate/state /var/lib/private/fencegate/data /var/lib/fencegate /var/lib/trace
ln -s ../private/fencegate/state ../private/fencegate/data /var/lib/fencegate/
chmod 700 /var/lib/private/fencegate/*
chown "$2:$2" /var/lib/private/fencegate/* /var/lib/trace
mount -o remount,bind,ro /`, filepath.Join(img.root, "fencegate"), fmt.Sprint(img.uid))
	start := func(name string, u unit) *harness.Process {
		t.Helper()
		strace, err := exec.LookPath("strace")
		if err != nil {
			t.Fatal("strace is not installed: run .ci/setup, or apt-get install strace")
		}
		argv := append([]string{strace, "-f", "-o", path.Join("/var/lib/trace", name)}, strings.Fields(u.one("ExecStart"))...)
		return c.start(name, "/", img.uid, img.gid, argv...)
	}
	for i, want := range []int{0, 73} {
		if code := start(fmt.Sprint("init", i), make).Wait(); code != want {
			t.Fatalf("%s ends with %d, want %d", initUnit, code, want)
		}
	}
	server := start("serve", serve)
	client := c.client()
	awaitStatus(t, server, client, "http://127.0.0.1:8081/readyz", http.StatusOK)
	for _, r := range []struct {
		want, method, path, body string
		token                    fence.Token
	}{
		{"201", "MKCOL", "/reports", "", 0},
		{"201", "PUT", report, "small", 34},
		{"204", "PUT", report, strings.Repeat("large ", 1<<20), 34}, // by way of the spool
		{"412 stale_token", "PUT", report, "late", 33},
		{"200", "GET", report, "", 34},
		{"200", "POST", "/.well-known/fencegate/claims", `{"resource":"` + report + `","token":"35"}`, 0},
		{"204", "DELETE", "/reports", "", 36},
		{"404", "GET", report, "", 0},
	} {
		a, err := send(client, r.method, "http://127.0.0.1:8080"+r.path, fence.Stamp{Token: r.token}, strings.NewReader(r.body))
		if err != nil || a.String() != r.want {
			t.Fatalf("%s %s is answered %v, %v, want %s\n%s", r.method, r.path, a, err, r.want, a.body)
		}
	}
	if a, err := send(client, http.MethodGet, "http://127.0.0.1:8081/metrics", fence.Stamp{}, nil); err != nil || a.status != http.StatusOK {
		t.Errorf("/metrics is answered %v, %v", a, err)
	}
	server.Signal(syscall.SIGTERM)
	if code := server.Wait(); code != 0 {
		t.Errorf("TERM ends it with %d", code)
	}
	for name, u := range map[string]unit{"init0": make, "init1": make, "serve": serve} {
		trace, err := os.ReadFile(c.path(path.Join("/var/lib/trace", name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range traceFaults(t, u, string(trace)) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	// Each promise of the unit is one that the trace can break.
	tight := parseUnit("[Service]\nSystemCallFilter=@system-service\nSystemCallFilter=~@file-system @sync\nRestrictAddressFamilies=AF_INET6\n")
	trace, err := os.ReadFile(c.path("/var/lib/trace/serve"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(traceFaults(t, tight, string(trace)+"1 mmap(NULL, 4096, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE, -1, 0) = 0x1\n"+
		"1 openat(AT_FDCWD, \"/tmp/x\", O_RDWR|O_CREAT|O_EXCL, 0600) = -1 EROFS (Read-only file system)\n"), "\n")
	for _, want := range []string{"/tmp/x", "openat2 ", "renameat ", "fdatasync ", "AF_INET ", "PROT_EXEC"} {
		if !strings.Contains(got, want) {
			t.Errorf("a unit that is too tight is found to forbid only %q, not %s", got, want)
		}
	}
}
