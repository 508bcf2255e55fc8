package integration

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// What a command is told is true: it is what Redis and the fence know, and an
// outer lock's does not shine through.
func TestLockTellsItsCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cmd := s.lockCommand("-r", "/r%20%C3%A4", "--ttl", "20s", "--", "bash", "-c",
		`trap 'exit 0' TERM
for v in TOKEN OWNER CLIENT RESOURCE DEADLINE; do n=FENCING_$v; echo "$n=${!n}"; done; echo "FENCEGATE_FENCE=$FENCEGATE_FENCE"
echo "OTHER=$OTHER"; while :; do sleep 0.02; done`)
	cmd.Env = append(cmd.Environ(), "FENCING_TOKEN=1", "FENCING_OWNER=outer", "FENCING_RESOURCE=/outer", "OTHER=stays")
	begin := time.Now()
	p := harness.Start(t, "lock", cmd)
	told := map[string]string{}
	for _, name := range []string{"FENCING_TOKEN", "FENCING_OWNER", "FENCING_CLIENT", "FENCING_RESOURCE", "FENCING_DEADLINE", "FENCEGATE_FENCE", "OTHER"} {
		told[name] = strings.TrimPrefix(p.AwaitLine(name+"="), name+"=")
	}
	held, err := s.rdb.Get(context.Background(), lockKey("/r ä")).Result()
	if err != nil || held != told["FENCING_TOKEN"]+":"+told["FENCING_OWNER"] {
		t.Errorf("Redis has %q, %v", held, err)
	}
	token, err := fence.ParseToken(told["FENCING_TOKEN"], fence.DefaultMaxToken)
	if err != nil {
		t.Fatal(err)
	}
	isMarked(t, s.fence, "/r%20ä", fence.Stamp{Token: token, Owner: fence.Owner(told["FENCING_OWNER"]), Client: told["FENCING_CLIENT"]}, "mark")
	if told["FENCING_RESOURCE"] != "/r%20ä" || told["FENCEGATE_FENCE"] != s.fence.URL() || told["OTHER"] != "stays" {
		t.Errorf("it is told %q", told)
	}
	if !strings.Contains(told["FENCING_CLIENT"], strconv.Itoa(p.PID())) {
		t.Errorf("FENCING_CLIENT %q does not name the process %d", told["FENCING_CLIENT"], p.PID())
	}
	ms, err := strconv.ParseInt(told["FENCING_DEADLINE"], 10, 64)
	if end := time.UnixMilli(ms); err != nil || end.Before(begin.Add(15*time.Second)) || end.After(time.Now().Add(20*time.Second)) {
		t.Errorf("FENCING_DEADLINE %q is not 20 s from the start, %v", told["FENCING_DEADLINE"], err)
	}
	p.Signal(15)
	wantCode(t, p, 0)
	// A shell shows one of two variables with the same name, and others may
	// take the other.
	cmd = s.lockCommand("--", "env")
	cmd.Env = append(cmd.Environ(), "FENCING_TOKEN=1", "FENCEGATE_FENCE="+s.fence.URL())
	raw := harness.Start(t, "lock", cmd)
	wantCode(t, raw, 0)
	for _, name := range []string{"\nFENCING_TOKEN=", "\nFENCEGATE_FENCE="} {
		if n := strings.Count("\n"+strings.Join(raw.Stdout(), "\n"), name); n != 1 {
			t.Errorf("%q is there %d times", name, n)
		}
	}
	printed := strings.Join(s.fence.Process().Stderr(), "\n")
	if strings.Contains(printed, told["FENCING_OWNER"]) {
		t.Error("the owner is logged")
	}
}

// The settings come from the environment too, and a tree is claimed as one.
func TestLockFromTheEnvironment(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cmd := s.lockCommand()
	cmd.Args = []string{cmd.Args[0], "lock", "-r", "/blocks/t1", "--tree", "--namespace", "other", "echo", "--", "-n"}
	cmd.Env = append(cmd.Environ(), "FENCEGATE_REDIS=redis://"+s.redis.Addr()+"/0", "FENCEGATE_FENCE="+s.fence.URL()+"/")
	p := harness.Start(t, "lock", cmd)
	wantCode(t, p, 0)
	if said := p.Stdout(); len(said) != 1 || said[0] != "-- -n" {
		t.Errorf("the command prints %q: its arguments were touched", said)
	}
	if m := markOf(t, s.fence, "/blocks/t1/below"); m.Via != "floor" {
		t.Errorf("below the tree there is %+v, want a floor", m)
	}
	if n := s.rdb.Exists(context.Background(), "{other}:token").Val(); n != 1 {
		t.Error("the namespace has no counter")
	}
}

// The command gets no password: it needs none to write.
func TestLockKeepsThePasswordForItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct{ value, want string }{
		{"redis://default:hush-hush@127.0.0.1:1", "unset"}, {"127.0.0.1:1", "127.0.0.1:1"},
	} {
		cmd := s.lockCommand("--", "bash", "-c", `echo "${FENCEGATE_REDIS-unset}"`)
		cmd.Env = append(cmd.Environ(), "FENCEGATE_REDIS="+c.value)
		p := harness.Start(t, "lock", cmd)
		wantCode(t, p, 0)
		if said := strings.Join(p.Stdout(), "\n"); said != c.want {
			t.Errorf("of %q the command gets %q, want %q", c.value, said, c.want)
		}
	}
}
