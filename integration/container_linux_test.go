package integration

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// container runs an image as an engine would with --read-only, --cap-drop ALL
// and no-new-privileges.
type container struct {
	*cell
	img     image
	volumes map[string]string
}

const containerScript = `root=$1; shift
mount --bind "$root" "$root"
mount -o remount,bind,ro,nosuid,nodev "$root"
while [ $# -gt 0 ]; do mount --bind -o nosuid,nodev,noexec "$1" "$root$2"; shift 2; done
mount -t proc proc "$root/proc"`

// newContainer prepares one from a copy of the image, with new volumes, which
// take over owner and mode of the directories that they cover.
func newContainer(t testing.TB, img image) *container {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command("cp", "-a", img.root, root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	img.root = root
	if err := os.Mkdir(filepath.Join(img.root, "proc"), 0o755); err != nil { // an engine makes it
		t.Fatal(err)
	}
	c := &container{img: img, volumes: map[string]string{}}
	args := []string{img.root}
	for _, at := range img.volumes {
		info, err := os.Stat(filepath.Join(img.root, at))
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		dir := filepath.Join(t.TempDir(), "volume")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, int(owner.Uid), int(owner.Gid)), os.Chmod(dir, info.Mode().Perm())); err != nil {
			t.Fatal(err)
		}
		c.volumes[at] = dir
		args = append(args, dir, at)
	}
	c.cell = newCell(t, containerScript, args...)
	return c
}

// run starts the image with a command, which replaces its CMD.
func (c *container) run(command ...string) *harness.Process {
	c.t.Helper()
	return c.exec(append(slices.Clone(c.img.entrypoint), command...)...)
}

func (c *container) exec(argv ...string) *harness.Process {
	c.t.Helper()
	return c.start("container", c.img.root, c.img.uid, c.img.gid, argv...)
}

func (c *container) healthy() int {
	c.t.Helper()
	return c.exec(c.img.health...).Wait()
}

// serve starts the image as it is and waits until it is ready.
func (c *container) serve() *harness.Process {
	c.t.Helper()
	p := c.run(c.img.cmd...)
	awaitStatus(c.t, p, c.client(), "http://127.0.0.1:8081/readyz", http.StatusOK)
	return p
}

// says sends a request from within and compares the answer.
func (c *container) says(want, method, path string, token fence.Token, body string) answer {
	c.t.Helper()
	a, err := send(c.client(), method, "http://127.0.0.1:8080"+path, fence.Stamp{Token: token}, strings.NewReader(body))
	if err != nil || a.String() != want {
		c.t.Fatalf("%s %s with token %d is answered %v, %v, want %s\n%s", method, path, token, a, err, want, a.body)
	}
	return a
}

// stops sends TERM and checks that the end is in order.
func (c *container) stops(p *harness.Process) {
	c.t.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		c.t.Errorf("TERM ends it with %d", code)
	}
}

// tree lists the files below dir, and the directories that hold none.
func tree(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries, err := os.ReadDir(filepath.Join(dir, name)); d.IsDir() && (err != nil || len(entries) > 0) {
			return err
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What the Dockerfile's own commands make of the files that it takes, and how
// that lives. No engine is needed for it.
func TestContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and needs root")
	}
	t.Parallel()
	img := buildImage(t)
	t.Run("image", func(t *testing.T) { t.Parallel(); imageIsBare(t, img) })
	t.Run("life", func(t *testing.T) { t.Parallel(); containerLives(t, img) })
	t.Run("compose", func(t *testing.T) { t.Parallel(); composeRuns(t, img) })
	t.Run("unit", func(t *testing.T) { t.Parallel(); unitWorks(t, img) })
}

