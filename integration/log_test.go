package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// piped is a fencegate whose standard error is a pipe that the test holds.
type piped struct {
	t           testing.TB
	log         *os.File
	process     *os.Process
	ended       chan int // its exit code
	data, admin string
}

// startPiped reads the log up to the record that it serves.
func startPiped(t testing.TB) *piped {
	t.Helper()
	p := newPlace(t)
	p.args = []string{"--init"}
	cmd := p.command()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	piped := &piped{t: t, log: r, process: cmd.Process, ended: make(chan int, 1)}
	go func() {
		_ = cmd.Wait()
		piped.ended <- cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		r.Close()
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	var serving struct{ Msg, Data, Admin string }
	if err != nil || json.Unmarshal([]byte(line), &serving) != nil || serving.Msg != "serving" {
		t.Fatalf("it says %q, %v", line, err)
	}
	piped.data, piped.admin = "http://"+serving.Data, "http://"+serving.Admin
	return piped
}

// refused has it refuse a write, which it logs.
func (p *piped) refused(path string) {
	p.t.Helper()
	a, err := send(http.DefaultClient, "PUT", p.data+path, fence.Stamp{}, strings.NewReader("x"))
	if err != nil || a.String() != "428 token_missing" {
		p.t.Fatalf("PUT %s: %v, %v", path, a, err)
	}
}

// ends has it stop in order.
func (p *piped) ends() {
	p.t.Helper()
	if err := p.process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case code := <-p.ended:
		if code != 0 {
			p.t.Errorf("exit code %d", code)
		}
	case <-time.After(harness.Patience):
		p.t.Fatal("TERM does not end it")
	}
}

// Nobody reads the log any more. Shown: requests are answered and the process
// ends all the same, and the records that are lost are counted.
func TestLogThatNobodyReads(t *testing.T) {
	t.Parallel()
	p := startPiped(t)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := 0; ; i++ {
		p.refused(fmt.Sprintf("/%d/%s", i, strings.Repeat("long", 500)))
		if i%200 > 0 {
			continue
		}
		a, err := send(http.DefaultClient, "GET", p.admin+"/metrics", fence.Stamp{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(a.body, "\nfencegate_log_dropped_total 0\n") {
			break
		}
		if i > 5000 {
			t.Fatal("no record is dropped")
		}
		<-second.C // more refusals in a second have no records
	}
	p.ends()
}

// Whoever reads the log ends.
func TestLogThatIsClosed(t *testing.T) {
	t.Parallel()
	p := startPiped(t)
	p.log.Close()
	p.refused("/a")
	harness.Eventually(t, "the lost record to be counted", func() (any, bool) {
		a, err := send(http.DefaultClient, "GET", p.admin+"/metrics", fence.Stamp{}, nil)
		return err, err == nil && !strings.Contains(a.body, "\nfencegate_log_dropped_total 0\n")
	})
	p.refused("/b")
	p.ends()
}
