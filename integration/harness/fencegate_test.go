package harness

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// fakeServe does what the harness needs to know of fencegate serve.
func fakeServe(args []string) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen, admin := flags.String("listen", "", ""), flags.String("admin", "", "")
	state, init := flags.String("state", "", ""), flags.Bool("init", false, "")
	flags.String("upstream", "", "")
	flags.String("protocol", "", "")
	if flags.Parse(args) != nil {
		return 64
	}
	ledger := filepath.Join(*state, "ledger.db")
	if _, err := os.Stat(ledger); err == nil && *init {
		return 73
	} else if err != nil && !*init {
		return 66
	}
	os.MkdirAll(*state, 0o777)
	os.WriteFile(ledger, nil, 0o666)
	data, err := net.Listen("tcp", *listen)
	if err == nil {
		var l net.Listener
		if l, err = net.Listen("tcp", *admin); err == nil {
			go http.Serve(l, fakeAdmin())
			fmt.Fprintf(os.Stderr, "not a record\n{\"msg\":\"serving\",\"data\":%q,\"admin\":%q,\"token\":9007199254740993}\n", data.Addr(), l.Addr())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 71
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
	return 5
}

func fakeAdmin() http.Handler {
	mux := http.NewServeMux()
	var asked atomic.Int32
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE c_total counter\nc_total{a=\"x\",b=\"1\"} 2\nc_total{a=\"x\",b=\"2\"} 3\nc_total{a=\"y\",b=\"1\"} 7\n# TYPE g gauge\ng 4\n")
	})
	return mux
}

func fake(t testing.TB, args ...string) *Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, self, args)
}

func TestServerKeepsStateAndAddresses(t *testing.T) {
	s := fake(t)
	data, admin := s.URL(), s.AdminURL()
	s.Pause()
	s.Kill()
	s.Restart()
	s.Restart()
	if s.URL() != data || s.AdminURL() != admin {
		t.Errorf("it moved from %s, %s to %s, %s", data, admin, s.URL(), s.AdminURL())
	}
	if logs := s.Logs(); len(logs) != 3 || logs[0].Text("token") != "9007199254740993" || logs[0].Text("none") != "" {
		t.Errorf("three runs logged %v", logs)
	}
	s.AwaitLog(Message("serving"))
	if code := s.Stop(); code != 5 {
		t.Errorf("exit code %d, want the fake's 5", code)
	}
	if err := os.Remove(filepath.Join(s.State, "ledger.db")); err != nil {
		t.Fatal(err)
	}
	if code := Start(t, "fencegate", s.Command()).Wait(); code != 66 {
		t.Errorf("a lost ledger ends with %d, want 66: nothing may be initialised again", code)
	}
}

func TestServerArgumentsReplaceDefaults(t *testing.T) {
	state := t.TempDir()
	addr := "127.0.0.1:" + freePort(t)
	s := fake(t, "--state", state, "--admin="+addr)
	if s.State != state || s.AdminURL() != "http://"+addr {
		t.Errorf("state %s and admin %s are not what was asked for", s.State, s.AdminURL())
	}
	if args := strings.Join(s.Command().Args, " "); strings.Count(args, "--state") != 1 || strings.Count(args, "--admin") != 1 {
		t.Errorf("an argument is given twice: %s", args)
	}
}

func TestMetricsAddUp(t *testing.T) {
	s := fake(t)
	m := s.Metrics()
	for _, c := range []struct {
		labels []string
		want   float64
	}{{nil, 12}, {[]string{"a=x"}, 5}, {[]string{"b=1", "a=x"}, 2}, {[]string{"a=z"}, 0}} {
		if got := m.Counter("c_total", c.labels...); got != c.want {
			t.Errorf("%v: got %v, want %v", c.labels, got, c.want)
		}
	}
	if got := m.Gauge("g"); got != 4 {
		t.Errorf("gauge is %v, want 4", got)
	}
	for want, ask := range map[string]func(Metrics){
		"no metric d_total": func(m Metrics) { m.Counter("d_total") },
		"no metric g among": func(m Metrics) { m.Counter("g") },
		`no label "as" in`:  func(m Metrics) { m.Counter("c_total", "as=x") },
	} {
		if said := failed(t, func(t testing.TB) { m.t = t; ask(m) }); !strings.Contains(said, want) {
			t.Errorf("said %q, want %q in it", said, want)
		}
	}
}

func TestServerThatDoesNotServeIsTold(t *testing.T) {
	if said := failed(t, func(t testing.TB) { fake(t, "--nonsense") }); !strings.Contains(said, "does not say that it is serving: it ended before") {
		t.Errorf("said %q", said)
	}
}
