package integration

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

const (
	serveUnit = "fencegate.service"
	initUnit  = "fencegate-init.service"
)

// unit is a systemd unit: what is set in a section, in order, as "Service.User".
// An empty assignment is kept as one.
type unit map[string][]string

func readUnit(t testing.TB, name string) unit {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "integration/deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return parseUnit(string(text))
}

func parseUnit(text string) unit {
	u := unit{}
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		u[section+"."+key] = append(u[section+"."+key], value)
	}
	return u
}

// one returns the value of a key of the service that is set once.
func (u unit) one(key string) string {
	if values := u["Service."+key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// hardened are the settings that both units must have. That every key exists,
// and how much is left open, systemd itself is asked.
var hardened = map[string]string{
	"DynamicUser": "yes", "StateDirectory": "fencegate/state fencegate/data", "StateDirectoryMode": "0700", "UMask": "0077",
	"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
	"MemoryDenyWriteExecute": "yes", "SystemCallArchitectures": "native",
}

// unitFaults says what is unsafe in the unit that serves and the one that makes
// the ledger.
func unitFaults(serve, make unit) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for name, u := range map[string]unit{serveUnit: serve, initUnit: make} {
		for _, key := range slices.Sorted(maps.Keys(hardened)) {
			if got := u.one(key); got != hardened[key] {
				fault("%s: %s=%s, want %s", name, key, got, hardened[key])
			}
		}
		if caps, ok := u["Service.CapabilityBoundingSet"]; !ok || !slices.Equal(caps, []string{""}) {
			fault("%s: it keeps capabilities", name)
		}
	}
	command := serve.one("ExecStart")
	if strings.Contains(command, "init") || !strings.Contains(command, " serve ") {
		fault("ExecStart=%s: a start that makes the ledger replaces a lost one by an empty one", command)
	}
	if len(make["Install.WantedBy"])+len(make["Install.RequiredBy"]) > 0 || make.one("Restart") != "" || make.one("Type") != "oneshot" {
		fault("%s would make a ledger by itself", initUnit)
	}
	for _, key := range []string{"Unit.Requires", "Unit.Wants", "Unit.BindsTo"} {
		if strings.Contains(strings.Join(serve[key], " "), initUnit) {
			fault("%s has %s make a ledger at each start", serveUnit, initUnit)
		}
	}
	if serve.one("User") == "" || serve.one("User") != make.one("User") {
		fault("the ledger is made by %q and used by %q", make.one("User"), serve.one("User"))
	}
	for _, flag := range []string{"--state /var/lib/", "--upstream dir:/var/lib/"} {
		_, after, _ := strings.Cut(command, flag)
		dir, _, _ := strings.Cut(after, " ")
		if !slices.Contains(strings.Fields(serve.one("StateDirectory")), dir) {
			fault("%s%s is not among the directories that it may write", flag, dir)
		}
	}
	if serve.one("Restart") != "on-failure" || serve.one("RestartPreventExitStatus") != "64 65 66 71 73 78" {
		fault("it starts again where that cannot help, or does not where it can: %s, not after %s", serve.one("Restart"), serve.one("RestartPreventExitStatus"))
	}
	drain := 30 * time.Second
	if m := drainFlag.FindStringSubmatch(command); m != nil {
		drain, _ = time.ParseDuration(m[1])
	}
	if patience, err := time.ParseDuration(serve.one("TimeoutStopSec")); err != nil || patience <= drain {
		fault("TimeoutStopSec=%s, but requests in progress get %s", serve.one("TimeoutStopSec"), drain)
	}
	return faults
}

var drainFlag = regexp.MustCompile(`--drain[ =](\S+)`)

func TestUnitIsSafe(t *testing.T) {
	for _, fault := range unitFaults(readUnit(t, serveUnit), readUnit(t, initUnit)) {
		t.Error(fault)
	}
}

func TestUnitFaultsAreFound(t *testing.T) {
	for _, c := range []struct{ unit, old, new, want string }{
		{serveUnit, "serve --upstream", "serve --init --upstream", "replaces a lost one"},
		{serveUnit, "After=network.target", "Requires=fencegate-init.service", "at each start"},
		{initUnit, "[Service]", "[Install]\nWantedBy=multi-user.target\n[Service]", "by itself"},
		{initUnit, "Type=oneshot", "Type=oneshot\nRestart=on-failure", "by itself"},
		{initUnit, "User=fencegate", "User=root", `made by "root"`},
		{serveUnit, "CapabilityBoundingSet=", "CapabilityBoundingSet=CAP_CHOWN", "keeps capabilities"},
		{serveUnit, "CapabilityBoundingSet=", "", "keeps capabilities"},
		{serveUnit, "ProtectSystem=strict", "ProtectSystem=full", "ProtectSystem=full"},
		{initUnit, "StateDirectoryMode=0700", "StateDirectoryMode=0755", "StateDirectoryMode=0755"},
		{serveUnit, "--state /var/lib/fencegate/state", "--state /var/lib/elsewhere", "not among the directories"},
		{serveUnit, "dir:/var/lib/fencegate/data", "dir:/srv", "not among the directories"},
		{serveUnit, "71 73 78", "73 78", "starts again where"},
		{serveUnit, "Restart=on-failure", "Restart=always", "starts again where"},
		{serveUnit, "TimeoutStopSec=40s", "TimeoutStopSec=30s", "in progress get 30s"},
		{serveUnit, "127.0.0.1:8081\n", "127.0.0.1:8081 --drain 1m\n", "in progress get 1m"},
	} {
		text, err := os.ReadFile(filepath.Join(top, "integration/deploy", c.unit))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.old) {
			t.Errorf("%s has no %q", c.unit, c.old)
			continue
		}
		units := map[string]unit{serveUnit: readUnit(t, serveUnit), initUnit: readUnit(t, initUnit)}
		units[c.unit] = parseUnit(strings.Replace(string(text), c.old, c.new, 1))
		if got := strings.Join(unitFaults(units[serveUnit], units[initUnit]), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q for %q: got %q, want %q", c.new, c.old, got, c.want)
		}
	}
}

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
	got := strings.Join(traceFaults(t, tight, string(trace)+"1 mmap(NULL, 4096, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE, -1, 0) = 0x1\n"), "\n")
	for _, want := range []string{"openat2 ", "renameat ", "fdatasync ", "AF_INET ", "PROT_EXEC"} {
		if !strings.Contains(got, want) {
			t.Errorf("a unit that is too tight is found to forbid only %q, not %s", got, want)
		}
	}
}

