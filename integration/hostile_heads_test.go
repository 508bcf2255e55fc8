package integration

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fencegate/integration/harness"
)

// Heads that never end are cut, and meanwhile others are served.
func TestHostileSlowHeads(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a head may take, 10 s")
	}
	t.Parallel()
	s := harness.Fencegate(t)
	var slow []*wire
	for range 64 {
		w := dial(t, s)
		w.send("PUT /slow HTTP/1.1\nHost: x\nX-Fencing-Token: 9\nX-Slow: ")
		slow = append(slow, w)
	}
	end := make(chan struct{})
	defer close(end)
	go func() {
		for tick := time.Tick(500 * time.Millisecond); ; {
			select {
			case <-tick:
				for _, w := range slow {
					_, _ = io.WriteString(w.Conn, "x") // to one that is cut it fails
				}
			case <-end:
				return
			}
		}
	}()
	holder := stampOf(5, "holder")
	says(t, s, "201", "PUT", report, holder, "others are served")
	for _, w := range slow {
		if answers := w.ends(); len(answers) > 0 {
			t.Fatalf("half a head is answered %q", answers)
		}
	}
	says(t, s, "204", "PUT", report, holder, "afterwards too")
	if m := markOf(t, s, "/slow"); m.Token != "0" {
		t.Errorf("half a head has raised a mark: %+v", m)
	}
}

// A head has 64 KiB.
func TestHostileLongHeads(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	const head = "GET /none HTTP/1.1\nHost: x\n"
	w := dial(t, s)
	w.send(head + "X-Long: " + strings.Repeat("x", 60<<10) + "\n\n")
	w.says("404", http.MethodGet)
	w.send(head + strings.Repeat("X-Many: x\n", 5900) + "\n")
	w.says("404", http.MethodGet)
	for name, long := range map[string]string{
		"one header":   "X-Long: " + strings.Repeat("x", 80<<10),
		"many headers": strings.Repeat("X-Many: x\n", 8<<10),
	} {
		w := dial(t, s)
		w.send(head + long)
		if answers := w.ends(); len(answers) != 1 || answers[0] != "431" {
			t.Errorf("%s: 80 KiB of head are answered %q, want 431 and the end", name, answers)
		}
	}
}