// imageIsBare checks that the image holds the binary and next to nothing else.
func imageIsBare(t *testing.T, img image) {
	want := []string{"etc/ssl/certs/ca-certificates.crt", "fencegate", "var/lib/fencegate/data", "var/lib/fencegate/state"}
	if got := tree(t, img.root); !slices.Equal(got, want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
	binary, err := elf.Open(filepath.Join(img.root, "fencegate"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary asks for a dynamic loader, which the image lacks")
		}
	}
	if needed, err := binary.DynString(elf.DT_NEEDED); len(needed) != 0 {
		t.Errorf("the binary needs %q, %v", needed, err)
	}
	if binary.Section(".symtab") != nil || binary.Section(".debug_info") != nil || binary.Section(".zdebug_info") != nil {
		t.Error("the binary is not stripped")
	}
	if img.uid == 0 || img.gid == 0 {
		t.Errorf("it runs as %d:%d", img.uid, img.gid)
	}
	for _, volume := range img.volumes {
		info, err := os.Stat(filepath.Join(img.root, volume))
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != img.uid || owner.Gid != img.gid || info.Mode().Perm() != 0o700 {
			t.Errorf("%s is of %d:%d and %v, want its user's and for nobody else", volume, owner.Uid, owner.Gid, info.Mode())
		}
	}
}

// containerLives is a container's life on a read-only root, as a user who can do
// nothing: it does not start without a ledger, the ledger is made once, the
// image's own command serves, stops and serves again, and nothing is written but
// to the volumes.
func containerLives(t *testing.T, img image) {
	c := newContainer(t, img)
	shipped := tree(t, c.img.root)

	if code := c.run(img.cmd...).Wait(); code != 66 {
		t.Errorf("a start without a ledger ends with %d, want 66", code)
	}
	for at, volume := range c.volumes {
		if files := tree(t, volume); slices.Contains(files, "ledger.db") {
			t.Errorf("a start without a ledger leaves %q in %s", files, at)
		}
	}
	const state, data = "/var/lib/fencegate/state", "/var/lib/fencegate/data"
	for _, want := range []int{0, 73} {
		if code := c.run("ledger", "init", "--state", state, "--upstream", "dir:"+data).Wait(); code != want {
			t.Fatalf("ledger init ends with %d, want %d", code, want)
		}
	}
	if code := c.healthy(); code != 1 {
		t.Errorf("before it serves, the health check ends with %d, want 1", code)
	}

	server := c.serve()
	c.isPowerless(server)
	c.says("201", "MKCOL", "/reports", 0, "")
	c.says("201", "PUT", report, 34, "from B")
	c.says("412 stale_token", "PUT", report, 33, "from A, late")
	if a := c.says("200", "GET", report, 0, ""); a.body != "from B" {
		t.Errorf("it holds %q", a.body)
	}
	if code := c.healthy(); code != 0 {
		t.Errorf("the health check ends with %d", code)
	}
	c.stops(server)
	if code := c.healthy(); code != 1 {
		t.Errorf("after the stop the health check ends with %d, want 1", code)
	}

	server = c.serve()
	c.says("412 stale_token", "PUT", report, 33, "from A, later still")
	c.says("204", "PUT", report, 34, "from B, again")
	c.stops(server)

	if err := os.WriteFile(c.path(filepath.Join(c.img.root, "probe")), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("even root may write to the image's files: %v", err)
	}
	if files := tree(t, c.img.root); !slices.Equal(files, shipped) {
		t.Errorf("the image holds %q, it held %q", files, shipped)
	}
	if files := tree(t, c.volumes[state]); !slices.Contains(files, "ledger.db") {
		t.Errorf("the state volume holds %q", files)
	}
	if content := contentIfAny(t, filepath.Join(c.volumes[data], report)); string(content) != "from B, again" {
		t.Errorf("the data volume's file holds %q", content)
	}
}

// isPowerless checks what the kernel says of a process.
func (c *container) isPowerless(p *harness.Process) {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		c.t.Fatal(err)
	}
	const none = "0000000000000000"
	for _, want := range []string{
		fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", c.img.uid),
		fmt.Sprintf("Gid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", c.img.gid),
		"CapInh:\t" + none, "CapPrm:\t" + none, "CapEff:\t" + none, "CapBnd:\t" + none, "CapAmb:\t" + none,
		"NoNewPrivs:\t1\n", "Groups:\t \n",
	} {
		if !strings.Contains(string(status), want) {
			c.t.Errorf("it does not run with %q:\n%s", want, status)
		}
	}
}
