package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fencegate/integration/harness"
)

// cell is a mount and a network namespace, as a container has them. It lives as
// long as the process that holds it.
type cell struct {
	t      testing.TB
	holder *harness.Process
}

// newCell makes namespaces and prepares them with a script, which gets args as
// $1, $2, …
func newCell(t testing.TB, script string, args ...string) *cell {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root may make namespaces: run this as root, or with -short")
	}
	cmd := exec.Command("bash", append([]string{"-c", "set -e\nmount --make-rprivate /\n" + script + "\necho ready\nexec sleep infinity", "bash"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	c := &cell{t, harness.Start(t, "cell", cmd)}
	c.holder.AwaitLine("ready")
	return c
}

// start runs a command in the cell, with root as its root directory, as an
// ordinary user who can gain nothing.
func (c *cell) start(name, root string, uid, gid uint32, argv ...string) *harness.Process {
	c.t.Helper()
	return harness.Worker(c.t, "inmate", append([]string{fmt.Sprint(c.holder.PID()), root, fmt.Sprint(uid), fmt.Sprint(gid)}, argv...)...)
}

// path is where a file of the cell is for us.
func (c *cell) path(name string) string { return fmt.Sprintf("/proc/%d/root%s", c.holder.PID(), name) }

// client connects to what listens in the cell.
func (c *cell) client() *http.Client {
	return &http.Client{Timeout: harness.Patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: c.dial}}
}

// dial opens a connection from within the cell. A socket belongs to the network
// of the thread that opened it.
func (c *cell) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with us
		if err := enter(c.holder.PID(), "net", unix.CLONE_NEWNET); err != nil {
			done <- result{nil, err}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// enter takes this thread into a namespace of another process.
func enter(pid int, kind string, flag int) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), flag); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func init() { workers["inmate"] = runInmate }

// runInmate becomes the program args[4] in the cell of process args[0], with
// root directory args[1], user args[2] and group args[3].
func runInmate(args []string) int {
	runtime.LockOSThread()
	fmt.Fprintln(os.Stderr, "inmate:", becomeInmate(args))
	return 125
}

func becomeInmate(args []string) error {
	pid, err := strconv.Atoi(args[0])
	uid, err2 := strconv.Atoi(args[2])
	gid, err3 := strconv.Atoi(args[3])
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if err := enter(pid, "net", unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // setns demands it of a thread
		return err
	}
	if err := enter(pid, "mnt", unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := errors.Join(unix.Chroot(args[1]), unix.Chdir("/")); err != nil {
		return err
	}
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && err != unix.EINVAL { // one that this kernel lacks
			return fmt.Errorf("capability %d: %w", capability, err)
		}
	}
	if err := errors.Join(
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid),
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0), // another user's id has cleared it
	); err != nil {
		return err
	}
	return syscall.Exec(args[4], args[4:], []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
