package proxy

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"fencegate/fence"
)

// trackedBody tells whether an answer of the store was closed.
type trackedBody struct {
	io.Reader
	closed *bool
}

func (b trackedBody) Close() error { *b.closed = true; return nil }

func TestOutcomes(t *testing.T) {
	broke := errors.New("the connection broke")
	unknown := want{status: 504, reason: reasonUnknown, resource: "/a", token: "5", retry: "7"}
	unreachable := want{status: 502, reason: reasonUnreachable, resource: "/a", token: "5"}
	for _, c := range []struct {
		status  int // of the store's answer, 0 for none
		outcome fence.Outcome
		err     error
		want    want
		settles bool
	}{
		{201, fence.Definite, nil, want{status: 201, body: "said"}, false},
		{502, fence.Definite, nil, want{status: 502, body: "said"}, false}, // listed in definite_statuses
		{412, fence.Definite, nil, want{status: 412, body: "said"}, false},
		{409, fence.Definite, nil, want{status: 409, body: "said"}, false},
		{507, fence.Definite, nil, want{status: 507, body: "said"}, false},
		{0, fence.NotSent, broke, unreachable, false},
		{0, fence.Uncertain, broke, unknown, true},
		{0, fence.Uncertain, nil, unknown, true},
		{502, fence.Uncertain, nil, unknown, true},
		{504, fence.Uncertain, broke, unknown, true},
		{500, fence.Uncertain, nil, want{status: 500, body: "said"}, true},
		{503, fence.Uncertain, nil, want{status: 503, body: "said"}, true},
		{202, fence.Uncertain, nil, want{status: 202, body: "said"}, true},
		{408, fence.Uncertain, broke, want{status: 408, body: "said"}, true},
	} {
		for _, method := range []string{"PUT", "DELETE"} {
			t.Run(method+" "+strconv.Itoa(c.status)+" "+c.outcome.String(), func(t *testing.T) {
				t.Parallel()
				w := open(t, settle(7*time.Second), maxWait(300*time.Millisecond))
				closed := false
				w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) {
					if c.status == 0 {
						return nil, c.outcome, c.err
					}
					res := storeSays(c.status, "said")
					res.Body = trackedBody{res.Body, &closed}
					return res, c.outcome, c.err
				}
				w.says(method+" /a\nX-Fencing-Token: 5\n\nv", c.want)
				w.each(func(series string, m *dto.Metric) {
					if at, ok := strings.CutPrefix(series, "fencegate_upstream_duration_seconds{outcome="); ok {
						if n := m.Histogram.GetSampleCount(); n != 1 && at == c.outcome.String()+"}" || n != 0 && at != c.outcome.String()+"}" {
							t.Errorf("after a write that is %s, %s is %d", c.outcome, series, n)
						}
					}
				})
				w.saw(method + " /a")
				w.ended()
				if c.status != 0 && !closed {
					t.Error("the store's answer was not closed")
				}
				settling := want{status: 503, reason: fence.Settling, resource: "/a", token: "5", retry: "≤7"}
				if !c.settles {
					settling = read
				}
				w.says("GET /a\nX-Fencing-Token: 5", settling)
				if got, want := w.gauge("fencegate_uncertain_total"), map[bool]float64{true: 1}[c.settles]; got != want {
					t.Errorf("fencegate_uncertain_total is %v, want %v", got, want)
				}
				decision := decisionPassed
				switch {
				case c.settles:
					decision = decisionUnknown
				case c.want.reason != "":
					decision = decisionRefused
				}
				if n := w.gauge("fencegate_requests_total{decision=" + decisions[decision] + ",operation=write}"); n != 1 {
					t.Errorf("%v writes are counted as %s, want 1", n, decisions[decision])
				}
			})
		}
	}
}

// A write may take as long as UpstreamTimeout.
func TestUpstreamTimeout(t *testing.T) {
	for _, stages := range []bool{false, true} {
		var s *fakeStager
		changes := []func(*plan){settle(7 * time.Second), func(p *plan) { p.opts.UpstreamTimeout = 50 * time.Millisecond }}
		if stages {
			changes = append(changes, staging(&s))
		}
		w := open(t, changes...)
		w.store.write = func(r *http.Request, _ string) (*http.Response, fence.Outcome, error) {
			<-r.Context().Done()
			return storeSays(201, "too late"), fence.Definite, nil
		}
		w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 504, reason: reasonUnknown, resource: "/a", token: "5", retry: "7"})
	}
}

