package integration

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// putCommand is fencegate put. With a stamp it is as within fencegate lock.
func putCommand(t testing.TB, fenceURL string, stamp fence.Stamp, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(harness.Build(t), append([]string{"put"}, args...)...)
	cmd.Env = append(cmd.Environ(), "GORACE=exitcode=86 atexit_sleep_ms=20")
	if fenceURL != "" {
		cmd.Env = append(cmd.Env, "FENCEGATE_FENCE="+fenceURL)
	}
	if stamp.Token != 0 {
		cmd.Env = append(cmd.Env, "FENCING_TOKEN="+stamp.Token.String(), "FENCING_OWNER="+string(stamp.Owner), "FENCING_CLIENT="+stamp.Client)
	}
	return cmd
}

// puts runs it to its end.
func puts(t testing.TB, want int, cmd *exec.Cmd) *harness.Process {
	t.Helper()
	p := harness.Start(t, "put", cmd)
	wantCode(t, p, want)
	return p
}

// file makes a file with this content.
func file(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Files, standard input and pipes arrive whole, under the name that was asked
// for, with the token of the environment.
func TestPutStoresWhatItIsGiven(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	dir := t.TempDir()
	me := stampOf(7, "me")
	plain, empty := file(t, dir+"/q3.csv", "content"), file(t, dir+"/empty", "")
	strange := file(t, dir+"/100% Übersicht #1?.csv", "strange")
	large := file(t, dir+"/large", strings.Repeat("0123456789abcdef", 1<<20))
	if err := os.Symlink(plain, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	const strangeName = "/100%25%20%C3%9Cbersicht%20%231%3F.csv"
	for _, c := range []struct{ file, url, path, want string }{
		{plain, report, report, "content"},
		{plain, s.URL() + "/whole", "/whole", "content"},
		{plain, "/dir/", "/dir/q3.csv", "content"},
		{plain, s.URL() + "/", "/q3.csv", "content"},
		{plain, "/a b/ä", "/a%20b/%C3%A4", "content"},
		{strange, "/strange/", "/strange" + strangeName, "strange"},
		{empty, "/empty", "/empty", ""},
		{large, "/large", "/large", strings.Repeat("0123456789abcdef", 1<<20)},
		{dir + "/link", "/link", "/link", "content"},
		{"/proc/self/status", "/proc", "/proc", "Name:"},
	} {
		p := puts(t, 0, putCommand(t, s.URL(), me, c.file, c.url))
		if len(p.Stdout())+len(p.Stderr()) > 0 {
			t.Errorf("%s: it says %q %q", c.url, p.Stdout(), p.Stderr())
		}
		if a := says(t, s, "200", http.MethodGet, c.path, fence.Stamp{}, ""); a.body != c.want && (c.path != "/proc" || !strings.HasPrefix(a.body, c.want)) {
			t.Errorf("%s holds %d bytes, want %d", c.path, len(a.body), len(c.want))
		}
	}
	isMarked(t, s, report, me, "mark")

	cmd := putCommand(t, s.URL(), me, "-", "/stdin")
	cmd.Stdin = strings.NewReader("by pipe")
	puts(t, 0, cmd)
	holds(t, s, "/stdin", "by pipe")
	cmd = putCommand(t, s.URL(), me, "-", "/none")
	puts(t, 0, cmd) // /dev/null
	holds(t, s, "/none", "")
	binary := harness.Build(t)
	cmd = exec.Command("bash", "-c", binary+` put <(echo -n by; sleep 0.1; echo -n " fifo") /fifo && `+binary+` put - /redirected <`+plain)
	cmd.Env = putCommand(t, s.URL(), me).Env
	prints(t, harness.Start(t, "bash", cmd), "")
	holds(t, s, "/fifo", "by fifo")
	holds(t, s, "/redirected", "content")
}

// Within fencegate lock nothing has to be said twice, and $FENCEGATE_URL is as
// good as the fence's.
func TestPutWithinALock(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	dir := t.TempDir()
	file(t, dir+"/q3.csv", "by put")
	p := s.lockScript(`set -e
cd `+dir+`; f="`+harness.Build(t)+`"
"$f" put q3.csv `+report+`
"$f" put q3.csv "$FENCEGATE_URL/reports/second"
"$f" put q3.csv "$FENCEGATE_FENCE/reports/third"
"$f" put --content-type text/csv - /reports/fourth <q3.csv
echo "$FENCING_TOKEN"`, "--http-proxy")
	wantCode(t, p, 0)
	for _, path := range []string{report, "/reports/second", "/reports/third", "/reports/fourth"} {
		holds(t, s.fence, path, "by put")
		if m := markOf(t, s.fence, path); m.Token != p.Stdout()[0] || m.Owner == "" || m.Client == "" {
			t.Errorf("%s is marked %+v", path, m)
		}
	}
}

// With a Redis it takes the lock for itself, and gives it back.
func TestPutByALockOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	q3 := file(t, t.TempDir()+"/q3.csv", "by put")
	own := func(args ...string) *exec.Cmd {
		return putCommand(t, "", fence.Stamp{}, append([]string{"--redis", s.redis.Addr()}, args...)...)
	}
	puts(t, 0, own(q3, s.fence.URL()+report))
	holds(t, s.fence, report, "by put")
	first := markOf(t, s.fence, report)
	if first.Owner == "" || first.Client == "" || !s.expiry().IsZero() {
		t.Errorf("the mark is %+v, the lock ends %v", first, s.expiry())
	}
	puts(t, 0, own("-r", "/reports", "--fence", s.fence.URL(), "--recursive", filepath.Dir(q3), "/reports"))
	if m := markOf(t, s.fence, report); m.Token <= first.Token {
		t.Errorf("the second token %s is not above %s", m.Token, first.Token)
	}
	// The lock says what may be written.
	p := puts(t, 64, own("-r", "/other", q3, s.fence.URL()+report))
	saysOneLine(t, p, "another resource", report)

	holder := s.holder("host-a/1", time.Minute, "time")
	holder.lock(report)
	saysOneLine(t, puts(t, 75, own("-w", "0.2", q3, s.fence.URL()+report)), "held by another")
	holds(t, s.fence, report, "by put")
	waiting := harness.Start(t, "put", own(q3, s.fence.URL()+report))
	s.awaitWaiter(report)
	waiting.Signal(15)
	wantCode(t, waiting, 128+15)
	saysOneLine(t, waiting, "told to end", "while waiting")
}

// awaitWaiter waits until somebody waits for the lock on path.
func (s *scene) awaitWaiter(path string) {
	s.t.Helper()
	harness.Eventually(s.t, "somebody to wait for "+path, func() (any, bool) {
		n, err := s.rdb.PubSubNumSub(s.t.Context(), "{fencegate}:free:"+path).Result()
		return fmt.Sprint(n, err), n["{fencegate}:free:"+path] > 0
	})
}

// A directory goes with all that is in it; what cannot go is told, the rest is
// sent.
func TestPutADirectory(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	me := stampOf(7, "me")
	dir := t.TempDir()
	file(t, dir+"/a", "1")
	file(t, dir+"/b/c d/ü#?%", "2")
	file(t, dir+"/b/e", "")
	if err := os.Mkdir(dir+"/hollow", 0o755); err != nil {
		t.Fatal(err)
	}
	link := t.TempDir() + "/link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"/to", "/to/", s.URL() + "/link"} {
		from := dir
		if strings.HasSuffix(to, "link") {
			from = link
		}
		if p := puts(t, 0, putCommand(t, s.URL(), me, "--recursive", from, to)); len(p.Stderr()) > 0 {
			t.Errorf("it says %q", p.Stderr())
		}
	}
	for _, to := range []string{"/to", "/link"} {
		for path, want := range map[string]string{"/a": "1", "/b/c%20d/%C3%BC%23%3F%25": "2", "/b/e": ""} {
			holds(t, s, to+path, want)
		}
	}

	file(t, dir+"/b/f;g", "refused name")
	file(t, dir+"/b/h\xff", "refused name")
	if err := os.Symlink("a", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", dir+"/pipe").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	file(t, dir+"/z", "last")
	p := puts(t, 66, putCommand(t, s.URL(), me, "--recursive", dir, "/"))
	for _, name := range []string{"f;g", `h\xff`, "link", "pipe"} {
		if said := strings.Join(p.Stderr(), "\n"); !strings.Contains(said, name) {
			t.Errorf("%q is not told: %s", name, said)
		}
	}
	holds(t, s, "/z", "last")
	puts(t, 0, putCommand(t, s.URL(), me, "--recursive", dir+"/hollow", "/hollow"))
	puts(t, 66, putCommand(t, s.URL(), me, "--recursive", dir+"/a", "/x"))
	puts(t, 66, putCommand(t, s.URL(), me, "--recursive", dir+"/absent", "/x"))
}

// To a fence behind TLS, by HTTP/1.1: of HTTP/2 net/http sends some requests
// again by itself.
func TestPutThroughTLS(t *testing.T) {
	t.Parallel()
	ca, cert, key := certificates(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	protos := make(chan string, 10)
	f := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			confirm(w, r)
			return
		}
		protos <- r.Proto + " " + r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusCreated)
	}))
	f.EnableHTTP2 = true
	f.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	f.StartTLS()
	t.Cleanup(f.Close)
	q3 := file(t, t.TempDir()+"/q3.csv", "x")
	cmd := putCommand(t, f.URL, stampOf(7, "me"), q3, report)
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+ca)
	puts(t, 0, cmd)
	lock := lockAt(t, harness.Redis(t, savesNow...).Addr(), f.URL, "--", "bash", "-c", `curl -fsS -T "$0" "$FENCEGATE_URL`+report+`"`, q3)
	lock.Env = append(lock.Environ(), "SSL_CERT_FILE="+ca)
	wantCode(t, harness.Start(t, "lock", lock), 0)
	for range 2 {
		if got := <-protos; got != "HTTP/1.1 PUT "+report {
			t.Errorf("it is asked by %s", got)
		}
	}
}
