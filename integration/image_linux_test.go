package integration

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// image is what the Dockerfile makes: files, and how to run them.
type image struct {
	root       string
	uid, gid   uint32
	volumes    []string
	entrypoint []string
	cmd        []string
	health     []string
}

// buildImage does what the Dockerfile says, without an engine: this machine
// stands in for the stage that compiles, in its own mount namespace.
func buildImage(t testing.TB) image {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root may mount and change owners: run this as root, or with -short")
	}
	stages := dockerfile(t)
	dir := t.TempDir()
	roots := map[string]string{}
	for i, s := range stages {
		root := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		buildStage(t, s, root, roots)
		roots[s.name] = root
	}
	final := stages[len(stages)-1]
	img := image{root: filepath.Join(dir, fmt.Sprint(len(stages)-1))}
	user, _ := final.last("USER")
	img.uid, img.gid = ownerOf(t, user.rest)
	for name, list := range map[string]*[]string{"VOLUME": &img.volumes, "ENTRYPOINT": &img.entrypoint, "CMD": &img.cmd, "HEALTHCHECK": &img.health} {
		i, _ := final.last(name)
		words, err := i.list()
		if err != nil {
			t.Fatal(err)
		}
		*list = words
	}
	return img
}

func ownerOf(t testing.TB, pair string) (uid, gid uint32) {
	t.Helper()
	user, group, _ := strings.Cut(pair, ":")
	u, err := strconv.ParseUint(user, 10, 32)
	g, err2 := strconv.ParseUint(group, 10, 32)
	if err != nil || err2 != nil {
		t.Fatalf("owner %q: expected two numbers", pair)
	}
	return uint32(u), uint32(g)
}

// buildStage carries out one stage in root.
func buildStage(t testing.TB, s stage, root string, roots map[string]string) {
	t.Helper()
	workdir := "/"
	for _, i := range s.steps {
		switch i.name {
		case "WORKDIR":
			workdir = path.Join(workdir, i.rest)
			if err := os.MkdirAll(root+workdir, 0o755); err != nil {
				t.Fatal(err)
			}
		case "COPY":
			from := top
			if name, ok := i.flags["from"]; ok {
				from = roots[name]
			}
			copyIn(t, i, from, root, workdir)
		case "RUN":
			runStep(t, i, root, workdir)
		case "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD":
		default:
			t.Fatalf("Dockerfile:%d: this test does not know what %s does", i.line, i.name)
		}
	}
}

// copyIn is COPY: a directory's content, or files, with the owner it names.
func copyIn(t testing.TB, i instruction, from, root, workdir string) {
	t.Helper()
	words := strings.Fields(i.rest)
	sources, target := words[:len(words)-1], words[len(words)-1]
	asDir := strings.HasSuffix(target, "/") || len(sources) > 1
	if !path.IsAbs(target) {
		target = path.Join(workdir, target)
	}
	uid, gid := uint32(0), uint32(0)
	if owner, ok := i.flags["chown"]; ok {
		uid, gid = ownerOf(t, owner)
	}
	for _, source := range sources {
		to, source := filepath.Join(root, target), filepath.Join(from, source)
		if _, err := os.Stat(source); err != nil && i.flags["from"] != "" {
			// What the stage did not make it has from its base image, which is
			// this machine here.
			source = strings.TrimPrefix(source, from)
		}
		info, err := os.Stat(source)
		if err != nil {
			t.Fatalf("Dockerfile:%d: %v", i.line, err)
		}
		parent := to
		switch {
		case info.IsDir():
			source += "/."
		case asDir:
			to += "/"
		default:
			parent = filepath.Dir(to)
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-rL", "--preserve=mode", source, to).CombinedOutput(); err != nil {
			t.Fatalf("Dockerfile:%d: %v\n%s", i.line, err, out)
		}
		if uid == 0 && gid == 0 {
			continue
		}
		err = filepath.WalkDir(to, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(name, int(uid), int(gid))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// base are the directories that a stage with tools has from this machine. They
// can be read only, so that no step changes the machine of whoever tests.
var base = []string{"/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", "/var"}

const stepScript = `set -e
root=$1 workdir=$2 step=$3; shift 3
mount --make-rprivate /
for dir; do
	mkdir -p "$root$dir"; mount --bind "$dir" "$root$dir"
	case " $KEPT " in *" $dir "*) ;; *) mount -o remount,bind,ro "$root$dir" ;; esac
done
exec chroot "$root" /bin/sh -ec "cd $workdir; $step"
`

// runStep is RUN. Modules and compiled packages come from and go to the caches
// of whoever tests, as with an engine's cache mounts.
func runStep(t testing.TB, i instruction, root, workdir string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	places := strings.Fields(string(out))
	goroot, caches := places[0], append(places[1:], "/dev", "/proc", "/tmp")
	dirs := []string{goroot}
	for _, dir := range base {
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	// Parents first, or they would hide what was mounted below them.
	dirs = append(dirs, caches...)
	slices.Sort(dirs)
	cmd := exec.Command("bash", append([]string{"-c", stepScript, "bash", root, workdir, i.rest}, dirs...)...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(goroot, "bin")+":/usr/sbin:/usr/bin:/sbin:/bin",
		"KEPT="+strings.Join(caches, " "), "GOTOOLCHAIN=local", "TMPDIR=/tmp", "GOMODCACHE="+places[1], "GOCACHE="+places[2])
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("Dockerfile:%d: RUN %s: %v\n%s", i.line, i.rest, err, out)
	}
}
