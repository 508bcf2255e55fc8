//go:build unix

package remote

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
)

const nginxConf = `
daemon off;
%s
error_log stderr error;
pid %[2]s/pid;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[2]s/tmp;
	proxy_temp_path %[2]s/t1; fastcgi_temp_path %[2]s/t2; uwsgi_temp_path %[2]s/t3; scgi_temp_path %[2]s/t4;
	server {
		listen %[3]s;
		root %[2]s/root;
		client_max_body_size 2m;
		keepalive_timeout 1s;
		keepalive_requests 20;
		add_header X-Connection $connection always;
		location / { dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on; }
	}
}
`

// startNginx starts a real nginx with DAV. Its listener is made here and handed
// over as in an upgrade of its binary (environment variable NGINX), so requests
// wait in the backlog until it is up.
func startNginx(t *testing.T) (url, root string) {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		binary, err = exec.LookPath("/usr/sbin/nginx") // not in every PATH
	}
	if err != nil && testing.Short() {
		t.Skip("no nginx here")
	}
	if err != nil {
		t.Fatalf("this test needs the Debian package nginx: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir := t.TempDir()
	root = filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // else its workers cannot enter the directory
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, user, dir, l.Addr()), 0o600); err != nil {
		t.Fatal(err)
	}
	nginx := exec.Command(binary, "-p", dir, "-e", "stderr", "-c", conf)
	nginx.Env = append(os.Environ(), "NGINX=3;")
	nginx.ExtraFiles = []*os.File{file}
	var said strings.Builder
	nginx.Stderr = &said
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nginx.Process.Signal(syscall.SIGTERM)
		if err := nginx.Wait(); err != nil || t.Failed() {
			t.Errorf("nginx: %v\n%s", err, said.String())
		}
	})
	return "http://" + l.Addr().String(), root
}

func TestNginx(t *testing.T) {
	url, root := startNginx(t)
	u := open(t, url+"/p%20q", Options{})
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		outcome            fence.Outcome
	}{
		{"PUT", "/a%2520b", "one", nil, 201, fence.Definite},
		{"PUT", "/a%2520b", "two", nil, 204, fence.Definite},
		{"PUT", "/empty", "", nil, 201, fence.Definite},
		{"PUT", "/big", large[:2<<20], nil, 201, fence.Definite},
		{"PUT", "/toobig", large, nil, 413, fence.Uncertain}, // nginx answers early
		{"MKCOL", "/d/", "", nil, 201, fence.Definite},
		{"COPY", "/a%2520b", "", []string{"Destination: /p%20q/copy"}, 204, fence.Definite},
		{"MOVE", "/copy", "", []string{"Destination: /p%20q/moved"}, 204, fence.Definite},
		{"MOVE", "/none", "", []string{"Destination: /p%20q/moved"}, 404, fence.Definite},
		{"DELETE", "/empty", "", nil, 204, fence.Definite},
		{"DELETE", "/empty", "", nil, 404, fence.Definite},
		{"PATCH", "/a%2520b", "", nil, 405, fence.Definite},
	} {
		got := u.try(t, request(c.method, c.path, c.header...), c.body)
		if got.res == nil || got.res.StatusCode != c.status || got.outcome != c.outcome {
			t.Errorf("%s %s: %v; want %d, %v", c.method, c.path, got, c.status, c.outcome)
		}
	}
	for name, want := range map[string]string{"a%20b": "two", "moved": "two", "big": large[:2<<20]} {
		if got, err := os.ReadFile(filepath.Join(root, "p q", name)); err != nil || string(got) != want {
			t.Errorf("%s holds %.20q, %v", name, got, err)
		}
	}
	for _, name := range []string{"toobig", "empty", "copy"} {
		if _, err := os.Stat(filepath.Join(root, "p q", name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		body, length string
	}{
		{"GET", "/a%2520b", nil, 200, "two", "3"},
		{"GET", "/a%2520b?", nil, 200, "two", "3"},
		{"GET", "/big", []string{"Range: bytes=16-31"}, 206, large[:16], "16"},
		{"GET", "/big", []string{"Accept-Encoding: gzip"}, 200, large[:2<<20], "2097152"},
		{"HEAD", "/big", nil, 200, "", "2097152"},
	} {
		w := httptest.NewRecorder()
		outcome, err := u.Read(w, request(c.method, c.path, c.header...))
		if outcome != fence.Definite || err != nil || w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Content-Length") != c.length {
			t.Errorf("%s %s: %v %v, %d %.20q, %v", c.method, c.path, outcome, err, w.Code, w.Body, w.Header())
		}
	}
	w := httptest.NewRecorder()
	if _, err := u.Read(w, request("GET", "/none")); err != nil || w.Code != 404 {
		t.Errorf("GET /none: %d %v", w.Code, err)
	}
}

// nginx closes connections after 20 requests, which it says, and after a second,
// which it does not.
func TestNginxKeepsConnections(t *testing.T) {
	url, _ := startNginx(t)
	u := open(t, url, Options{Idle: 2 * time.Second})
	connections := map[string]int{}
	write := func() {
		t.Helper()
		got := u.try(t, request("PUT", "/a"), large[:100_000])
		if got.outcome != fence.Definite {
			t.Fatal(got)
		}
		connections[got.res.Header.Get("X-Connection")]++
	}
	for range 50 {
		write()
	}
	if len(connections) != 3 {
		t.Errorf("connections used: %v; want 3 for 50 requests", connections)
	}
	write()
	u.arrival(t) // its end, before we would give it up
	write()
	if len(connections) != 4 {
		t.Errorf("connections used: %v; want one more after nginx has closed", connections)
	}
	if got := u.try(t, request("DELETE", "/a"), ""); got.outcome != fence.Definite || got.res.StatusCode != 204 {
		t.Error(got)
	}
	if got := u.try(t, request("PUT", "/toobig"), large); got.outcome != fence.Uncertain || got.res == nil || got.res.StatusCode != 413 || u.unused() != 0 {
		t.Errorf("%v, %d connections are kept", got, u.unused())
	}
	write()
}
