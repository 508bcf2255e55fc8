package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed load.lua
var loadLua []byte

// load is what wrk shall do.
type load struct {
	conns, threads int
	paths          int // of all threads together
	size           int // bytes of a body, or of what is read
	reads          bool
	duration       time.Duration
}

// tally is what load.lua prints at the end of a run.
type tally struct {
	Requests int64 // answered
	Micros   int64 // that the run took
	P50, P99 int64 // latency in µs
	Bytes    int64 // of all answers, heads and bodies
	Status   int64 // answers of 400 and above
	Connect  int64 // failures of the socket, by what was tried
	Read     int64
	Write    int64
	Timeout  int64
}

// perSecond is the rate of answers.
func (t tally) perSecond() float64 { return float64(t.Requests) / (float64(t.Micros) / 1e6) }

// socketFaults counts requests without an answer.
func (t tally) socketFaults() int64 { return t.Connect + t.Read + t.Write + t.Timeout }

// parseTally finds the tally in wrk's output: its last line.
func parseTally(output []byte) (t tally, err error) {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	in := json.NewDecoder(bytes.NewReader(lines[len(lines)-1]))
	in.DisallowUnknownFields()
	if err := in.Decode(&t); err != nil {
		return t, fmt.Errorf("wrk's output does not end in a tally: %w\n%s", err, output)
	}
	if t.Requests == 0 || t.Micros <= 0 {
		return t, errors.New("wrk got no answer at all")
	}
	return t, nil
}

// wrk is the installed program with the script.
type wrk struct {
	path   string
	script string
}

// findWrk puts the script into dir.
func findWrk(dir string) (*wrk, error) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return nil, errors.New("wrk is not installed: run .ci/setup bench, or apt-get install wrk")
	}
	w := &wrk{path: path, script: filepath.Join(dir, "load.lua")}
	return w, os.WriteFile(w.script, loadLua, 0o600)
}

// run puts the load on the server at host:port. It returns also wrk's own CPU
// time.
func (w *wrk) run(ctx context.Context, l load, addr string, token tokens) (t tally, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, w.path,
		"-t", strconv.Itoa(l.threads), "-c", strconv.Itoa(l.conns),
		"-d", strconv.Itoa(max(1, int(l.duration.Seconds())))+"s", "--timeout", "20s",
		"-s", w.script, "http://"+addr, "--",
		l.prefix(), strconv.Itoa(l.paths/l.threads), strconv.Itoa(l.size), token.kind(), token.first(), l.method())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		return t, 0, fmt.Errorf("wrk: %w\n%s%s", err, output, complaints.Bytes())
	}
	if complaints.Len() > 0 { // an error in the script; wrk goes on all the same
		return t, 0, fmt.Errorf("wrk: %s", complaints.Bytes())
	}
	t, err = parseTally(output)
	return t, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

func (l load) method() string {
	if l.reads {
		return "GET"
	}
	return "PUT"
}

// tokens says which tokens a load carries.
type tokens struct {
	rising bool
	none   bool
	token  int64 // of all requests, unless they rise
}

func (t tokens) kind() string {
	if t.rising {
		return "rising"
	}
	if t.none {
		return "none"
	}
	return "equal"
}

// first returns the token to begin with. Rising ones begin with the time in µs,
// and no thread sends one request per µs: a later run begins higher than this
// one ends.
func (t tokens) first() string {
	if t.rising {
		return strconv.FormatInt(time.Now().UnixMicro(), 10)
	}
	return strconv.FormatInt(t.token, 10)
}
