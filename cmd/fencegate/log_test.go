package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// valve is a log that is not read until it is opened.
type valve struct {
	opened  chan struct{}
	entered chan struct{} // closed when something is being written; may be nil
	once    sync.Once
	mu      sync.Mutex
	text    bytes.Buffer
}

func (v *valve) Write(p []byte) (int, error) {
	v.once.Do(func() {
		if v.entered != nil {
			close(v.entered)
		}
	})
	<-v.opened
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.Write(p)
}

// A log that is not read holds nobody up: what does not fit is dropped, and
// told once it is read again.
func TestLogIsNotRead(t *testing.T) {
	const more = 7
	out := &valve{opened: make(chan struct{}), entered: make(chan struct{})}
	w := newLogWriter(out)
	reg := prometheus.NewRegistry()
	w.register(reg)
	log := slog.New(slog.NewJSONHandler(w, nil))
	log.Info("taken")
	<-out.entered // it is being written
	for i := range logQueue + more {
		log.Info("record", "i", i)
	}
	if got, err := reg.Gather(); err != nil || len(got) != 1 || got[0].GetMetric()[0].GetCounter().GetValue() != more {
		t.Errorf("the metric is %v, %v, want %d", got, err, more)
	}
	close(out.opened)
	w.flush(time.Minute)
	lines := strings.Split(strings.TrimSpace(out.text.String()), "\n")
	if len(lines) != 1+1+logQueue || !strings.Contains(lines[1], fmt.Sprintf(`"log records dropped","count":%d`, more)) ||
		!strings.Contains(lines[len(lines)-1], fmt.Sprintf(`"i":%d`, logQueue-1)) {
		t.Errorf("%d lines, the second %s, the last %s", len(lines), lines[1], lines[len(lines)-1])
	}
}

// What waits for the log at the start and at the end has a limit.
func TestLogWaitIsLimited(t *testing.T) {
	for name, wait := range map[string]func(io.Writer){
		"flush": func(out io.Writer) {
			w := &logWriter{out: out, queue: make(chan []byte, logQueue), flushes: make(chan chan struct{})}
			w.flush(logPatience) // nobody takes it, as while a record is being written
		},
		"error": func(out io.Writer) { writeWithin(out, logPatience, "text") },
	} {
		synctest.Test(t, func(t *testing.T) {
			out := &valve{opened: make(chan struct{})}
			start := time.Now()
			wait(out)
			if took := time.Since(start); took != logPatience {
				t.Errorf("%s: %s, want %s", name, took, logPatience)
			}
			close(out.opened)
		})
	}
}
