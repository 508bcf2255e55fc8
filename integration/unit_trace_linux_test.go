package integration

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	traceCall   = regexp.MustCompile(`(?m)^\d+ +([a-z0-9_]+)\(`)
	traceSocket = regexp.MustCompile(`(?m)^\d+ +socket\((AF_[A-Z0-9]+)`)
	traceMemory = regexp.MustCompile(`(?m)^\d+ +(?:mmap|mprotect|pkey_mprotect)\(.*PROT_WRITE\|PROT_EXEC.*$`)
	// Among them a write to anywhere but its own directories.
	traceRefused = regexp.MustCompile(`(?m)^.* = -1 (?:EROFS|EACCES) .*$`)
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
	if line := traceRefused.FindString(trace); line != "" {
		faults = append(faults, "it tries what it may not: "+line)
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
