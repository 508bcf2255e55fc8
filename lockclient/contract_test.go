package lockclient

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What CONTRACT.md tells others to type works: the commands of its first block,
// in order, each answered with "ok".
func TestTheContractsCommands(t *testing.T) {
	s := startRedis(t)
	page, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```sh\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no commands")
	}
	block = strings.ReplaceAll(block, "redis-cli", "redis-cli -s "+s.rdb.Options().Addr)
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", "owner=o1 fresh=o2 highest=7\n"+block)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := strings.Count("\n"+string(out), "\nok\n"), strings.Count(block, "redis-cli"); got != want || want < 7 {
		t.Errorf("%d of %d commands were answered with ok:\n%s", got, want, out)
	}
	for _, k := range s.rdb.Keys(t.Context(), "*").Val() {
		if k != "{fencegate}:token" {
			t.Errorf("left: %s", k)
		}
	}
}

// Every script is in the page with its name, and says what its keys are.
func TestTheContractNamesEveryScript(t *testing.T) {
	page, _ := os.ReadFile("CONTRACT.md")
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".lua") {
			continue
		}
		n++
		text, _ := os.ReadFile(f.Name())
		if !strings.Contains(string(page), "| `"+f.Name()+"`") || !strings.Contains(string(text), "-- ARGV[1]") {
			t.Errorf("%s is not described", f.Name())
		}
	}
	if n != 5 {
		t.Errorf("%d scripts", n)
	}
}
