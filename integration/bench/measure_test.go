package main

import (
	"strings"
	"testing"
	"time"
)

// A run counts only if everybody has seen the same: wrk, sink and fencegate.
func TestWrongAnswersAreFound(t *testing.T) {
	const size = 1024
	l := load{conns: 4, threads: 2, paths: 60, size: size}
	type seen struct {
		tally                 tally
		writes, bytes, files  int64
		passed, stale, others float64
		read, asked           float64
		unknown, malformed    float64
	}
	// What a good run shows: 100 answers, and two more that wrk has not seen.
	accepted := seen{tally: tally{Requests: 100}, writes: 102, bytes: 102 * size, passed: 102}
	refused := seen{tally: tally{Requests: 100, Status: 100}, stale: 102}
	got := seen{tally: tally{Requests: 100, Bytes: 102 * (size + 200)}, read: 102}
	kept := seen{tally: tally{Requests: 100}, files: 60, passed: 102}
	for _, c := range []struct {
		name   string
		scene  scene
		seen   seen
		change func(*seen)
		want   string // in the error; "": none
	}{
		{"all stored", scene{}, accepted, func(*seen) {}, ""},
		{"all refused", scene{refused: true}, refused, func(*seen) {}, ""},
		{"all in a directory", scene{files: true}, kept, func(*seen) {}, ""},
		{"one thread's only", scene{files: true}, kept, func(s *seen) { s.files = 30 }, ""},
		{"not in the directory", scene{files: true}, kept, func(s *seen) { s.files = 29 }, "29 files are written and whole"},
		{"in both", scene{files: true}, kept, func(s *seen) { s.writes, s.bytes = 1, size }, "stored 1 writes, want none"},
		{"all read", scene{reads: true, files: true, tokens: none}, got, func(*seen) {}, ""},
		{"read in part", scene{reads: true, files: true, tokens: none}, got, func(s *seen) { s.tally.Bytes = 100*size - 1 }, "bytes have been read"},
		{"read too much", scene{reads: true, files: true, tokens: none}, got, func(s *seen) { s.tally.Bytes = 105 * 2 * size }, "bytes have been read"},
		{"a read writes", scene{reads: true, files: true, tokens: none}, got, func(s *seen) { s.files = 1 }, "written 1 files"},
		{"read elsewhere", scene{reads: true, files: true, tokens: none}, got, func(s *seen) { s.read = 99 }, "reads that fencegate has passed: 99"},
		{"all asked", scene{reads: true, files: true}, got, func(s *seen) { s.asked, s.read = s.read, 0 }, ""},
		{"asked without a check", scene{reads: true, files: true}, got, func(*seen) {}, "reads that fencegate has passed: 0"},
		{"cut off", scene{cut: true}, accepted, func(s *seen) { s.unknown = 4 }, ""},
		{"cut off while staged", scene{cut: true}, accepted, func(s *seen) { s.malformed = 4 }, ""},
		{"cut off of both kinds", scene{cut: true}, accepted, func(s *seen) { s.malformed, s.unknown = 3, 2 }, "for another reason"},
		{"cut off too often", scene{cut: true}, accepted, func(s *seen) { s.unknown = 5 }, "for another reason"},
		{"cut off where none can be", scene{}, accepted, func(s *seen) { s.unknown = 1 }, "for another reason"},
		{"slow", scene{slow: time.Millisecond}, accepted, func(s *seen) { s.tally.P50 = 1000 }, ""},
		{"not slow", scene{slow: time.Millisecond}, accepted, func(s *seen) { s.tally.P50 = 999 }, "on a disk that is to take 1ms"},
		{"one error", scene{}, accepted, func(s *seen) { s.tally.Status = 1 }, "answers of 400 and above: 1 of 100"},
		{"no answer", scene{}, accepted, func(s *seen) { s.tally.Timeout = 1 }, "1 requests without an answer"},
		{"confirmed, not stored", scene{}, accepted, func(s *seen) { s.writes, s.bytes = 99, 99*size }, "sink has stored: 99"},
		{"stored twice", scene{}, accepted, func(s *seen) { s.writes, s.bytes = 105, 105*size }, "sink has stored: 105"},
		{"stored in part", scene{}, accepted, func(s *seen) { s.bytes-- }, "want 1024 each"},
		{"past the fence", scene{}, accepted, func(s *seen) { s.passed = 99 }, "fencegate has passed: 99"},
		{"busy", scene{}, accepted, func(s *seen) { s.others = 1 }, "for another reason"},
		{"stale", scene{}, accepted, func(s *seen) { s.stale = 1 }, "refused 1 requests as stale, want none"},
		{"a late write got through", scene{refused: true}, refused, func(s *seen) { s.tally.Status = 99 }, "99 of 100, want 100"},
		{"a refused write was stored", scene{refused: true}, refused, func(s *seen) { s.writes, s.bytes = 1, size }, "stored 1 writes, want none"},
		{"refused for being busy", scene{refused: true}, refused, func(s *seen) { s.stale, s.others = 60, 40 }, "for another reason"},
		{"refused by another", scene{refused: true}, refused, func(s *seen) { s.stale = 0 }, "refusals that fencegate has counted: 0"},
	} {
		s := c.seen
		c.change(&s)
		before := counts{sink: stock{7, 70}, metrics: metrics{
			`fencegate_requests_total{decision="passed",operation="write"}`:          5,
			`fencegate_requests_total{decision="passed",operation="read"}`:           5,
			`fencegate_rejections_total{reason="stale_token",route="default"}`:       5,
			`fencegate_rejections_total{reason="busy",route="default"}`:              5,
			`fencegate_request_duration_seconds_count{operation="rejections_total"}`: 0,
		}}
		after := counts{files: s.files, sink: stock{7 + s.writes, 70 + s.bytes}, metrics: metrics{
			`fencegate_requests_total{decision="passed",operation="write"}`:          5 + s.passed,
			`fencegate_requests_total{decision="passed",operation="read"}`:           5 + s.read,
			`fencegate_requests_total{decision="passed",operation="ask"}`:            s.asked,
			`fencegate_rejections_total{reason="outcome_unknown",route="default"}`:   s.unknown,
			`fencegate_rejections_total{reason="request_malformed",route="default"}`: s.malformed,
			`fencegate_rejections_total{reason="stale_token",route="default"}`:       5 + s.stale,
			`fencegate_rejections_total{reason="busy",route="default"}`:              5 + s.others,
			`fencegate_request_duration_seconds_count{operation="rejections_total"}`: 0,
		}}
		err := c.scene.check(l, s.tally, before, after)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMetricsAreRead(t *testing.T) {
	const text = "# HELP fencegate_a Text.\n# TYPE fencegate_a counter\nfencegate_a{x=\"1 2\",y=\"b\"} 3\nfencegate_a{x=\"2\",y=\"b\"} 1.5e+06\ngo_threads 9\nfencegate_b 4\n"
	m, err := parseMetrics(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		parts []string
		want  float64
	}{
		{[]string{"fencegate_a"}, 1500003}, {[]string{"fencegate_a", `x="2"`}, 1500000}, {[]string{"fencegate_b"}, 4}, {[]string{"go_"}, 0},
	} {
		if got := m.sum(c.parts...); got != c.want {
			t.Errorf("the sum of %q is %v, want %v", c.parts, got, c.want)
		}
	}
	for _, bad := range []string{"", "go_threads 9\n", "fencegate_a\n", "fencegate_a x\n"} {
		if m, err := parseMetrics(bad); err == nil {
			t.Errorf("%q is read as %v, want an error", bad, m)
		}
	}
}

func TestServingIsRead(t *testing.T) {
	data, admin, err := parseServing(`{"time":"2026-01-02T03:04:05Z","level":"INFO","msg":"serving","data":"127.0.0.1:1","admin":"127.0.0.1:2","routes":0}`)
	if data != "127.0.0.1:1" || admin != "127.0.0.1:2" || err != nil {
		t.Errorf("got %q, %q, %v", data, admin, err)
	}
	for _, bad := range []string{"", "serving", `{"msg":"serving","data":"127.0.0.1:1"}`} {
		if _, _, err := parseServing(bad); err == nil {
			t.Errorf("%q is taken, want an error", bad)
		}
	}
}
