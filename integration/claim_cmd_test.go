package integration

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// claimAs runs fencegate claim with a stamp in its environment.
func claimAs(t testing.TB, fenceURL string, stamp fence.Stamp, args ...string) *harness.Process {
	t.Helper()
	cmd := exec.Command(harness.Build(t), append([]string{"claim", "-r", report, "--fence", fenceURL}, args...)...)
	cmd.Env = append(cmd.Environ(), "FENCING_TOKEN="+stamp.Token.String(), "FENCING_OWNER="+string(stamp.Owner), "FENCING_CLIENT="+stamp.Client)
	return harness.Start(t, "claim", cmd)
}

// Within fencegate lock everything that a claim needs is there: what is locked
// is claimed already, another path becomes so. Shown: S2 claim, from a shell.
func TestClaimWithinALock(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	says(t, s.fence, "201", http.MethodPut, "/summary", stampOf(7, "old"), "old")
	p := s.lockScript(`set -e
f="` + harness.Build(t) + `"
"$f" claim
"$f" claim -r /summary
"$f" claim -r /blocks --tree
echo "$FENCING_TOKEN"`)
	wantCode(t, p, 0)
	if said := p.Stdout(); len(said) != 1 || len(p.Stderr()) > 0 {
		t.Fatalf("it prints %q and %q", said, p.Stderr())
	}
	token := p.Stdout()[0]
	for path, via := range map[string]string{report: "mark", "/summary": "mark", "/blocks/below": "floor"} {
		if m := markOf(t, s.fence, path); m.Token != token || m.Via != via || m.Owner == "" || m.Client == "" {
			t.Errorf("%s is marked %+v, want a %s with token %s", path, m, via, token)
		}
	}
	says(t, s.fence, "412 stale_token", http.MethodPut, "/summary", stampOf(7, "old"), "late")
	holds(t, s.fence, "/summary", "old")
}

// Without a token it takes the lock, and gives it back.
func TestClaimByALockOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	says(t, s.fence, "201", http.MethodPut, report, stampOf(7, "old"), "old")
	claim := func(args ...string) *harness.Process {
		return harness.Start(t, "claim", exec.Command(harness.Build(t), append([]string{"claim", "-r", report, "--redis", s.redis.Addr(), "--fence", s.fence.URL()}, args...)...))
	}
	p := claim()
	wantCode(t, p, 0)
	if m := markOf(t, s.fence, report); len(p.Stdout()) != 1 || m.Token != p.Stdout()[0] {
		t.Errorf("it prints %q, the mark is %+v", p.Stdout(), m)
	}
	says(t, s.fence, "412 stale_token", http.MethodPut, report, stampOf(7, "old"), "late")
	s.awaitFree(report)

	holder := s.holder("host-a/1", time.Minute, "time")
	holder.lock(report)
	wantCode(t, claim("-w", "200ms"), 75)
}

