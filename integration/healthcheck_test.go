package integration

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// What a container runtime asks: 0 or 1, and why.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	admin := strings.TrimPrefix(s.AdminURL(), "http://")
	_, port, err := net.SplitHostPort(admin)
	if err != nil {
		t.Fatal(err)
	}
	_, recovering := notReady(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, answers nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	for _, c := range []struct {
		name string
		args []string
		env  string
		code int
		says string
	}{
		{"not ready", []string{"--admin", recovering}, "", 1, "503 Service Unavailable: recovering"},
		{"alive though not ready", []string{"--live", "--admin", recovering}, "", 0, "alive"},
		{"ready", []string{"--admin", admin}, "", 0, "ready"},
		{"from the environment", nil, "FENCEGATE_ADMIN=" + admin, 0, "ready"},
		{"as it listens", nil, "FENCEGATE_ADMIN=0.0.0.0:" + port, 0, "ready"},
		{"as it listens, short", []string{"--admin", ":" + port}, "", 0, "ready"},
		{"nobody there", []string{"--admin", closedAddr(t)}, "", 1, "connection refused"},
		{"mute", []string{"--admin", mute.Addr().String()}, "", 1, "deadline exceeded"},
		{"no port", []string{"--admin", "localhost"}, "", 64, `--admin "localhost": expected HOST:PORT`},
	} {
		cmd := exec.Command(harness.Build(t), append([]string{"healthcheck"}, c.args...)...)
		cmd.Env = append(cmd.Environ(), c.env)
		p := harness.Start(t, "healthcheck", cmd)
		wantCode(t, p, c.code)
		if c.code != 0 {
			saysOneLine(t, p, c.says)
		} else if said := p.Stdout(); len(said) != 1 || said[0] != c.says {
			t.Errorf("%s: it prints %q, want %q", c.name, said, c.says)
		}
	}
}
