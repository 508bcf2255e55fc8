package harness

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(fakeServe(os.Args[2:]))
	}
	Main(m, Workers{"echo": echo, "racy": racy, "parent": parent})
}

// echo answers each line until its input ends, then exits with 3.
func echo(args []string) int {
	fmt.Println("hello", args)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		fmt.Println("got", input.Text())
	}
	return 3
}

// racy says what the race detector says.
func racy([]string) int {
	fmt.Fprintln(os.Stderr, "WARNING: DATA RACE")
	return 0
}

// parent starts a child of its own and waits to be killed.
func parent(args []string) int {
	child := exec.Command("sleep", "1000")
	if len(args) > 0 && args[0] == "own-group" {
		ownGroup(child)
	}
	if err := spawn(child); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("child", child.Process.Pid)
	child.Wait()
	return 0
}

// A failing stands for a test that fails, so that the harness can be seen to
// fail one.
type failing struct {
	testing.TB
	said     string
	cleanups []func()
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
func (f *failing) Fatal(args ...any)                 { f.Fatalf("%s", fmt.Sprint(args...)) }
func (f *failing) Errorf(format string, args ...any) { f.said += fmt.Sprintf(format, args...) + "\n" }
func (f *failing) Logf(format string, args ...any)   { f.Errorf(format, args...) }
func (f *failing) Failed() bool                      { return f.said != "" }
func (f *failing) Cleanup(c func())                  { f.cleanups = append(f.cleanups, c) }

// failed runs test to its end, clean-up included, and returns what it said.
func failed(t *testing.T, test func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, c := range f.cleanups {
				c()
			}
		}()
		test(f)
	}()
	<-done
	return f.said
}
