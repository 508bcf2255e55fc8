package integration

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// What is wrong with the command line is told in one line, and nothing is sent.
func TestPutWithWrongFlags(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, fine)
	me := stampOf(7, "me")
	q3 := file(t, t.TempDir()+"/q3.csv", "x")
	for _, c := range []struct {
		name  string
		fence string
		stamp fence.Stamp
		args  []string
		says  []string
	}{
		{"no token", f.URL, fence.Stamp{}, []string{q3, report}, []string{"there is no token", "fencegate lock", "--redis"}},
		{"no owner", f.URL, fence.Stamp{Token: 7}, []string{q3, report}, []string{"FENCING_OWNER"}},
		{"no fence", "", me, []string{q3, report}, []string{"--fence is missing"}},
		{"no URL", f.URL, me, []string{q3}, []string{"<url>"}},
		{"relative", f.URL, me, []string{q3, "reports/q3.csv"}, []string{"expected a path such as"}},
		{"query", f.URL, me, []string{q3, report + "?a=b"}, []string{"without user, query"}},
		{"empty query", f.URL, me, []string{q3, report + "?"}, []string{"%3F"}},
		{"fragment", f.URL, me, []string{q3, report + "#"}, []string{"%23"}},
		{"password", "", me, []string{q3, "http://me:hush-hush@127.0.0.1:1/r"}, []string{"without user"}},
		{"other scheme", "", me, []string{q3, "ftp://127.0.0.1:1/r"}, []string{"http://HOST:PORT"}},
		{"no scheme", f.URL, me, []string{q3, "//127.0.0.1:1/r"}, []string{"expected a path"}},
		{"ambiguous", f.URL, me, []string{q3, "/a/../b"}, []string{`"/a/../b"`}},
		{"root", f.URL, me, []string{"-", "/"}, []string{"ends in a slash"}},
		{"another server", f.URL, me, []string{q3, "http://127.0.0.1:1/r"}, []string{"http://127.0.0.1:1", f.URL, "one of them"}},
		{"standard input as a directory", f.URL, me, []string{"-", "--recursive", "/r"}, []string{"expected a directory"}},
		{"two Redis", f.URL, fence.Stamp{}, []string{"--redis", "127.0.0.1:1", "--redis", "127.0.0.1:2", q3, "/r"}, []string{"three or more"}},
		{"negative wait", f.URL, me, []string{"--wait=-1", q3, "/r"}, []string{"-w -1s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := putCommand(t, c.fence, c.stamp, c.args...)
			cmd.Env = append(cmd.Env, "FENCEGATE_URL=http://127.0.0.1:1/never-a-flag")
			p := puts(t, 64, cmd)
			saysOneLine(t, p, c.says...)
			if strings.Contains(p.Stderr()[0], "hush-hush") {
				t.Errorf("it shows a password: %s", p.Stderr())
			}
		})
	}
	if seen := f.got(); len(seen) > 0 {
		t.Errorf("something was sent: %s", seen[0].RequestURI)
	}
}

// Each answer has its exit code, and is what is told.
func TestPutExitCodes(t *testing.T) {
	t.Parallel()
	plain := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "the store's word", status) }
	}
	me := stampOf(7, "me")
	q3 := file(t, t.TempDir()+"/q3.csv", "x")
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   int
		says   string
	}{
		{"201", plain(201), 0, ""},
		{"204", fine, 0, ""},
		{"stale", problem(412, "stale_token"), 76, "the highest token seen is 99"},
		{"conflict", problem(409, "owner_conflict"), 76, "owner_conflict"},
		{"in doubt", problem(504, "outcome_unknown"), 74, "outcome_unknown"},
		{"settling", problem(503, "settling"), 75, "not within 200ms: settling"},
		{"unreachable", problem(502, "upstream_unreachable"), 69, "upstream_unreachable"},
		{"too large", problem(413, "body_too_large"), 1, "body_too_large"},
		{"no owner", problem(428, "owner_missing"), 64, "owner_missing"},
		{"store's 412", plain(412), 1, "412 Precondition Failed the store's word"},
		{"store's 403", plain(403), 1, "the store's word"},
		{"store's redirect", plain(307), 1, "307"},
		{"store's 507", plain(507), 1, "507"},
		{"store's 202", plain(202), 74, "may or may not"},
		{"store's 500", plain(500), 74, "may or may not"},
		{"store's 503", plain(503), 74, "may or may not"},
		{"store's 408", plain(408), 74, "may or may not"},
		{"no answer", func(w http.ResponseWriter, r *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
		}, 74, "Put "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeFence(t, c.answer)
			p := puts(t, c.code, putCommand(t, f.URL, me, "-w", "200ms", q3, report))
			if c.code == 0 {
				if len(p.Stderr()) > 0 {
					t.Errorf("it says %q", p.Stderr())
				}
			} else {
				saysOneLine(t, p, "q3.csv", report, c.says)
			}
			if n := len(f.got()); c.name == "settling" && n < 2 || c.name != "settling" && n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			if strings.Contains(strings.Join(p.Stderr(), ""), string(me.Owner)) {
				t.Error("it shows the owner")
			}
		})
	}
}

