package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/integration/harness"
)

// clientOf is a client of a Redis for the test.
func clientOf(t testing.TB, r *harness.RedisServer) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: r.Addr()})
	t.Cleanup(func() { c.Close() })
	return c
}

// Several Redis are nodes of a Redlock: a majority gives the lock, a minority
// that is dead does no harm, and fewer than a majority give none.
func TestLockInSeveralRedis(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	var nodes []*harness.RedisServer
	var flags []string
	for range 3 {
		nodes = append(nodes, harness.Redis(t, savesNow...))
		flags = append(flags, "--redis", nodes[len(nodes)-1].Addr())
	}
	lock := func(args ...string) *harness.Process {
		return harness.Start(t, "lock", lockAt(t, "", f.URL(), append(flags, args...)...))
	}
	p := lock("--", "bash", "-c", `trap 'exit 0' TERM; echo "held $FENCING_TOKEN:$FENCING_OWNER"; while :; do sleep 0.02; done`)
	held := strings.TrimPrefix(p.AwaitLine("held "), "held ")
	for i, n := range nodes {
		harness.Eventually(t, fmt.Sprintf("node %d to know the holder", i), func() (any, bool) {
			value, err := clientOf(t, n).Get(context.Background(), lockKey(report)).Result()
			_, owner, _ := strings.Cut(held, ":")
			return fmt.Sprint(value, err), strings.HasSuffix(value, ":"+owner) // the number may be a node's own
		})
	}
	if m := markOf(t, f, report); m.Token == "0" || !strings.HasPrefix(held, m.Token+":") {
		t.Errorf("the mark is %+v, the command has %s", m, held)
	}
	q := lock("-w", "0.3", "--", "true")
	wantCode(t, q, 75)
	saysOneLine(t, q, "held by another")
	p.Signal(15)
	wantCode(t, p, 0)

	nodes[1].Kill()
	prints(t, lock("--", "echo", "by two"), "by two")
	nodes[2].Kill()
	q = lock("-w", "0.5", "--", "echo", "has run")
	wantCode(t, q, 69)
	if len(q.Stdout()) > 0 || !strings.Contains(strings.Join(q.Stderr(), ""), "quorum") {
		t.Errorf("one of three gives the lock: %q %q", q.Stdout(), q.Stderr())
	}
}

// The nodes can stand in the variable, with blanks between; one that is named
// twice is none of its own.
func TestLockInSeveralRedisByTheEnvironment(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	a, b, c := harness.Redis(t, savesNow...), harness.Redis(t, savesNow...), harness.Redis(t, savesNow...)
	run := func(value string) *harness.Process {
		cmd := exec.Command(harness.Build(t), "lock", "-r", report, "--fence", f.URL(), "--", "bash", "-c", `echo "${FENCEGATE_REDIS-unset}"`)
		cmd.Env = append(cmd.Environ(), "FENCEGATE_REDIS="+value)
		return harness.Start(t, "lock", cmd)
	}
	three := a.Addr() + "  " + b.Addr() + "\tredis://" + c.Addr()
	prints(t, run(three), three)
	prints(t, run(a.Addr()+" "+b.Addr()+" redis://:hush@"+c.Addr()+" "), "unset") // a password that nobody asks for

	p := run(a.Addr() + " " + b.Addr() + " " + strings.Replace(a.Addr(), "127.0.0.1", "localhost", 1))
	wantCode(t, p, 64)
	saysOneLine(t, p, "same redis")
}

