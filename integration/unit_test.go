package integration

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
