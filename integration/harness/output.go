package harness

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

type stream string

const (
	stdout stream = "out"
	stderr stream = "err"
)

type line struct {
	stream stream
	text   string
}

// output keeps what a process prints, both streams in the order in which they
// came, and wakes who waits for it.
type output struct {
	mu    sync.Mutex
	lines []line
	ended bool
	news  chan struct{} // closed and replaced when a line came or all ended
}

func newOutput() *output { return &output{news: make(chan struct{})} }

func (o *output) add(lines ...line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, lines...)
	close(o.news)
	o.news = make(chan struct{})
}

func (o *output) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.add()
}

// of returns the lines of one stream.
func (o *output) of(s stream) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var texts []string
	for _, l := range o.lines {
		if l.stream == s {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// tail returns the last n lines as they are shown to people.
func (o *output) tail(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, l := range o.lines[max(0, len(o.lines)-n):] {
		fmt.Fprintf(&b, "    %s| %s\n", l.stream, l.text)
	}
	return b.String()
}

// await returns the first line of stream s from number *next on that match
// accepts, and sets *next behind it.
func (o *output) await(s stream, next *int, match func(string) bool) (string, error) {
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		o.mu.Lock()
		for ; *next < len(o.lines); *next++ {
			if l := o.lines[*next]; l.stream == s && match(l.text) {
				*next++
				o.mu.Unlock()
				return l.text, nil
			}
		}
		ended, news := o.ended, o.news
		o.mu.Unlock()
		if ended {
			return "", errors.New("it ended before")
		}
		select {
		case <-news:
		case <-timeout.C:
			return "", fmt.Errorf("not within %v", Patience)
		}
	}
}

// A lineWriter cuts one stream of a process into lines.
type lineWriter struct {
	stream stream
	to     *output
	rest   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.to.add(line{w.stream, string(w.rest[:i])})
		w.rest = w.rest[i+1:]
	}
}

// flush keeps a last line that was never finished.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.to.add(line{w.stream, string(w.rest)})
	}
}