// A Redis whose master the Sentinels know: after a failover the lock is taken at
// the new one. Passwords come from files.
func TestLockBehindSentinels(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	user := []string{"--user", "alice", "on", ">inner", "~*", "&*", "+@all"}
	master := harness.Redis(t, append(user, savesNow...)...)
	host, port, _ := net.SplitHostPort(master.Addr())
	replica := harness.Redis(t, append(user, "--save", "3600 1000000", "--replicaof", host, port)...)
	harness.Eventually(t, "the replica to follow", func() (any, bool) {
		info, err := clientOf(t, replica).Info(context.Background(), "replication").Result()
		return fmt.Sprint(info, err), strings.Contains(info, "master_link_status:up")
	})
	dir := t.TempDir()
	inner, outer := file(t, dir+"/inner", "inner\nnot this\n"), file(t, dir+"/outer", "outer\r\n")
	conf := file(t, dir+"/sentinel.conf", fmt.Sprintf(`bind 127.0.0.1
port %s
dir %s
requirepass outer
sentinel monitor the-master %s %s 1
sentinel down-after-milliseconds the-master 500
sentinel failover-timeout the-master 5000
`, portOf(closedAddr(t)), dir, host, port))
	sentinel := harness.Start(t, "sentinel", exec.Command("redis-server", conf, "--sentinel"))
	sentinel.AwaitLine("+monitor master the-master")
	sentinel.AwaitLine("+slave slave")
	text, _ := os.ReadFile(conf)
	_, rest, _ := strings.Cut(string(text), "\nport ")
	addr := "127.0.0.1:" + strings.Fields(rest)[0]

	lock := func(args ...string) *harness.Process {
		return harness.Start(t, "lock", lockAt(t, "redis://alice@"+addr, f.URL(), append([]string{
			"--sentinel", "the-master", "--redis-password-file", inner, "--sentinel-password-file", outer}, args...)...))
	}
	prints(t, lock("--", "echo", "by the master"), "by the master")
	if n := clientOf(t, master).Exists(context.Background(), counterKey).Val(); n != 1 {
		t.Error("the master has no counter")
	}
	master.Kill()
	sentinel.AwaitLine("+switch-master the-master")
	prints(t, lock("-w", "20", "--", "echo", "by the replica"), "by the replica")
	if n := clientOf(t, replica).Exists(context.Background(), lockKey(report)).Val(); n != 0 {
		t.Error("the lock is not given back at the new master")
	}
	for _, wrong := range [][]string{
		{"--sentinel-password-file", inner}, {"--sentinel", "no-such"},
	} {
		p := harness.Start(t, "lock", lockAt(t, "redis://alice@"+addr, f.URL(), append([]string{
			"--sentinel", "the-master", "--redis-password-file", inner, "--sentinel-password-file", outer, "-w", "1"}, append(wrong, "--", "true")...)...))
		wantCode(t, p, 69)
		for _, line := range p.Stderr() {
			if strings.Contains(line, "outer") || strings.Contains(line, "inner\"") {
				t.Errorf("a password is shown: %s", line)
			}
		}
	}
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// The password file of a user of Redis' own, and a wrong one.
func TestLockWithAPasswordFile(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	r := harness.Redis(t, append([]string{"--user", "alice", "on", ">hush-hush", "~*", "&*", "+@all"}, savesNow...)...)
	dir := t.TempDir()
	good, bad := file(t, dir+"/good", "hush-hush\n"), file(t, dir+"/bad", "wrong-word")
	prints(t, harness.Start(t, "lock", lockAt(t, "redis://alice@"+r.Addr(), f.URL(), "--redis-password-file", good, "--", "echo", "in")), "in")
	p := harness.Start(t, "lock", lockAt(t, "redis://alice@"+r.Addr(), f.URL(), "--redis-password-file", bad, "-n", "--", "true"))
	wantCode(t, p, 69)
	saysOneLine(t, p, "WRONGPASS")
	if strings.Contains(p.Stderr()[0], "wrong-word") {
		t.Errorf("it shows the password: %s", p.Stderr())
	}
}

// Through TLS, with a CA that the environment names; without it not.
func TestLockThroughTLS(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	ca, cert, key := certificates(t)
	port := portOf(closedAddr(t))
	harness.Redis(t, append([]string{"--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no"}, savesNow...)...)
	lock := func(env string) *harness.Process {
		cmd := lockAt(t, "rediss://127.0.0.1:"+port, f.URL(), "-n", "--", "echo", "in")
		cmd.Env = append(cmd.Environ(), "GORACE=exitcode=86 atexit_sleep_ms=20", env)
		return harness.Start(t, "lock", cmd)
	}
	prints(t, lock("SSL_CERT_FILE="+ca), "in")
	p := lock("SSL_CERT_FILE=" + file(t, t.TempDir()+"/none", ""))
	wantCode(t, p, 69)
	saysOneLine(t, p, "certificate")
}

// certificates returns the files of a CA, and of a server at 127.0.0.1 with its
// key.
func certificates(t testing.TB) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		return file(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	make := func(of, by *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = own
		}
		der, err := x509.CreateCertificate(rand.Reader, of, by, own.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, own
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, signer := make(authority, authority, nil)
	ca = write("ca.pem", "CERTIFICATE", der)
	server := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: from, NotAfter: to, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, own := make(server, authority, signer)
	cert = write("server.pem", "CERTIFICATE", der)
	if der, err := x509.MarshalECPrivateKey(own); err != nil {
		t.Fatal(err)
	} else {
		key = write("server.key", "EC PRIVATE KEY", der)
	}
	return ca, cert, key
}

// A Redis whose settings can cost locks is warned of, once and first, and used.
func TestLockWarnsOfRedisSettings(t *testing.T) {
	t.Parallel()
	f := harness.Fencegate(t)
	r := harness.Redis(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	p := harness.Start(t, "lock", lockAt(t, r.Addr(), f.URL(), "--", "echo", "in"))
	prints(t, p, "in")
	said := strings.Join(p.Stderr(), "\n")
	if len(p.Stderr()) != 2 || strings.Count(said, "fencegate: warning: ") != 2 || !strings.Contains(said, "appendonly") || !strings.Contains(said, "allkeys-lru") {
		t.Errorf("it says %q", said)
	}
}