var (
	traceCall   = regexp.MustCompile(`(?m)^\d+ +([a-z0-9_]+)\(`)
	traceSocket = regexp.MustCompile(`(?m)^\d+ +socket\((AF_[A-Z0-9]+)`)
	traceMemory = regexp.MustCompile(`(?m)^\d+ +(?:mmap|mprotect|pkey_mprotect)\(.*PROT_WRITE\|PROT_EXEC.*$`)
)

// traceFaults returns what a traced program did that a unit forbids.
func traceFaults(t testing.TB, u unit, trace string) (faults []string) {
	t.Helper()
	allowed := allowedCalls(t, u)
	calls := map[string]bool{}
	for _, m := range traceCall.FindAllStringSubmatch(trace, -1) {
		calls[m[1]] = true
	}
	if len(calls) < 10 {
		t.Fatalf("the trace tells of %d different calls only", len(calls))
	}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		if !allowed[call] {
			faults = append(faults, call+" is called, and the filter forbids it")
		}
	}
	families := strings.Fields(u.one("RestrictAddressFamilies"))
	for _, m := range traceSocket.FindAllStringSubmatch(trace, -1) {
		if fault := m[1] + " is used, and the unit forbids it"; !slices.Contains(families, m[1]) && !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	if line := traceMemory.FindString(trace); line != "" {
		faults = append(faults, "memory is made writable and executable: "+line)
	}
	return faults
}

// allowedCalls returns what SystemCallFilter lets through: its lines in order,
// one that begins with ~ takes away all that it names.
func allowedCalls(t testing.TB, u unit) map[string]bool {
	t.Helper()
	allowed := map[string]bool{}
	for _, line := range u["Service.SystemCallFilter"] {
		names, takesAway := strings.CutPrefix(line, "~")
		for _, name := range strings.Fields(names) {
			for _, call := range callsOf(t, name) {
				allowed[call] = !takesAway
			}
		}
	}
	return allowed
}

// callsOf returns the calls of a set such as @system-service.
func callsOf(t testing.TB, set string) (calls []string) {
	t.Helper()
	if !strings.HasPrefix(set, "@") {
		return []string{set}
	}
	out, err := exec.Command("systemd-analyze", "syscall-filter", "--no-pager", set).Output()
	if err != nil {
		t.Fatalf("systemd-analyze syscall-filter %s: %v; it is in the package systemd: run .ci/setup", set, err)
	}
	for _, line := range nonEmpty(string(out))[1:] {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			calls = append(calls, callsOf(t, line)...)
		}
	}
	return calls
}
