package dir

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// Some tests need a process of their own: to be killed, to be traced, or to be
// another user. It is the test binary again, told by the environment what to do.
const (
	childRoot = "DIR_TEST_ROOT" // serve this directory
	childLoop = "DIR_TEST_LOOP" // PUT versions without end, instead of a script
	childUser = "DIR_TEST_USER" // become this user first
	childDAV  = "DIR_TEST_DAV"  // under WebDAV
)

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		if err := runChild(root); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runChild(root string) error {
	if user := os.Getenv(childUser); user != "" {
		id, err := strconv.Atoi(user)
		if err != nil {
			return err
		}
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setresgid(id, id, id); err != nil {
			return err
		}
		if err := syscall.Setresuid(id, id, id); err != nil {
			return err
		}
	}
	// On one thread, since strace counts calls by thread.
	runtime.LockOSThread()
	d, err := Open(root, Options{WebDAV: os.Getenv(childDAV) != ""})
	if err != nil {
		return err
	}
	fmt.Println("open")
	s := storage{Dir: d, root: root}
	if os.Getenv(childLoop) != "" {
		return putLoop(s)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		method, rest, _ := strings.Cut(lines.Text(), " ")
		path, body, _ := strings.Cut(rest, " ")
		if method == "WARNINGS" {
			fmt.Println(strings.Join(d.Warnings(), "; "))
			continue
		}
		r := request(method, path, body)
		if method == "COPY" || method == "MOVE" {
			r = request(method, path, "", "Destination: "+body)
		}
		res, o, err := s.serve(r)
		if err != nil {
			fmt.Printf("%v: %v\n", o, err)
			continue
		}
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		status := strconv.Itoa(res.StatusCode)
		if res.StatusCode == http.StatusMultiStatus { // of the only property, on one line
			_, rest, _ := strings.Cut(string(answer), "<D:status>HTTP/1.1 ")
			inner, _, _ := strings.Cut(rest, " ")
			status, answer = status+" "+inner, nil
		}
		fmt.Println(strings.TrimSpace(status + " " + strings.ReplaceAll(string(answer), "\n", " ")))
	}
	return d.Close()
}

// putLoop replaces /d/object by one version after the other and prints the
// number of each once it is acknowledged.
func putLoop(s storage) error {
	for n := 0; ; n++ {
		body := version(n)
		if res, _, err := s.serve(request("PUT", "/d/object", string(body))); err != nil || res.StatusCode >= 300 {
			return fmt.Errorf("PUT: %v %v", res, err)
		}
		fmt.Println(n)
	}
}

// version returns the content of version n, whose size and every byte follow
// from n.
func version(n int) []byte {
	head := strconv.Itoa(n) + "\n"
	return append([]byte(head), bytes.Repeat([]byte{byte(n)}, n*7919%300_000)...)
}

// whichVersion returns the number of a whole version, -1 if it is none.
func whichVersion(content []byte) int {
	head, _, _ := bytes.Cut(content, []byte{'\n'})
	n, err := strconv.Atoi(string(head))
	if err != nil || !bytes.Equal(content, version(n)) {
		return -1
	}
	return n
}

// child returns the command that serves root, under a wrapper such as strace
// if one is given.
func child(t *testing.T, root string, wrapper ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(wrapper, self)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	// The race detector would otherwise wait a second at exit.
	cmd.Env = append(os.Environ(), childRoot+"="+root, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// script runs requests ("METHOD path body", or "MOVE path destination") in a
// child and returns its answers.
func script(t *testing.T, cmd *exec.Cmd, requests ...string) (answers []string) {
	t.Helper()
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	answers = strings.Split(strings.TrimSpace(string(out)), "\n")
	if answers[0] != "open" || len(answers) != 1+len(requests) {
		t.Fatalf("%v: unexpected output:\n%s", cmd.Args, out)
	}
	return answers[1:]
}

// needRoot fails, rather than skips, a test that would otherwise prove nothing.
func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs root, for mounts or other users")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root, for mounts or other users; run it with -short to leave it out")
	}
}
