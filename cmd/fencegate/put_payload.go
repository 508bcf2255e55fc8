package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// payload is what one request sends: a file, a pipe or standard input. net/http
// reads it in a goroutine of its own, which may go on after the request.
type payload struct {
	from io.Reader
	file *os.File       // nil: standard input
	pipe *io.PipeReader // not nil: what may keep a reader waiting
	info fs.FileInfo
	size int64 // -1: not known before the end

	mu    sync.Mutex
	left  int64
	whole bool  // all of it was handed over: before, no server has the request
	ended error // by end
	fault error // why it cannot be
}

// openPayload opens what is to be sent. To open a pipe waits for who writes it.
func openPayload(ctx, lease context.Context, u upload) (*payload, error) {
	if u.file == "-" {
		s := &payload{size: -1}
		s.pump(os.Stdin)
		return s, nil
	}
	flags := os.O_RDONLY
	if u.found { // and was a file then
		flags |= syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(u.file, flags, 0)
		done <- opened{f, err}
	}()
	var got opened
	select {
	case got = <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-lease.Done():
		return nil, context.Cause(lease)
	}
	if got.err != nil {
		return nil, got.err
	}
	s := &payload{from: got.file, file: got.file, size: -1}
	if err := s.look(u.found); err != nil {
		_ = got.file.Close()
		return nil, err
	}
	return s, nil
}

// look finds out how much there is.
func (s *payload) look(regular bool) (err error) {
	if s.info, err = s.file.Stat(); err != nil {
		return err
	}
	mode := s.info.Mode()
	switch {
	case mode.IsRegular():
	case regular || mode&fs.ModeNamedPipe == 0:
		return errNoFile
	default:
		s.pump(s.file)
		return nil
	}
	if s.size = s.info.Size(); s.size == 0 { // as those in /proc say of themselves, too
		r := bufio.NewReader(s.file)
		if _, err := r.Peek(1); err == nil {
			s.from, s.size = r, -1
		} else if err != io.EOF {
			return err
		}
	}
	s.left, s.whole = s.size, s.size == 0
	return nil
}

// pump reads what may keep a reader waiting, so that end can end that.
func (s *payload) pump(f *os.File) {
	r, w := io.Pipe()
	s.from, s.pipe = r, r
	go func() {
		_, err := io.Copy(w, f)
		_ = w.CloseWithError(err) // nil: the end
	}()
}

// end has no more be handed out, for this reason: net/http, told to give up,
// waits until it has got rid of the body.
func (s *payload) end(why error) {
	s.mu.Lock()
	s.ended = why
	s.mu.Unlock()
	if s.pipe != nil {
		_ = s.pipe.CloseWithError(why)
	}
}

// repeatable reports whether it can be sent again from its beginning.
func (s *payload) repeatable() bool { return s.info != nil && s.info.Mode().IsRegular() }

// Read hands out not more than the size that was there at first.
func (s *payload) Read(p []byte) (int, error) {
	s.mu.Lock()
	left, ended := s.left, s.ended
	s.mu.Unlock()
	if ended != nil {
		return 0, ended
	}
	if s.size >= 0 {
		if left == 0 {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), left)]
	}
	n, err := s.from.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left -= int64(n)
	switch {
	case s.size >= 0 && s.left == 0:
		s.whole = true
		return n, nil
	case s.ended != nil:
		return n, s.ended
	case err == io.EOF && s.size >= 0:
		s.fault = fmt.Errorf("it became shorter while it was sent: nothing of it took effect: %w", io.ErrUnexpectedEOF)
		return n, s.fault
	case err == io.EOF:
		s.whole = true
	case err != nil:
		s.fault = err
	}
	return n, err
}

// Close leaves the file open: look at it when all is sent.
func (s *payload) Close() error { return nil }

func (s *payload) isWhole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

func (s *payload) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// changed returns an error if the file is not what it was when it was opened.
func (s *payload) changed() error {
	if !s.repeatable() {
		return nil
	}
	now, err := s.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		return errors.New("it changed while it was sent: what is stored may be of before and after; send it again")
	}
	return nil
}

func (s *payload) done() {
	if s.file != nil {
		_ = s.file.Close()
	}
}
