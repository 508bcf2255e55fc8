package proxy

import (
	"strings"
	"testing"
	"time"
)

// Every way in which a body can be bad, with its answer. Of none of them the
// store is sent a byte; where a part of what was sent is a whole body, it gets
// that and nothing of the rest.
func TestBadBodies(t *testing.T) {
	const (
		sized    = "PUT /a\nX-Fencing-Token: 5\nContent-Length: "
		chunked  = "PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked"
		expected = "\nExpect: 100-continue"
	)
	var (
		malformed = want{status: 400, reason: reasonMalformed, resource: "/a", token: "5", closes: true}
		large     = want{status: 413, reason: reasonBodyLarge, resource: "/a", token: "5", closes: true}
		full      = want{status: 507, reason: reasonSpoolFull, resource: "/a", token: "5", closes: true}
		late      = want{status: 408, reason: reasonBodyTimeout, resource: "/a", token: "5", closes: true}
		trailer   = want{status: 400, reason: reasonTokenMalformed, resource: "/a", token: "5"}

		max   = BodyLimits{Max: 1000}
		quota = BodyLimits{Quota: 1000}
		idle  = BodyLimits{Idle: 300 * time.Millisecond}
		rate  = BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1000}
		total = BodyLimits{Idle: 300 * time.Millisecond, MinRate: 1, Total: 500 * time.Millisecond}

		part = strings.Repeat("x", 500)
		big  = strings.Repeat("x", memoryBody+1)
	)
	for _, c := range []struct {
		name, request, body string
		limits              BodyLimits
		ends, drips, gone   bool // the client ends sending, drips on, or leaves, after body
		want                want
		behind              string // the status that what is left over gets
	}{
		{name: "truncated, nothing came", request: sized + "10", ends: true, want: malformed},
		{name: "truncated", request: sized + "10", body: "short", ends: true, want: malformed},
		{name: "truncated by one byte", request: sized + "1001", body: part + part, ends: true, want: malformed},
		{name: "truncated in the spool file", request: sized + "10000000", body: big, ends: true, want: malformed},
		{name: "truncated in a chunk", request: chunked, body: "a\r\nshort", ends: true, want: malformed},
		{name: "truncated behind a chunk", request: chunked, body: "5\r\nshort\r\n", ends: true, want: malformed},
		{name: "truncated in the last chunk", request: chunked, body: "5\r\nshort\r\n0\r\n", ends: true, want: malformed},
		{name: "truncated in a chunk's size", request: chunked, body: "5\r\nshort\r\n1", ends: true, want: malformed},
		{name: "cut off", request: sized + "10", body: "short", gone: true},
		{name: "cut off in the spool file", request: sized + "10000000", body: big, gone: true},
		{name: "cut off in a chunk", request: chunked, body: "a\r\nshort", gone: true},
		{name: "cut off before it was sent", request: sized + "10" + expected, gone: true},

		{name: "too large", request: sized + "1000000", limits: max, want: large},
		{name: "too large, expecting", request: sized + "1001" + expected, limits: max, want: large},
		{name: "too large, undeclared", request: chunked, body: "1f4\r\n" + part + "\r\n1f4\r\n" + part + "\r\n1\r\nx\r\n0\r\n\r\n", limits: max, want: large},
		{name: "too large, in one chunk", request: chunked, body: "3e9\r\n" + part + part + "x\r\n0\r\n\r\n", limits: max, want: large},
		{name: "over quota", request: sized + "1000000", limits: quota, want: full},
		{name: "over quota, expecting", request: sized + "1001" + expected, limits: quota, want: full},
		{name: "over quota, undeclared", request: chunked, body: "1f4\r\n" + part + "\r\n1f4\r\n" + part + "\r\n1\r\nx\r\n0\r\n\r\n", limits: quota, want: full},

		{name: "stalled, nothing came", request: sized + "10", limits: idle, want: late},
		{name: "stalled", request: sized + "10", body: "short", limits: idle, want: late},
		{name: "stalled by one byte", request: sized + "501", body: part, limits: idle, want: late},
		{name: "stalled in the spool file", request: sized + "10000000", body: big, limits: idle, want: late},
		{name: "stalled, chunked", request: chunked, limits: idle, want: late},
		{name: "stalled in a chunk", request: chunked, body: "a\r\nshort", limits: idle, want: late},
		{name: "stalled before the last chunk", request: chunked, body: "5\r\nshort\r\n", limits: idle, want: late},
		{name: "stalled in the last chunk", request: chunked, body: "5\r\nshort\r\n0\r\n", limits: idle, want: late},
		{name: "too slow", request: sized + "10000", drips: true, limits: rate, want: late},
		{name: "too long", request: sized + "10000", drips: true, limits: total, want: late},

		{name: "a chunk longer than its size", request: chunked, body: "2\r\nabc\r\n0\r\n\r\n", want: malformed},
		{name: "a chunk shorter than its size", request: chunked, body: "5\r\nabc\r\n0\r\n\r\n", ends: true, want: malformed},
		{name: "a chunk without its end", request: chunked, body: "3\r\nabc0\r\n\r\n", want: malformed},
		{name: "a chunk of negative size", request: chunked, body: "-1\r\nabc\r\n0\r\n\r\n", want: malformed},
		{name: "a chunk of 2^64 bytes", request: chunked, body: "10000000000000000\r\nabc\r\n0\r\n\r\n", want: malformed},
		{name: "no chunks", request: chunked, body: "not a chunk\r\n\r\n", want: malformed},
		{name: "a trailer that fences", request: chunked, body: "3\r\nabc\r\n0\r\nX-Fencing-Token: 6\r\n\r\n", want: trailer},
		{name: "no length, HTTP/1.0", request: "PUT /a HTTP/1.0\nX-Fencing-Token: 5", body: "abc", want: malformed},

		{name: "longer than declared", request: sized + "3", body: "abcdef\r\n\r\n", want: stored, behind: "400 Bad Request"},
		{name: "longer than its last chunk", request: chunked, body: "3\r\nabc\r\n0\r\n\r\ndef\r\n\r\n", want: stored, behind: "400 Bad Request"},
	} {
		for _, stages := range []bool{false, true} {
			name := c.name
			if stages {
				name += ", store stages"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var s *fakeStager
				changes := []func(*plan){limits(c.limits)}
				if stages {
					changes = append(changes, staging(&s))
				}
				w := open(t, changes...)
				conn := w.dial()
				conn.send(c.request)
				conn.raw(c.body)
				switch {
				case c.ends:
					conn.endSending()
				case c.drips:
					end := make(chan struct{})
					defer close(end)
					go drip(conn, end)
				case c.gone:
					w.inFlight(1, 0)
					conn.reset()
				}
				if !c.gone {
					conn.gets(c.request, c.want)
				}
				if c.behind != "" {
					if a := conn.answer("GET"); a.Status != c.behind {
						t.Errorf("what is left over is answered %s, want %s", a.Status, c.behind)
					}
				}
				w.ended()
				w.received(0)
				w.inFlight(0, 0)
				got := w.store.requests()
				switch {
				case c.want.reason == "" && !c.gone:
					if len(got) != 1 || got[0].body != "abc" {
						t.Errorf("the store was sent %+v, want abc only", got)
					}
				case len(got) > 0:
					t.Errorf("the store was sent %+v, want nothing", got)
				case stages:
					s.wants(t, 0, 0, 0)
				}
				w.passes("PUT /a\nX-Fencing-Token: 5\n\nnext", stored)
			})
		}
	}
}