// 69 when nobody is there, 66 for what cannot be read.
func TestPutWithoutAnyone(t *testing.T) {
	t.Parallel()
	me := stampOf(7, "me")
	dir := t.TempDir()
	q3 := file(t, dir+"/q3.csv", "x")
	nobody := closedAddr(t)
	saysOneLine(t, puts(t, 69, putCommand(t, "http://"+nobody, me, q3, report)), "connection refused", "nothing took effect")
	saysOneLine(t, puts(t, 69, putCommand(t, "http://"+nobody, fence.Stamp{}, "--redis", nobody, "-w", "1", q3, report)), "redis did not answer")

	f := newFakeFence(t, fine)
	for name, says := range map[string]string{
		dir + "/absent": "no such file", dir: "neither a file nor a pipe", "/dev/null": "neither a file nor a pipe",
	} {
		saysOneLine(t, puts(t, 66, putCommand(t, f.URL, me, name, report)), says)
	}
	if n := len(f.got()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// What this user may not read is told, and what may be read is sent.
func TestPutOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	f := newFakeFence(t, fine)
	dir := t.TempDir()
	file(t, dir+"/a", "a")
	file(t, dir+"/deep/c", "c")
	file(t, dir+"/z", "z")
	for _, name := range []string{file(t, dir+"/b", "b"), dir + "/deep"} {
		if err := os.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/deep", 0o755) })
	for _, path := range []string{dir + "/a", dir + "/z", filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	as := func(cmd *exec.Cmd) *exec.Cmd {
		if uid := nobody(); uid != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		}
		return cmd
	}
	saysOneLine(t, puts(t, 66, as(putCommand(t, f.URL, stampOf(7, "me"), dir+"/b", report))), "permission denied")
	if n := len(f.got()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	p := puts(t, 66, as(putCommand(t, f.URL, stampOf(7, "me"), "--recursive", dir, "/")))
	if said := strings.Join(p.Stderr(), "\n"); strings.Count(said, "permission denied") != 2 || !strings.Contains(said, "deep") {
		t.Errorf("it says %q", said)
	}
	sent := ""
	for _, r := range f.got() {
		sent += r.URL.Path
	}
	if sent != "/a/z" {
		t.Errorf("sent were %q", sent)
	}
}

// A fence that is not ready is asked again, and no other answer: here it is
// ready at last, and the file is stored once.
func TestPutWaitsForTheFence(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "2s", "--max-wait", "20ms")
	s.Kill()
	s.Start()
	q3 := file(t, t.TempDir()+"/q3.csv", "at last")
	puts(t, 0, putCommand(t, s.URL(), stampOf(8, "new"), q3, report))
	holds(t, s, report, "at last")
	// What came by pipe is gone, and is not sent again.
	s.Kill()
	s.Start()
	cmd := putCommand(t, s.URL(), stampOf(8, "new"), "-", report)
	cmd.Stdin = strings.NewReader("once")
	saysOneLine(t, puts(t, 75, cmd), "recovering")
}

// One of several that is in doubt or refused does not keep the others, a later
// holder does. The worst is told.
func TestPutOfSeveralThatFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		file(t, dir+"/"+name, name)
	}
	for _, c := range []struct {
		name    string
		answers map[string]http.HandlerFunc
		code    int
		sent    string
	}{
		{"all well", nil, 0, "abcd"},
		{"refused", map[string]http.HandlerFunc{"/b": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }}, 1, "abcd"},
		{"in doubt", map[string]http.HandlerFunc{"/b": problem(504, "outcome_unknown"), "/c": problem(413, "body_too_large")}, 74, "abcd"},
		{"fenced", map[string]http.HandlerFunc{"/b": problem(412, "stale_token")}, 76, "ab"},
		{"in doubt, then fenced", map[string]http.HandlerFunc{"/a": problem(504, "outcome_unknown"), "/b": problem(412, "stale_token")}, 74, "ab"},
		{"not ready", map[string]http.HandlerFunc{"/c": problem(503, "draining")}, 75, "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeFence(t, func(w http.ResponseWriter, r *http.Request) {
				if answer := c.answers[r.URL.Path]; answer != nil {
					answer(w, r)
					return
				}
				w.WriteHeader(http.StatusCreated)
			})
			puts(t, c.code, putCommand(t, f.URL, stampOf(7, "me"), "-w", "0", "--recursive", dir, "/"))
			sent := ""
			for _, r := range f.got() {
				sent += strings.TrimPrefix(r.URL.Path, "/")
			}
			if sent != c.sent {
				t.Errorf("sent were %q, want %q", sent, c.sent)
			}
		})
	}
}
