package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// One process, since its workers would outlive a master that dies with the
// test. Uploads end in a rename, so they start in the root's file system.
const nginxConf = `
daemon off;
master_process off;
%s
error_log stderr notice;
pid %[2]s/pid;
events { worker_connections 512; }
http {
	log_format line '$request';
	access_log %[2]s/access.log line;
	client_body_temp_path %[2]s/uploads;
	proxy_temp_path %[2]s/t1; fastcgi_temp_path %[2]s/t2; uwsgi_temp_path %[2]s/t3; scgi_temp_path %[2]s/t4;
	server {
		listen %[3]s;
		root %[2]s/root;
		client_max_body_size 0;
		location / {
			allow 127.0.0.1;
			deny all;
			%[4]s
		}
	}
}
`

// An NginxServer is a real nginx that stores files: WebDAV's PUT and DELETE.
type NginxServer struct {
	t    testing.TB
	path string
	dir  string
	addr string
	dav  string // what it does of WebDAV
	proc *Process
}

// Nginx starts an nginx on a free port of the loopback interface, over an empty
// directory of its own. It makes directories for what it is to store.
func Nginx(t testing.TB) *NginxServer {
	t.Helper()
	return nginx(t, "dav_methods PUT DELETE; create_full_put_path on;")
}

// NginxDAV is Nginx with all that it knows of WebDAV, and without making
// directories unasked.
func NginxDAV(t testing.TB) *NginxServer {
	t.Helper()
	return nginx(t, "dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path off;")
}

func nginx(t testing.TB, dav string) *NginxServer {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx") // not in every PATH
	}
	if err != nil {
		t.Fatal("nginx is not installed: run .ci/setup, or apt-get install nginx")
	}
	n := &NginxServer{t: t, path: path, dir: t.TempDir(), dav: dav}
	if err := os.Mkdir(n.Root(), 0o755); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "a free port for nginx", func() (any, bool) {
		n.addr = net.JoinHostPort("127.0.0.1", freePort(t))
		return n.addr + " was taken meanwhile", n.start()
	})
	return n
}

// start reports false if the address is taken.
func (n *NginxServer) start() bool {
	n.t.Helper()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // else it could not enter the directory
	}
	conf := filepath.Join(n.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, user, n.dir, n.addr, n.dav), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.proc = Start(n.t, "nginx", exec.Command(n.path, "-p", n.dir, "-e", "stderr", "-c", conf))
	// It says so once it listens, or tries again and again for an address that
	// another has.
	line, err := n.proc.out.await(stderr, new(int), func(text string) bool {
		return strings.Contains(text, "event method") || strings.Contains(text, "Address already in use")
	})
	if err != nil {
		n.t.Fatalf("nginx does not start: %v", err)
	}
	if strings.Contains(line, "in use") {
		n.proc.end()
		return false
	}
	return true
}

// Addr returns host:port, URL the same as fencegate's --upstream wants it, Root
// the directory that it stores in.
func (n *NginxServer) Addr() string { return n.addr }
func (n *NginxServer) URL() string  { return "http://" + n.addr }
func (n *NginxServer) Root() string { return filepath.Join(n.dir, "root") }

// Pause stops it as a suspended machine stops: connections are still accepted
// by the kernel, nothing is answered. Resume lets it go on.
func (n *NginxServer) Pause()  { n.t.Helper(); n.proc.Pause() }
func (n *NginxServer) Resume() { n.t.Helper(); n.proc.Resume() }

// Kill is kill -9, paused or not.
func (n *NginxServer) Kill() { n.t.Helper(); n.proc.Kill() }

// Requests returns the request line of each request that it has ended,
// oldest first. A line may come a little after the answer.
func (n *NginxServer) Requests() []string {
	n.t.Helper()
	return linesOf(n.t, filepath.Join(n.dir, "access.log"))
}
