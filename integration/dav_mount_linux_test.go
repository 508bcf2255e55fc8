package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fencegate/integration/harness"
)

// mountScript mounts $1 at $2/m, with the lines $3 in davfs2's configuration, runs
// the commands $4 there and unmounts it. All that it starts ends with it.
const mountScript = `
set -e
mkdir "$2/m" "$2/cache"
chown root:davfs2 "$2/cache"
chmod 1770 "$2/cache"
printf 'cache_dir %s/cache\nask_auth 0\ndelay_upload 0\n%s\n' "$2" "$3" > "$2/conf"
mount.davfs -o "conf=$2/conf" "$1" "$2/m" < /dev/null
cd "$2/m"
eval "$4" 2>&1 || echo "failed: $?"
cd /
umount -i "$2/m"
while pgrep -x mount.davfs > "$2/daemons"; do sleep 0.02; done # until it has stored all
`

// mounted runs commands in a davfs2 mount of base, and returns what they print.
func mounted(t *testing.T, base, conf, commands string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mount-") // others than root must get in
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := harness.Start(t, "davfs2", exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-c", mountScript, "bash", base+"/", dir, conf, commands))
	if code := p.Wait(); code != 0 {
		t.Fatalf("the mount ends with %d: %q", code, p.Stderr())
	}
	out := ""
	for _, line := range p.Stdout() {
		out += line + "\n"
	}
	return out
}

// A file system is mounted through fencegate. Shown: programs that write files
// are fenced, whether the mount adds the token or something on the way does; a
// stale holder's file stays out of the store.
func TestMountedWebDAV(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Fatalf("a mount needs root and /dev/fuse (%v): provide them, or run this with -short", err)
	}
	t.Parallel()
	store := harness.Apache(t)
	s := davFence(t, store)
	isStored := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(store.Root(), path)); string(got) != want || err != nil && !os.IsNotExist(err) {
			t.Errorf("%s holds %q, %v, want %q\nthe store has\n%s", path, got, err, want, filesOf(t, store))
		}
	}
	// davfs2 takes a lock of the store for each file that it writes, and sends
	// headers of its configuration with that twice.
	const noLocks = "use_locks 0\nadd_header X-Fencing-Token "
	said := mounted(t, s.URL(), noLocks+"7", "mkdir d && echo one > d/a && echo two > d/b && mv d/b d/c && rm d/a && cat d/c && echo done")
	if said != "two\ndone\n" {
		t.Errorf("the commands say %q", said)
	}
	isStored("d/c", "two\n")
	isStored("d/a", "")
	if m := markOf(t, s, "/d/c"); m.Token != "7" {
		t.Errorf("the mark is %+v", m)
	}

	said = mounted(t, withToken(t, s, "8"), "use_locks 1", "mkdir e && echo three > e/b && mv e/b e/c && cat e/c && echo done")
	if said != "three\ndone\n" {
		t.Errorf("with locks the commands say %q", said)
	}
	isStored("e/c", "three\n")

	// The next holder takes all of it.
	asked(t, s.URL(), "200", "POST /.well-known/fencegate/claims\nContent-Type: application/json\n\n"+`{"resource":"/e","token":"9","tree":true}`)
	before := filesOf(t, store)
	const late = "echo late > e/new; rm e/c; mv e/c e/d; mv d/c e/c; mv e late; rm -r e; true"
	t.Logf("the late holder is told %q", mounted(t, withToken(t, s, "8"), "use_locks 1", "mkdir e/dir; "+late))
	t.Logf("and without locks %q", mounted(t, s.URL(), noLocks+"8", "mkdir e/dir; "+late))
	// MKCOL, which destroys nothing, needs none here.
	t.Logf("and without a token %q", mounted(t, s.URL(), "use_locks 0", late))
	if now := filesOf(t, store); now != before {
		t.Errorf("the store holds\n%s\nwant\n%s", now, before)
	}
	if m := s.Metrics(); m.Counter("fencegate_rejections_total", "reason=stale_token") == 0 || m.Counter("fencegate_rejections_total", "reason=token_missing") == 0 {
		t.Error("nothing was refused, so the late holder has tried nothing")
	}
}
