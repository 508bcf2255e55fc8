package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A Recorder writes operations as they are called and as they return. It is
// safe for concurrent use.
type Recorder struct {
	mu  sync.Mutex
	out io.Writer
	now func() int64
}

// NewRecorder returns a recorder to out, which gets one Write for each line, and
// should not buffer. now is CLOCK_MONOTONIC.
func NewRecorder(out io.Writer, now func() int64) *Recorder {
	return &Recorder{out: out, now: now}
}

// Called notes that o is about to be sent, and sets its time of call.
func (r *Recorder) Called(o *Operation) error {
	o.Call = r.now()
	return r.write(o)
}

// Returned notes what became of o, and sets its time of return.
func (r *Recorder) Returned(o *Operation) error {
	o.Return = r.now()
	return r.write(o)
}

func (r *Recorder) write(o *Operation) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// Read returns the operations that one recorder has written. Only the last line
// may be torn: its writer was killed, before it sent what the line announces or
// after it was answered.
func Read(in io.Reader) ([]Operation, error) {
	var operations []Operation
	index := map[string]int{}
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return operations, nil
		}
		if err != nil {
			return nil, err
		}
		var o Operation
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil || o.ID == "" {
			return nil, fmt.Errorf("line %d is no operation: %q, %w", number, line, err)
		}
		if i, again := index[o.ID]; again {
			if operations[i].Return != 0 || o.Return == 0 {
				return nil, fmt.Errorf("line %d: operation %s was called or returned twice", number, o.ID)
			}
			operations[i] = o
			continue
		}
		index[o.ID] = len(operations)
		operations = append(operations, o)
	}
}

// Save keeps a history and what was found in it in the files operations.jsonl,
// effects.jsonl and violations.jsonl.
func Save(dir string, h History, v Verdict) error {
	for name, write := range map[string]func(io.Writer) error{
		"operations.jsonl": func(out io.Writer) error { return writeLines(out, h.Operations) },
		"effects.jsonl":    func(out io.Writer) error { return writeLines(out, h.Effects) },
		"violations.jsonl": func(out io.Writer) error { return writeLines(out, v.Violations) },
	} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := errors.Join(write(file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func writeLines[T any](out io.Writer, items []T) error {
	buffered := bufio.NewWriter(out)
	lines := json.NewEncoder(buffered)
	for i := range items {
		if err := lines.Encode(&items[i]); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
