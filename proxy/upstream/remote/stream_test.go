package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"fencegate/fence"
)

// stream sends body, of which the size may be unknown.
func stream(t *testing.T, u *Remote, ctx context.Context, body io.Reader, size int64) result {
	t.Helper()
	res, outcome, err := u.Stream(ctx, request("PUT", "/a"), body, size)
	return resultOf(t, res, outcome, err)
}

func TestStreamPassesOnWhatHasCome(t *testing.T) {
	for name, c := range map[string]struct {
		size  int64
		head  string
		parts []string // as the store gets them
		end   string
	}{
		"length": {10, "Content-Length: 10\r\n", []string{"one", "three", "to"}, ""},
		"chunks": {-1, "Transfer-Encoding: chunked\r\n", []string{"3\r\none\r\n", "5\r\nthree\r\n", "2\r\nto\r\n"}, "0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			body, client := io.Pipe()
			more := make(chan string, 1)
			s := newStore(t, func(p *peer) {
				if head := p.head(); !strings.Contains(head, c.head) {
					t.Errorf("head %q", head)
				}
				for i, want := range c.parts {
					more <- []string{"one", "three", "to"}[i]
					if i == len(c.parts)-1 {
						close(more)
					}
					if got := p.body(len(want)); got != want {
						t.Errorf("the store got %q, want %q", got, want)
					}
				}
				if got := p.body(len(c.end)); got != c.end {
					t.Errorf("the store got %q at the end, want %q", got, c.end)
				}
				p.say("HTTP/1.1 201 Created\r\n" + whole)
			})
			go func() {
				for text := range more {
					io.WriteString(client, text)
				}
				client.Close()
			}()
			if got := stream(t, open(t, s.url(), Options{}), t.Context(), body, c.size); got.outcome != fence.Definite || got.body != "done" {
				t.Error(got)
			}
		})
	}
}

// The store must not take a part for the whole.
func TestStreamOfABodyThatFails(t *testing.T) {
	failure := errors.New("client gone")
	for name, c := range map[string]struct {
		size int64
		err  error // of the body, nil for its end
		want error
	}{
		"length":            {10, failure, failure},
		"length, too short": {10, nil, io.ErrUnexpectedEOF},
		"chunks":            {-1, failure, failure},
		"chunks, cut":       {-1, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			body, client := io.Pipe()
			s := newStore(t, func(p *peer) {
				p.head()
				first := p.body(len("one"))
				client.CloseWithError(c.err)
				rest, err := io.ReadAll(p.in)
				if strings.HasSuffix(first+string(rest), "0\r\n\r\n") || err == nil {
					t.Errorf("the store got %q and then %q, %v", first, rest, err)
				}
			})
			go io.WriteString(client, "one")
			got := stream(t, open(t, s.url(), Options{}), t.Context(), body, c.size)
			if got.outcome != fence.Uncertain || got.res != nil || !errors.Is(got.err, c.want) {
				t.Error(got)
			}
		})
	}
}

// The store is done, or gone, while the client has more to send, or nothing.
func TestStreamEndsWithTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		said   string
		status int
	}{
		"refused": {"HTTP/1.1 413 No\r\n" + whole, http.StatusRequestEntityTooLarge},
		"closed":  {"", 0},
		"garbage": {"SSH-2.0-OpenSSH_9.2\r\n\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			body, client := io.Pipe()
			s := newStore(t, func(p *peer) {
				p.head()
				p.body(len("3\r\none\r\n"))
				p.say(c.said)
			})
			go io.WriteString(client, "one") // and then no more
			got := stream(t, open(t, s.url(), Options{}), t.Context(), body, -1)
			status := 0
			if got.res != nil {
				status = got.res.StatusCode
			}
			if got.outcome != fence.Uncertain || status != c.status {
				t.Error(got)
			}
			if _, err := client.Write([]byte("more")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the body was not closed: %v", err)
			}
		})
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	overtaken := errors.New("overtaken")
	body, client := io.Pipe()
	s := newStore(t, func(p *peer) {
		p.head()
		p.body(len("3\r\none\r\n"))
		cancel(overtaken)
		p.wasReset()
	})
	go io.WriteString(client, "one")
	defer context.AfterFunc(ctx, func() { client.CloseWithError(ctx.Err()) })()
	if got := stream(t, open(t, s.url(), Options{}), ctx, body, -1); got.outcome != fence.Uncertain || !errors.Is(got.err, overtaken) {
		t.Error(got)
	}
}

func TestStreamSizes(t *testing.T) {
	s := newStore(t, func(*peer) {})
	s.wants = 0
	u := open(t, s.url(), Options{})
	if got := stream(t, u, t.Context(), strings.NewReader(""), -2); got.outcome != fence.NotSent {
		t.Error(got)
	}
}
