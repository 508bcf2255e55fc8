package main

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// logQueue is how many records may wait for whoever reads the log.
	logQueue = 1024
	// logPatience is how long the start and the end wait for that reader.
	logPatience = time.Second
)

// logWriter hands records to a writer that may be slow, or never return: a pipe
// that nobody reads. Requests, and the end of the process, must not wait for
// it, so records beyond the queue are dropped, and it is told how many.
type logWriter struct {
	out     io.Writer
	queue   chan []byte
	dropped atomic.Uint64
	flushes chan chan struct{}
}

func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, queue: make(chan []byte, logQueue), flushes: make(chan chan struct{})}
	go w.run()
	return w
}

// Write takes one record, and never blocks.
func (w *logWriter) Write(record []byte) (int, error) {
	select {
	case w.queue <- append([]byte(nil), record...):
	default:
		w.dropped.Add(1)
	}
	return len(record), nil
}

// run writes for as long as the process lives.
func (w *logWriter) run() {
	var told uint64
	write := func(record []byte) {
		if dropped := w.dropped.Load(); dropped > told {
			w.tell(dropped - told)
			told = dropped
		}
		if _, err := w.out.Write(record); err != nil {
			w.dropped.Add(1)
		}
	}
	for {
		select {
		case record := <-w.queue:
			write(record)
		case flushed := <-w.flushes:
			for len(w.queue) > 0 {
				write(<-w.queue)
			}
			close(flushed)
		}
	}
}

func (w *logWriter) tell(dropped uint64) {
	slog.New(slog.NewJSONHandler(w.out, nil)).Warn("log records dropped", "count", dropped)
}

// flush waits until all records are written, but not for longer than limit.
func (w *logWriter) flush(limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	flushed := make(chan struct{})
	select {
	case w.flushes <- flushed:
	case <-end.C:
		return
	}
	select {
	case <-flushed:
	case <-end.C:
	}
}

// register tells the number of dropped records as a metric.
func (w *logWriter) register(reg prometheus.Registerer) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "fencegate_log_dropped_total", Help: "Log records that were dropped because standard error did not take them.",
	}, func() float64 { return float64(w.dropped.Load()) }))
}

// writeWithin writes text, but gives up after limit.
func writeWithin(out io.Writer, limit time.Duration, text string) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(out, text)
	}()
	select {
	case <-written:
	case <-time.After(limit):
	}
}
