package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Debian keeps modules there; what is not named is built in.
const apacheConf = `
ServerRoot %[1]s
ServerName localhost
Listen %[2]s
PidFile %[1]s/pid
%[3]s
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_fs_module /usr/lib/apache2/modules/mod_dav_fs.so
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
MinSpareThreads 1
MaxSpareThreads 64
ErrorLog /dev/stderr
LogLevel notice
LogFormat "%%r" line
CustomLog %[1]s/access.log line
DocumentRoot %[1]s/root
DavLockDB %[1]s/locks/db
<Directory %[1]s/root>
	Require all granted
	Options None
	AllowOverride None
	Dav On
	DavDepthInfinity off
</Directory>
`

// An ApacheServer is a real Apache httpd that stores files: WebDAV, classes 1
// and 2 (mod_dav and mod_dav_fs).
type ApacheServer struct {
	t    testing.TB
	dir  string
	addr string
	proc *Process
}

// Apache starts an Apache on a free port of the loopback interface, over an
// empty directory of its own.
func Apache(t testing.TB) *ApacheServer {
	t.Helper()
	a := &ApacheServer{t: t}
	var err error
	// Not t.TempDir: Apache refuses to be root, and others must get in there.
	if a.dir, err = os.MkdirTemp("", "apache-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(a.dir) })
	for _, dir := range []string{a.dir, a.Root(), filepath.Join(a.dir, "locks")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	Eventually(t, "a free port for Apache", func() (any, bool) {
		a.addr = net.JoinHostPort("127.0.0.1", freePort(t))
		return a.addr + " was taken meanwhile", a.start()
	})
	return a
}

// start reports false if the address is taken.
func (a *ApacheServer) start() bool {
	a.t.Helper()
	conf := filepath.Join(a.dir, "apache.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, apacheConf, a.dir, a.addr, a.own()), 0o644); err != nil {
		a.t.Fatal(err)
	}
	path, err := exec.LookPath("apache2")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/apache2") // not in every PATH
	}
	if err != nil {
		a.t.Fatal("Apache is not installed: run .ci/setup, or apt-get install apache2-bin")
	}
	a.proc = Start(a.t, "apache", exec.Command(path, "-f", conf, "-DFOREGROUND"))
	line, err := a.proc.out.await(stderr, new(int), func(text string) bool {
		return strings.Contains(text, "resuming normal operations") || strings.Contains(text, "Address already in use")
	})
	if err != nil {
		a.t.Fatalf("Apache does not start: %v", err)
	}
	if strings.Contains(line, "in use") {
		a.proc.end()
		return false
	}
	return true
}

// own gives the directories that it writes into to the user that Apache changes
// to from root, and returns what tells it.
func (a *ApacheServer) own() string {
	a.t.Helper()
	if os.Getuid() != 0 {
		return ""
	}
	const name = "www-data" // in every Debian
	u, err := user.Lookup(name)
	if err != nil {
		a.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	for _, dir := range []string{a.Root(), filepath.Join(a.dir, "locks")} {
		if err := os.Chown(dir, uid, gid); err != nil {
			a.t.Fatal(err)
		}
	}
	return "User " + name + "\nGroup #" + u.Gid
}

// Addr returns host:port, URL the same as fencegate's --upstream wants it, Root
// the directory that it stores in.
func (a *ApacheServer) Addr() string { return a.addr }
func (a *ApacheServer) URL() string  { return "http://" + a.addr }
func (a *ApacheServer) Root() string { return filepath.Join(a.dir, "root") }

// Requests returns the request line of each request that it has ended. A line
// may come a little after the answer, so their order is not exact.
func (a *ApacheServer) Requests() []string {
	a.t.Helper()
	return linesOf(a.t, filepath.Join(a.dir, "access.log"))
}

// linesOf returns the lines of a log, none if there is no such file yet.
func linesOf(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
