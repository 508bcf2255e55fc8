package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// upload is a PUT whose body the test sends piece by piece.
type upload struct {
	body   *io.PipeWriter
	answer chan string
}

func startUpload(s *harness.Server, path string, stamp fence.Stamp) *upload {
	r, w := io.Pipe()
	u := &upload{w, make(chan string, 1)}
	go func() {
		a, err := send(fresh, http.MethodPut, s.URL()+path, stamp, r)
		if err != nil {
			u.answer <- err.Error()
			return
		}
		u.answer <- a.String()
	}()
	return u
}

// arrive sends a piece and waits until fencegate has it.
func (u *upload) arrive(t testing.TB, s *harness.Server, piece string) {
	t.Helper()
	if _, err := io.WriteString(u.body, piece); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the first piece to arrive", func() (any, bool) {
		n := s.Metrics().Gauge("fencegate_spool_bytes")
		return n, n >= float64(len(piece))
	})
}

// readiness is what /readyz says.
func readiness(s *harness.Server) string {
	a, err := send(fresh, http.MethodGet, s.AdminURL()+"/readyz", fence.Stamp{}, nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.status, " ", strings.TrimSpace(a.body))
}

// TERM while an upload is on its way. Shown: nothing that was accepted is lost,
// nothing new begins, and a clean end needs no hold at the next start.
func TestStopLetsAnUploadEnd(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--settle", "5s", "--max-wait", "20s") // a new ledger holds once
	holder := stampOf(7, "holder")
	u := startUpload(s, report, holder)
	u.arrive(t, s, strings.Repeat("slow ", 1000))
	s.Process().Signal(syscall.SIGTERM)
	harness.Eventually(t, "/readyz to tell that it stops", func() (any, bool) {
		said := readiness(s)
		return said, strings.HasPrefix(said, "503 draining")
	})
	a, err := send(fresh, http.MethodPut, s.URL()+"/new", holder, strings.NewReader("new"))
	if err == nil && a.String() != "503 draining" {
		t.Errorf("a new write is answered %v while it stops", a)
	}
	select {
	case said := <-u.answer:
		t.Fatalf("the upload ended before its body: %s", said)
	case <-s.Process().Exited():
		t.Fatal("it ended with an upload on its way")
	default:
	}
	if _, err := io.WriteString(u.body, "end"); err != nil {
		t.Fatal(err)
	}
	u.body.Close()
	if said := <-u.answer; said != "201" {
		t.Errorf("the upload is answered %s", said)
	}
	if code := s.Process().Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	s.Start()
	if said := readiness(s); said != "200 ready" {
		t.Errorf("after a clean end /readyz says %s", said)
	}
	says(t, s, "201", "PUT", "/new", holder, "new")
	holds(t, s, report, strings.Repeat("slow ", 1000)+"end")
}

// An upload that does not end within the drain time is cut, and then nothing of
// it is there.
func TestStopCutsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--drain", "100ms")
	u := startUpload(s, report, stampOf(7, "holder"))
	u.arrive(t, s, "never ending")
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	u.body.CloseWithError(io.ErrUnexpectedEOF) // or net/http goes on reading it
	if said := <-u.answer; strings.HasPrefix(said, "2") {
		t.Errorf("half an upload is answered %s", said)
	}
	s.Restart()
	says(t, s, "404", "GET", report, fence.Stamp{}, "")
	isSwept(t, s)
}
