package harness

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestProcessLinesAndExitCodes(t *testing.T) {
	p := Worker(t, "echo", "a", "b")
	p.AwaitLine("hello [a b]")
	p.Send("one")
	p.Send("two")
	if got := p.AwaitLine("got"); got != "got one" {
		t.Errorf("first answer is %q", got)
	}
	if got := p.AwaitLine("got"); got != "got two" {
		t.Errorf("second answer is %q", got)
	}
	p.stdin.Close()
	if code := p.Wait(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if got, want := p.Stdout(), []string{"hello [a b]", "got one", "got two"}; !slices.Equal(got, want) {
		t.Errorf("printed %q, want %q", got, want)
	}

	unfinished := Start(t, "printf", exec.Command("printf", `a\nb`))
	unfinished.Wait()
	if got := unfinished.Stdout(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("a last line without end: got %q", got)
	}

	p = Worker(t, "echo")
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d after TERM, want 143", code)
	}
}

func TestPausedProcessStandsStill(t *testing.T) {
	p := Worker(t, "echo")
	p.AwaitLine("hello")
	p.Pause()
	p.Send("one")
	if states, stopped := threadStates(p.PID()); !stopped || len(p.Stdout()) != 1 {
		t.Errorf("paused, but threads are %v and output is %q", states, p.Stdout())
	}
	p.Resume()
	p.AwaitLine("got one")

	p.Pause()
	p.Kill()
	if code := p.Wait(); code != 137 {
		t.Errorf("exit code %d of a killed process, want 137", code)
	}
}

func TestProcessFailuresAreTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		test  func(testing.TB)
		wants []string
	}{
		{"line that never comes", func(t testing.TB) {
			p := Start(t, "talker", exec.Command("sh", "-c", "echo one; echo two >&2"))
			p.AwaitLine("three")
		}, []string{`talker printed no line with "three": it ended before`, "exit status 0", "out| one", "err| two"}},
		{"race in a child", func(t testing.TB) { Worker(t, "racy").Wait() }, []string{"racy has a data race"}},
		{"killing the dead", func(t testing.TB) {
			p := Start(t, "gone", exec.Command("true"))
			p.Wait()
			p.Kill()
		}, []string{"gone gets signal killed but has ended"}},
		{"no such program", func(t testing.TB) { Start(t, "nothing", exec.Command("/nonexistent")) }, []string{"nothing does not start"}},
		{"no such worker", func(t testing.TB) { Worker(t, "nobody") }, []string{`no worker "nobody"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := failed(t, c.test)
			for _, want := range c.wants {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want %q in it", said, want)
				}
			}
		})
	}
}

func TestNothingOutlivesATest(t *testing.T) {
	var child int
	if said := failed(t, func(t testing.TB) {
		p := Worker(t, "parent")
		fmt.Sscanf(p.AwaitLine("child"), "child %d", &child)
		p.PID()
	}); said != "" {
		t.Fatal(said)
	}
	awaitGone(t, child)
}

// awaitGone waits until a process has ended; a zombie that nobody fetches has.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	if pid == 0 {
		t.Fatal("no process to wait for")
	}
	Eventually(t, "the child's end", func() (any, bool) {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return nil, true
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return string(stat), strings.Contains(string(stat), ") Z ")
	})
}
