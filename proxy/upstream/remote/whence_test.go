//go:build unix

package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// Bodies are sent from where they are, in memory or in a file, and arrive as they
// are.
func TestBodiesArriveWhole(t *testing.T) {
	file := fileOf(t, large)
	schemes(t, func(t *testing.T, by scheme) {
		s := by.listen(t, echoSum)
		u := by.open(t, s, Options{Idle: time.Minute})
		for _, size := range []int{1, apart, apart + 1, 64 << 10, chunk, chunk + 1, 300_001, 1 << 20, 5<<20 + 7} {
			section := io.NewSectionReader(file, 3, int64(size)+9)
			if _, err := section.Seek(5, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]struct {
				body io.Reader
				want string
			}{
				"memory":    {bytes.NewBuffer([]byte(large[1 : size+10])), large[1 : size+1]},
				"reader":    {strings.NewReader(large[2:]), large[2 : size+2]},
				"file":      {section, large[8 : size+8]},
				"file read": {struct{ io.Reader }{io.NewSectionReader(file, 3, 1<<40)}, large[3 : size+3]},
			} {
				before := u.sentBytes()
				got := attempt(t, u, t.Context(), request("PUT", "/a"), c.body, int64(size))
				if n := u.sentBytes() - before; n < int64(size) {
					t.Errorf("%d bytes of %s: %d were counted", size, name, n)
				}
				if got.outcome != fence.Definite || got.body != sum(c.want) {
					t.Errorf("%d bytes of %s: %v, want %s", size, name, got, sum(c.want))
				}
			}
		}
		if n := u.unused(); n != 1 {
			t.Errorf("%d connections are kept", n)
		}
	})
}

// echoSum answers each request with what its body was.
func echoSum(p *peer) {
	for {
		_, body := p.request()
		p.say(fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(sum(body)), sum(body)))
	}
}

func sum(body string) string {
	n := uint64(len(body))
	for i := range len(body) {
		n = n*31 + uint64(body[i])
	}
	return fmt.Sprint(n)
}

// A body in a file, or in memory, that is shorter than was said is cut off.
func TestShortBodiesFromWhereTheyAre(t *testing.T) {
	const size = 4 << 20
	file := fileOf(t, large[:size-1])
	closed := fileOf(t, large[:size])
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body    io.Reader
		want    error
		outcome fence.Outcome
	}{
		"short file":    {io.NewSectionReader(file, 0, size), io.ErrUnexpectedEOF, fence.Uncertain},
		"short section": {io.NewSectionReader(file, 9, size-20), io.ErrUnexpectedEOF, fence.Uncertain},
		"closed file":   {io.NewSectionReader(closed, 0, size), os.ErrClosed, fence.NotSent},
		"memory":        {bytes.NewBuffer([]byte(large[:size-1])), io.ErrUnexpectedEOF, fence.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(p *peer) {
				p.head()
				if n, err := p.rest(); n >= size || err == io.EOF {
					t.Errorf("the store got %d bytes and %v", n, err)
				}
			})
			s.maybe = c.outcome == fence.NotSent
			got := attempt(t, open(t, s.url(), Options{}), t.Context(), request("PUT", "/a"), c.body, size)
			if got.outcome != c.outcome || !errors.Is(got.err, c.want) {
				t.Errorf("%v, want %v, %v", got, c.outcome, c.want)
			}
		})
	}
}

// What is sent from a file or from memory is counted like the rest: an answer
// before its end is an early one.
func TestEarlyAnswersToBodiesFromWhereTheyAre(t *testing.T) {
	const size = 8 << 20
	file := fileOf(t, large[:size])
	for name, body := range map[string]func() io.Reader{
		"file":   func() io.Reader { return io.NewSectionReader(file, 0, size) },
		"memory": func() io.Reader { return bytes.NewBuffer([]byte(large[:size])) },
	} {
		for script, c := range map[string]struct {
			script  func(*peer)
			status  int
			outcome fence.Outcome
		}{
			"refused": {func(p *peer) { p.head(); p.body(1 << 20); p.say("HTTP/1.1 413 No\r\n" + whole); p.wasReset() }, 413, fence.Uncertain},
			"confirmed, then taken": {func(p *peer) {
				p.head()
				p.body(1 << 20)
				p.say("HTTP/1.1 200 OK\r\n" + whole)
				p.body(size - 1<<20)
				p.wasReset()
			}, 200, fence.Uncertain},
			"gone":  {func(p *peer) { p.head(); p.body(1 << 20) }, 0, fence.Uncertain},
			"taken": {func(p *peer) { p.request(); p.say("HTTP/1.1 201 Created\r\n" + whole) }, 201, fence.Definite},
		} {
			t.Run(name+" "+script, func(t *testing.T) {
				newAndKept(t, func(t *testing.T, serve func(*testing.T, Options, func(*peer)) (*store, *Remote)) {
					_, u := serve(t, Options{}, c.script)
					got := attempt(t, u, t.Context(), request("PUT", "/a"), body(), size)
					status := 0
					if got.res != nil {
						status = got.res.StatusCode
					}
					if status != c.status || got.outcome != c.outcome {
						t.Errorf("%v; want %d, %v", got, c.status, c.outcome)
					}
				})
			})
		}
	}
}
