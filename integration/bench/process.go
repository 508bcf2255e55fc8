package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience is how long anything here may take that should take no time.
const patience = 30 * time.Second

// process is a running server.
type process struct {
	name   string
	cmd    *exec.Cmd
	lines  chan string   // the last of what it has printed
	exited chan struct{} // closed when it has ended and all it printed is in the file
	file   string        // where all that it prints goes
}

// startProcess starts cmd, and keeps what it prints in dir.
func startProcess(dir, name string, cmd *exec.Cmd) (*process, error) {
	p := &process{name: name, cmd: cmd, lines: make(chan string, 1000), exited: make(chan struct{}), file: filepath.Join(dir, name+".log")}
	log, err := os.Create(p.file)
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		log.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = to, to
	bind(cmd)
	err = cmd.Start()
	to.Close()
	if err != nil {
		from.Close()
		log.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		in := bufio.NewScanner(io.TeeReader(from, log))
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			for kept := false; !kept; {
				select {
				case p.lines <- in.Text():
					kept = true
				default: // nobody takes them: the oldest one goes
					select {
					case <-p.lines:
					default:
					}
				}
			}
		}
		close(p.lines)
		from.Close()
		log.Close()
		_ = cmd.Wait() // how it ended is told by what it printed
		close(p.exited)
	}()
	return p, nil
}

// await returns the first line with text in it, or an error with all lines
// before the end of the process.
func (p *process) await(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var seen []string
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				return "", &endedError{p.name, seen}
			}
			if strings.Contains(line, text) {
				return line, nil
			}
			seen = append(seen, line)
		case <-ctx.Done():
			return "", fmt.Errorf("%s does not say %q: %w; see %s", p.name, text, ctx.Err(), p.file)
		}
	}
}

// endedError is of a process that ended instead of saying what was awaited.
type endedError struct {
	name  string
	lines []string
}

func (e *endedError) Error() string {
	return e.name + " has ended:\n\t" + strings.Join(e.lines, "\n\t")
}

// stop ends the process.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s had to be killed, since it did not end in %v; see %s", p.name, patience, p.file)
	}
}

// cpu returns the CPU time used so far, with that of its children.
func (p *process) cpu() (time.Duration, error) { return cpuTime(p.cmd.Process.Pid) }