// A read ends with its client.
func TestReadEndsWithItsClient(t *testing.T) {
	w := open(t)
	arrived := make(chan struct{})
	w.store.read = func(_ http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
		close(arrived)
		<-r.Context().Done()
		return fence.Uncertain, r.Context().Err()
	}
	c := w.dial()
	c.send("GET /a")
	<-arrived
	c.reset()
	w.ended()
	if n := w.gauge("fencegate_rejections_total{reason=upstream_timeout,route=default}"); n != 0 {
		t.Errorf("%v refusals are counted, want none: nobody was there to be refused", n)
	}
}

// Without a settle time there is nothing to wait for.
func TestUnknownOutcomeWithoutSettle(t *testing.T) {
	w := open(t)
	w.uncertainAt("/a")
	a := w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 504, reason: reasonUnknown, resource: "/a", token: "5"})
	if strings.Contains(a.text, "Retry-After") {
		t.Errorf("it speaks of a header that it does not have:\n%s", a.text)
	}
	w.says("GET /a\nX-Fencing-Token: 5", read)
}

func TestWriteThatPanicsIsUncertain(t *testing.T) {
	for _, stages := range []bool{false, true} {
		t.Run("store stages "+strconv.FormatBool(stages), func(t *testing.T) {
			var s *fakeStager
			changes := []func(*plan){settle(7 * time.Second), maxWait(300 * time.Millisecond)}
			if stages {
				changes = append(changes, staging(&s))
			}
			w := open(t, changes...)
			w.store.write = func(*http.Request, string) (*http.Response, fence.Outcome, error) { panic("a bug") }
			c := w.dial()
			c.send("PUT /a\nX-Fencing-Token: 5\n\nv")
			c.cut()
			w.says("PUT /a\nX-Fencing-Token: 5\n\nv", want{status: 503, reason: fence.Settling, resource: "/a", token: "5", retry: "≤7"})
			w.saw("PUT /a")
			w.ended()
			if n := w.gauge("fencegate_requests_total{decision=unknown,operation=write}"); n != 1 {
				t.Errorf("%v writes are counted as unknown, want 1", n)
			}
			if stages {
				s.wants(t, 2, 1, 1) // the second was prepared in vain
			}
		})
	}
}

func TestReadsThatFail(t *testing.T) {
	w := open(t)
	broke := errors.New("broke")
	answer := func(o fence.Outcome, err error) {
		w.store.read = func(http.ResponseWriter, *http.Request) (fence.Outcome, error) { return o, err }
	}
	for _, token := range []string{"", "5"} {
		header := ""
		if token != "" {
			header = "\nX-Fencing-Token: " + token
		}
		answer(fence.NotSent, broke)
		w.says("GET /a"+header, want{status: 502, reason: reasonUnreachable, resource: "/a", token: token})
		answer(fence.Uncertain, broke)
		w.says("GET /a"+header, want{status: 504, reason: reasonTimeout, resource: "/a", token: token})
		w.says("HEAD /a"+header, want{status: 504, reason: reasonTimeout})
		answer(fence.Definite, ownAnswer{storeSays(404, "none here", "X-Fencing-Reason: stale_token")})
		w.says("GET /a"+header, want{status: 404, body: "none here"})
		w.store.read = func(rw http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			rw.Header().Set("X-Fencing-Reason", "stale_token")
			return fence.Definite, nil // nothing written is an empty answer
		}
		w.says("GET /a"+header, want{status: 200})
	}
}

// A read that breaks off must not look complete.
func TestBrokenReadEndsTheConnection(t *testing.T) {
	for _, length := range []string{"", "100"} {
		w := open(t)
		w.store.read = func(rw http.ResponseWriter, _ *http.Request) (fence.Outcome, error) {
			if length != "" {
				rw.Header().Set("Content-Length", length)
			}
			_, _ = io.WriteString(rw, strings.Repeat("x", 50))
			_ = http.NewResponseController(rw).Flush()
			return fence.Definite, errors.New("broke off")
		}
		c := w.dial()
		c.send("GET /a")
		res, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("Content-Length %q: a broken answer looks complete: %q", length, text)
		}
		res.Body.Close()
	}
}

// ownAnswer is an error that the store answers itself.
type ownAnswer struct{ res *http.Response }

func (ownAnswer) Error() string              { return "the store's own answer" }
func (a ownAnswer) Response() *http.Response { return a.res }
