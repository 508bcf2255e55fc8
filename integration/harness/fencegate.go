package harness

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A Server is a running fencegate serve. It keeps its addresses, its state and
// its arguments over restarts.
type Server struct {
	t     testing.TB
	path  string
	args  []string
	State string // the state directory
	Data  string // what it stores in, unless the arguments name another upstream

	data, admin string // addresses, known from the first start on
	proc        *Process
	before      []*Process // earlier runs
}

// Fencegate starts fencegate serve with args added to what a test needs: free
// ports, a state directory and an embedded store of its own, and on the first
// start a new ledger. An argument that is given here replaces the default. It
// returns when the server is ready.
func Fencegate(t testing.TB, args ...string) *Server {
	t.Helper()
	return newServer(t, Build(t), args)
}

func newServer(t testing.TB, path string, args []string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{t: t, path: path, args: args, State: filepath.Join(dir, "state"), Data: filepath.Join(dir, "data")}
	if state, ok := argument(args, "--state"); ok {
		s.State = state
	}
	if err := os.MkdirAll(s.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.AwaitReady()
	return s
}

// URL and AdminURL return http://host:port of the two listeners.
func (s *Server) URL() string      { return "http://" + s.data }
func (s *Server) AdminURL() string { return "http://" + s.admin }

// Start starts it, again after Kill or Stop, and waits until it has its
// addresses. It may not be ready then: see AwaitReady.
func (s *Server) Start() {
	s.t.Helper()
	Eventually(s.t, "fencegate to get its addresses", func() (any, bool) {
		cmd := s.Command()
		if s.proc != nil {
			s.before = append(s.before, s.proc)
		}
		s.proc = Start(s.t, "fencegate", cmd)
		serving, err := s.awaitLog(Message("serving"))
		if err != nil {
			// Between two runs somebody else may have got the port.
			if strings.Contains(strings.Join(s.proc.Stderr(), "\n"), "address already in use") {
				return err, false
			}
			s.t.Fatalf("fencegate does not say that it is serving: %v", err)
		}
		s.data, s.admin = serving.Text("data"), serving.Text("admin")
		return nil, true
	})
}

// AwaitReady waits until /readyz says 200.
func (s *Server) AwaitReady() {
	s.t.Helper()
	Eventually(s.t, "fencegate to be ready", func() (any, bool) {
		select {
		case <-s.proc.Exited():
			s.t.Fatal("fencegate ended before it was ready")
		default:
		}
		status, body, err := s.ask("/readyz")
		return fmt.Sprint(status, " ", body, err), status == http.StatusOK
	})
}

// Restart kills it if it runs, starts it again and waits until it is ready.
func (s *Server) Restart() {
	s.t.Helper()
	s.proc.end()
	s.Start()
	s.AwaitReady()
}

// Kill is kill -9, paused or not.
func (s *Server) Kill() { s.t.Helper(); s.proc.Kill() }

// Stop asks it to end, as TERM does, and returns its exit code.
func (s *Server) Stop() int {
	s.t.Helper()
	s.proc.Signal(syscall.SIGTERM)
	return s.proc.Wait()
}

// Pause stops it as a suspended machine stops, Resume lets it go on.
func (s *Server) Pause()  { s.t.Helper(); s.proc.Pause() }
func (s *Server) Resume() { s.t.Helper(); s.proc.Resume() }

// Process returns the current run.
func (s *Server) Process() *Process { return s.proc }
