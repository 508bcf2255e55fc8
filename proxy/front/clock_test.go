package front

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a server's connection in memory, whose deadlines go by the clock of
// synctest: the client's end of it. head takes 10 s, idle is a minute.
type pipe struct {
	*client
	ended chan struct{} // the server's side
	began time.Time
}

func overPipe(t *testing.T, h http.HandlerFunc) *pipe {
	ours, theirs := net.Pipe()
	s := &Server{Handler: h, HeadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHead: 64 << 10, Log: slog.New(slog.DiscardHandler)}
	p := &pipe{&client{t, ours, bufio.NewReader(ours)}, make(chan struct{}), time.Now()}
	c := s.take(theirs)
	go func() { defer close(p.ended); c.serve() }()
	return p
}

// ends checks when the server ends the connection, since the last look at the
// clock.
func (p *pipe) ends(after time.Duration) {
	p.t.Helper()
	if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 {
		p.t.Errorf("got %q, %v", rest, err)
	}
	<-p.ended
	p.took(after)
	p.Close()
}

func (p *pipe) took(want time.Duration) {
	p.t.Helper()
	if took := time.Since(p.began); took != want {
		p.t.Errorf("it took %v, want %v", took, want)
	}
	p.began = time.Now()
}

func nothing(http.ResponseWriter, *http.Request) {}

func TestHeadTimeout(t *testing.T) {
	for _, c := range []struct {
		name  string
		doing func(*pipe)
		after time.Duration
	}{
		{"nothing comes", func(*pipe) {}, 10 * time.Second},
		{"it stops", func(p *pipe) { p.send("GET /") }, 10 * time.Second},
		{"it begins late", func(p *pipe) { time.Sleep(9 * time.Second); p.send("GET /") }, 10 * time.Second},
		{"only line ends", func(p *pipe) { time.Sleep(9 * time.Second); p.send("\r\n") }, 10 * time.Second},
		{"it is slow", func(p *pipe) {
			for range 19 {
				time.Sleep(time.Second / 2)
				p.send("A")
			}
		}, 10 * time.Second},
		{"the next one does not come", func(p *pipe) { p.send(get+"\r\n").gets(200, "") }, time.Minute},
		{"the next one begins", func(p *pipe) {
			p.send(get+"\r\n").gets(200, "")
			time.Sleep(59 * time.Second)
			p.send("G")
		}, 69 * time.Second},
		{"the next one begins with the first", func(p *pipe) {
			p.send(get+"\r\nGET").gets(200, "")
		}, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := overPipe(t, nothing)
				c.doing(p)
				p.ends(c.after)
			})
		})
	}
}

