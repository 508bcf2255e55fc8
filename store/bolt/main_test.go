package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fencegate/fence"
)

// Tests that need a process of their own run this binary again with the name
// of a helper and a directory in the environment.
const (
	helperEnv = "FENCEGATE_BOLT_HELPER"
	dirEnv    = "FENCEGATE_BOLT_DIR"
)

var helpers = map[string]func(dir string){
	"hold":          helpHold,
	"commit":        helpCommit,
	"faults":        helpFaults,
	"repair":        helpRepair,
	"create":        helpCreate,
	"create-nobody": func(dir string) { becomeNobody(); helpCreate(dir) },
	"open-nobody":   func(dir string) { becomeNobody(); helpOpen(dir) },
}

func TestMain(m *testing.M) {
	if help := helpers[os.Getenv(helperEnv)]; help != nil {
		// strace counts system calls by thread.
		runtime.LockOSThread()
		help(os.Getenv(dirEnv))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helper is a running helper process, which ends with the test at the latest.
type helper struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// runHelper starts a helper, under the command in wrap if there is one.
func runHelper(t *testing.T, name, dir string, wrap ...string) *helper {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrap, self)
	if args[0], err = exec.LookPath(args[0]); err != nil {
		t.Fatalf("this test needs %v", err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	// The race detector otherwise sleeps a second before it exits.
	cmd.Env = append(os.Environ(), helperEnv+"="+name, dirEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(h.kill)
	return h
}

func (h *helper) kill() {
	if h.ProcessState == nil {
		_ = h.Process.Kill()
		_ = h.Wait()
	}
}

// line returns the next line of the helper's output, "" at its end.
func (h *helper) line() string {
	h.lines.Scan()
	return h.lines.Text()
}

// rest returns all further output and waits for the end of the helper.
func (h *helper) rest() string {
	var b strings.Builder
	for h.lines.Scan() {
		fmt.Fprintln(&b, h.lines.Text())
	}
	_ = h.Wait()
	return b.String()
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		os.Exit(1)
	}
}

// class names the kind of an error in a helper's output.
func class(err error) string {
	var open *fence.OpenError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, fence.ErrLedgerFull):
		return "full"
	case errors.As(err, &open):
		for name, is := range map[string]error{"exists": fence.ErrLedgerExists, "create": fence.ErrLedgerCreate,
			"permission": os.ErrPermission} {
			if errors.Is(err, is) {
				return name
			}
		}
		return "open"
	case errors.Is(err, fence.ErrLedgerSuspect):
		return "suspect"
	default:
		return "other"
	}
}

func helpStart(dir string) *Ledger {
	l, err := Open(context.Background(), dir, Options{})
	fatal(err)
	_, err = l.Start(context.Background(), time.Second)
	fatal(err)
	return l
}

// helpHold holds the ledger until standard input ends.
func helpHold(dir string) {
	l := helpStart(dir)
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fatal(l.Close(true))
}

// helpCommit commits batches for ever and prints the number of each after it
// was acknowledged, going on from where the ledger is.
func helpCommit(dir string) {
	l := helpStart(dir)
	var last [1]fence.Row
	fatal(l.Read([]fence.Key{row("/last", 1, "").Key}, last[:]))
	for i := last[0].Token + 1; ; i++ {
		fatal(l.Commit(context.Background(), numbered(i)))
		fmt.Println(i)
	}
}

// numbered is a batch that touches pages all over the file.
func numbered(i fence.Token) []fence.Row {
	batch := []fence.Row{row("/last", i, "")}
	for j := range fence.Token(5) {
		r := row(fmt.Sprintf("/%x/%d", (i*7919+j)%256, i*10+j), i, "owner")
		r.Kind = fence.Kind(j % 2)
		batch = append(batch, r)
	}
	return batch
}

// helpFaults starts, commits twice, repeats what found no space, and prints
// what became of it. The first fdatasync of the second commit is the fifth.
func helpFaults(dir string) {
	l := helpStart(dir)
	for i := fence.Token(1); i <= 2; i++ {
		err := l.Commit(context.Background(), numbered(i))
		fmt.Println("commit", class(err))
		if errors.Is(err, fence.ErrLedgerFull) {
			fmt.Println("again", class(l.Commit(context.Background(), numbered(i))))
		}
	}
	fmt.Println("read", class(l.Read([]fence.Key{row("/last", 1, "").Key}, make([]fence.Row, 1))))
	fmt.Println("close", class(l.Close(true)))
}

// helpRepair repairs a suspect ledger.
func helpRepair(dir string) {
	r, err := MakeSound(context.Background(), dir, soon, RepairOptions{})
	fatal(err)
	fmt.Println("repaired", r.Needed)
}

func helpCreate(dir string) {
	_, err := Create(context.Background(), dir, Options{})
	fmt.Println(class(err), err)
}

func helpOpen(dir string) {
	_, err := Open(context.Background(), dir, soon)
	fmt.Println(class(err), err)
}

func becomeNobody() {
	const nobody = 65534
	fatal(syscall.Setgroups(nil))
	fatal(syscall.Setgid(nobody))
	fatal(syscall.Setuid(nobody))
}

// needRoot: where there is no root there is no way to make the condition.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test needs root, to mount a small disk or to become another user; -short leaves it out")
	}
}