func TestClaimThatFails(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	says(t, s, "201", http.MethodPut, report, stampOf(7, "holder"), "seven")
	says(t, s, "201", http.MethodPut, "/tree/high", stampOf(9, "high"), "nine")
	noFence := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(noFence.Close)
	tooKind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"resources":[{"resource":"/other","covers":"object"}],"token":"8"}`))
	}))
	t.Cleanup(tooKind.Close)
	elsewhere := httptest.NewServer(http.RedirectHandler(s.URL()+"/.well-known/fencegate/claims", http.StatusTemporaryRedirect))
	t.Cleanup(elsewhere.Close)
	recovering, _ := notReady(t)
	for _, c := range []struct {
		name  string
		fence string
		stamp fence.Stamp
		args  []string
		code  int
		says  []string
	}{
		{"stale", s.URL(), stampOf(6, "old"), nil, 76, []string{report, "token 6", "stale_token", "highest token seen is 7"}},
		{"conflict", s.URL(), stampOf(7, "twin"), nil, 76, []string{"owner_conflict"}},
		{"tree", s.URL(), stampOf(8, "tree"), []string{"-r", "/tree", "--tree"}, 76, []string{"tree_fenced"}},
		{"nobody there", "http://" + closedAddr(t), stampOf(8, "new"), nil, 69, []string{"connection refused"}},
		{"another server", noFence.URL, stampOf(8, "new"), nil, 69, []string{"no fencegate"}},
		{"another claim", tooKind.URL, stampOf(8, "new"), nil, 69, []string{`"/other"`}},
		{"redirect", elsewhere.URL, stampOf(8, "new"), nil, 69, []string{"307", "no fencegate"}},
		{"not ready", "http://" + recovering, stampOf(8, "new"), []string{"-w", "300ms"}, 75, []string{"not within 300ms", "recovering"}},
		{"token out of range", s.URL(), stampOf(fence.MaxToken, "new"), nil, 64, []string{"token_malformed"}},
		{"no token", s.URL(), stampOf(0, "none"), nil, 64, []string{"FENCING_TOKEN", "decimal integer"}},
		{"no owner", s.URL(), fence.Stamp{Token: 8}, nil, 64, []string{"FENCING_OWNER", "fencegate lock"}},
		{"blank in owner", s.URL(), fence.Stamp{Token: 8, Owner: "hush hush"}, nil, 64, []string{"FENCING_OWNER", "visible ASCII"}},
		{"no resource", s.URL(), stampOf(8, "new"), []string{"-r", ""}, 64, []string{"-r is missing"}},
		{"ambiguous", s.URL(), stampOf(8, "new"), []string{"-r", "/a/../b"}, 64, []string{`-r "/a/../b"`}},
		{"no fence", "", stampOf(8, "new"), nil, 64, []string{"--fence is missing", "FENCEGATE_FENCE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := claimAs(t, c.fence, c.stamp, c.args...)
			wantCode(t, p, c.code)
			saysOneLine(t, p, c.says...)
			isMarked(t, s, report, stampOf(7, "holder"), "mark") // and nothing has become of it
		})
	}
	t.Run("outside of a lock", func(t *testing.T) {
		t.Parallel()
		p := harness.Start(t, "claim", exec.Command(harness.Build(t), "claim", "-r", report, "--fence", s.URL()))
		wantCode(t, p, 64)
		saysOneLine(t, p, "FENCING_TOKEN", "within fencegate lock")
	})
}

// A fence that is not ready is asked again.
func TestClaimWaitsForTheFence(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "2s", "--max-wait", "20ms")
	s.Kill()
	s.Start()
	p := claimAs(t, s.URL(), stampOf(8, "new"))
	wantCode(t, p, 0)
	isMarked(t, s, report, stampOf(8, "new"), "mark")
}

// Told to end while it waits, for the fence or for its lock, it does, by the
// signal's code.
func TestClaimThatIsToldToEnd(t *testing.T) {
	t.Parallel()
	recovering, _ := notReady(t)
	asked := make(chan struct{}, 100)
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		problem(http.StatusServiceUnavailable, "draining")(w, r)
	}))
	t.Cleanup(f.Close)
	p := claimAs(t, f.URL, stampOf(8, "new"))
	<-asked
	p.Signal(syscall.SIGINT)
	wantCode(t, p, 128+2)
	saysOneLine(t, p, "told to end")

	redis := harness.Redis(t, savesNow...)
	q := harness.Start(t, "claim", exec.Command(harness.Build(t), "claim", "-r", report, "--redis", redis.Addr(), "--fence", "http://"+recovering))
	rdb := clientOf(t, redis)
	harness.Eventually(t, "it to have the lock", func() (any, bool) {
		n, err := rdb.Exists(t.Context(), lockKey(report)).Result()
		return err, n == 1
	})
	q.Signal(syscall.SIGTERM)
	wantCode(t, q, 128+15)
	if n := rdb.Exists(t.Context(), lockKey(report)).Val(); n != 0 {
		t.Error("the lock is not given back")
	}
}
