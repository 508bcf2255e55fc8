package integration

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// lockAt is fencegate lock on report at any addresses. -r and --redis in args
// replace these: both may be given more than once.
func lockAt(t testing.TB, redis, fence string, args ...string) *exec.Cmd {
	t.Helper()
	own := args
	if end := slices.Index(args, "--"); end >= 0 {
		own = args[:end]
	}
	all := []string{"lock", "--fence", fence}
	if !slices.Contains(own, "-r") {
		all = append(all, "-r", report)
	}
	if !slices.Contains(own, "--redis") {
		all = append(all, "--redis", redis)
	}
	return exec.Command(harness.Build(t), append(all, args...)...)
}

// A wrong command line is told in one line with what was expected, nothing is
// asked of anyone, and no password is shown.
func TestLockWithWrongFlags(t *testing.T) {
	t.Parallel()
	const secret = "hush-hush"
	good := []string{"-r", report, "--redis", "127.0.0.1:1", "--fence", "http://127.0.0.1:1", "--", "true"}
	without := func(flag string) []string {
		i := slices.Index(good, flag)
		return slices.Delete(slices.Clone(good), i, i+2)
	}
	with := func(flags ...string) []string {
		i := slices.Index(good, "--")
		return slices.Insert(slices.Clone(good), i, flags...)
	}
	running := func(command ...string) []string {
		i := slices.Index(good, "--")
		return append(slices.Clone(good[:i+1]), command...)
	}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"nothing", nil, []string{"-r is missing", "--redis is missing", "--fence is missing", "FENCEGATE_REDIS", "FENCEGATE_FENCE", "no command"}},
		{"no resource", without("-r"), []string{"-r is missing", "/reports/q3.csv"}},
		{"no Redis", without("--redis"), []string{"--redis is missing", "HOST:PORT"}},
		{"no fence", without("--fence"), []string{"--fence is missing", "http://HOST:PORT"}},
		{"no command", good[:len(good)-2], []string{"no command", "after --"}},
		{"no command after --", good[:len(good)-1], []string{"no command", "after --"}},
		{"ambiguous resource", with("-r", "/a//b"), []string{`-r "/a//b"`, "empty segment"}},
		{"relative resource", with("-r", "a"), []string{`-r "a"`, `starts with "/"`}},
		{"wait and not", with("-w", "1s", "-n"), []string{"-w and -n", "one of them"}},
		{"short TTL", with("--ttl", "99ms"), []string{"--ttl 99ms", "100ms to 24h"}},
		{"long TTL", with("--ttl", "25h"), []string{"--ttl 25h0m0s", "100ms to 24h"}},
		{"grace of a TTL", with("--ttl", "2s", "--grace", "2s"), []string{"--grace 2s", "at most half of --ttl 2s"}},
		{"grace over half", with("--ttl", "2s", "--grace", "1001ms"), []string{"--grace 1.001s", "at most half"}},
		{"negative grace", with("--grace=-1s"), []string{"--grace -1s", "at most half"}},
		{"negative wait", with("--wait=-1s"), []string{"-w -1s", "0 or more"}},
		{"no exit code", with("-E", "256"), []string{"-E 256", "0 to 255"}},
		{"namespace", with("--namespace", "{a}"), []string{`--namespace "{a}"`, "without { and }"}},
		{"unknown flag", with("--nonsense"), []string{"unknown flag --nonsense"}},
		{"no duration", with("--ttl", "soon"), []string{"--ttl", `"soon"`}},
		{"two Redis", with("--redis", "127.0.0.1:2"), []string{"--redis", "three or more"}},
		{"Sentinel's password without Sentinel", with("--sentinel-password-file", "/etc/hostname"), []string{"--sentinel-password-file", "with --sentinel"}},
		{"no password file", with("--redis-password-file", "/no/such"), []string{"--redis-password-file", "/no/such"}},
		{"empty password file", with("--redis-password-file", "/dev/null"), []string{"--redis-password-file", "no password in its first line"}},
		{"no seconds", with("-w", "soon"), []string{"-w", "60s", "number of seconds"}},
		{"max hold below the TTL", with("--max-hold", "14s"), []string{"--max-hold 14s", "at least the --ttl 15s"}},
		{"metrics nowhere", with("--metrics-textfile", "/no/such"), []string{"--metrics-textfile", "/no/such"}},
		{"metrics of no name", with("--name", "Job 1"), []string{`--name "Job 1"`, "[a-z]"}},
		{"http proxy for https", with("--http-proxy", "--fence", "https://127.0.0.1:1"), []string{"--http-proxy", "FENCEGATE_URL"}},
		{"token expanded too early", running("curl", "-H", "X-Fencing-Token: ", "http://127.0.0.1:1"), []string{"X-Fencing-Token without a value", "sh -c"}},
		{"owner expanded too early", running("sh", "-c", `curl -H 'x-fencing-owner: ' -T f http://127.0.0.1:1`), []string{"without a value"}},
		{"token expanded too early, in quotes", running("sh", "-c", `curl http://127.0.0.1:1 -H "X-Fencing-Token: "`), []string{"X-Fencing-Token without a value"}},
		{"password without scheme", with("--redis", "user:"+secret+"@127.0.0.1:1"), []string{"--redis", "rediss://USER:PASSWORD@HOST:PORT/DB"}},
		{"password with port", with("--redis", secret+"@127.0.0.1:1"), []string{"--redis", "expected HOST:PORT"}},
		{"password in a bad URL", with("--redis", "redis://:"+secret+"@127.0.0.1:port"), []string{"--redis", "expected HOST:PORT"}},
		{"password in another URL", with("--redis", "http://:"+secret+"@127.0.0.1:1"), []string{"--redis", "expected HOST:PORT"}},
		{"password for the fence", with("--fence", "http://me:"+secret+"@127.0.0.1:1"), []string{"--fence", "without user"}},
		{"fence with a path", with("--fence", "http://127.0.0.1:1/a"), []string{"--fence", "without user, path"}},
		{"fence without scheme", with("--fence", "127.0.0.1:1"), []string{"--fence", "http://HOST:PORT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := harness.Start(t, "lock", exec.Command(harness.Build(t), append([]string{"lock"}, c.args...)...))
			wantCode(t, p, 64)
			saysOneLine(t, p, c.says...)
			if strings.Contains(p.Stderr()[0], secret) {
				t.Errorf("it shows the password: %q", p.Stderr())
			}
		})
	}
}

// A password that Redis does not take is not shown either.
func TestLockShowsNoPassword(t *testing.T) {
	t.Parallel()
	const secret = "hush-hush"
	redis := harness.Redis(t)
	p := harness.Start(t, "lock", lockAt(t, "redis://nobody:"+secret+"@"+redis.Addr(), "http://127.0.0.1:1", "-n", "--", "true"))
	wantCode(t, p, 69)
	saysOneLine(t, p, "redis", "invalid username-password pair")
	if strings.Contains(p.Stderr()[0], secret) {
		t.Errorf("it shows the password: %q", p.Stderr())
	}
}