// TestReadDeadlines: a handler's hold from when they are set, during a Read too,
// whatever was set before, and not for the next request.
func TestReadDeadlines(t *testing.T) {
	const body = put + "Content-Length: 3\r\n\r\n"
	const never = -1 // it gets what comes after two hours
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for _, c := range []struct {
		name string
		set  func(*http.ResponseController)
		want time.Duration // until the Read fails
	}{
		{"none", func(*http.ResponseController) {}, never},
		{"one", func(rc *http.ResponseController) { _ = rc.SetReadDeadline(in(time.Hour)) }, time.Hour},
		{"past", func(rc *http.ResponseController) { _ = rc.SetReadDeadline(in(-time.Hour)) }, 0},
		{"sooner", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(time.Hour))
			_ = rc.SetReadDeadline(in(time.Second))
		}, time.Second},
		{"later", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(time.Second))
			_ = rc.SetReadDeadline(in(time.Hour))
		}, time.Hour},
		{"lifted", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(time.Second))
			_ = rc.SetReadDeadline(time.Time{})
		}, never},
		{"sooner, meanwhile", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(time.Hour))
			time.AfterFunc(time.Second, func() { _ = rc.SetReadDeadline(in(time.Second)) })
		}, 2 * time.Second},
		{"first, meanwhile", func(rc *http.ResponseController) {
			time.AfterFunc(time.Second, func() { _ = rc.SetReadDeadline(in(time.Second)) })
		}, 2 * time.Second},
		{"later, meanwhile", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(2 * time.Second))
			time.AfterFunc(time.Second, func() { _ = rc.SetReadDeadline(in(time.Hour)) })
		}, time.Hour + time.Second},
		{"lifted, meanwhile", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(2 * time.Second))
			time.AfterFunc(time.Second, func() { _ = rc.SetReadDeadline(time.Time{}) })
		}, never},
		{"interrupted", func(rc *http.ResponseController) {
			time.AfterFunc(time.Minute, func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })
		}, time.Minute},
		{"later and then sooner, meanwhile", func(rc *http.ResponseController) {
			_ = rc.SetReadDeadline(in(2 * time.Second))
			time.AfterFunc(time.Second, func() { _ = rc.SetReadDeadline(in(time.Hour)) })
			time.AfterFunc(3*time.Second, func() { _ = rc.SetReadDeadline(in(time.Second)) })
		}, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := overPipe(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/a" {
						return
					}
					begin := time.Now()
					c.set(http.NewResponseController(w))
					text, err := io.ReadAll(r.Body)
					took := time.Since(begin)
					if c.want == never && (err != nil || string(text) != "abc" || took != 2*time.Hour) {
						t.Errorf("read %q, %v after %v", text, err, took)
					}
					if c.want != never && (!errors.Is(err, os.ErrDeadlineExceeded) || took != c.want) {
						t.Errorf("read %q, %v after %v, want an end after %v", text, err, took, c.want)
					}
				})
				go func() {
					p.send(body)
					time.Sleep(2 * time.Hour)
					_, _ = io.WriteString(p, "abc")
				}()
				res, _ := p.answer("PUT")
				if res.Close != (c.want != never) {
					t.Errorf("it says that the connection ends: %v", res.Close)
				}
				if c.want == never {
					p.began = time.Now()
					p.send(get+"\r\n").gets(200, "")
					p.ends(time.Minute)
				} else {
					<-p.ended
					p.Close()
				}
				time.Sleep(2 * time.Hour) // for those who still send
			})
		})
	}
}

// TestDeadlinesEndWithTheRequest: the next one has none, even if it has come
// with the first.
func TestDeadlinesEndWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := overPipe(t, func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			if r.URL.Path == "/first" {
				_ = rc.SetReadDeadline(time.Now().Add(time.Second))
				_ = rc.SetWriteDeadline(time.Now().Add(time.Second))
				return
			}
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != "abc" {
				t.Errorf("read %q, %v", body, err)
			}
			if _, err := io.WriteString(w, strings.Repeat("a", 100<<10)); err != nil {
				t.Errorf("writing: %v", err)
			}
		})
		p.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n"+put+"Content-Length: 3\r\n\r\na").gets(200, "")
		time.Sleep(time.Hour)
		p.send("bc")
		time.Sleep(time.Hour) // before it is taken
		p.gets(200, "aaa")
		p.began = time.Now()
		p.ends(time.Minute)
	})
}

// TestWriteDeadlines: a client that does not take its answer is waited for until
// then, whatever was set before.
func TestWriteDeadlines(t *testing.T) {
	for name, set := range map[string]func(*http.ResponseController){
		"one": func(rc *http.ResponseController) { _ = rc.SetWriteDeadline(time.Now().Add(time.Hour)) },
		"later": func(rc *http.ResponseController) {
			_ = rc.SetWriteDeadline(time.Now().Add(time.Second))
			_ = rc.Flush()
			_ = rc.SetWriteDeadline(time.Now().Add(time.Hour))
		},
		"meanwhile": func(rc *http.ResponseController) {
			_ = rc.SetWriteDeadline(time.Now().Add(time.Second))
			time.AfterFunc(time.Second/2, func() { _ = rc.SetWriteDeadline(time.Now().Add(time.Hour - time.Second/2)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed := make(chan time.Duration, 1)
				p := overPipe(t, func(w http.ResponseWriter, r *http.Request) {
					begin := time.Now()
					set(http.NewResponseController(w))
					_, err := io.WriteString(w, strings.Repeat("a", 1<<20))
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("writing: %v", err)
					}
					if _, again := io.WriteString(w, "a"); again != err {
						t.Errorf("then: %v", again)
					}
					failed <- time.Since(begin)
				})
				p.send(get + "\r\n")
				if name == "later" {
					if _, err := p.in.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
				if took := <-failed; took != time.Hour {
					t.Errorf("it took %v", took)
				}
				<-p.ended
				p.Close()
			})
		})
	}
}
