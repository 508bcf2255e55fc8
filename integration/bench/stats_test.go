package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 4}, spread{4, 1, 9}},
		{[]float64{8, 1, 2, 4}, spread{3, 1, 8}},
	} {
		before := slices.Clone(c.values)
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("%v was reordered to %v", before, c.values)
		}
	}
}

func rates(values map[int]float64) map[int]*measured {
	m := map[int]*measured{}
	for round, v := range values {
		m[round] = &measured{Rate: v, AllCPU: v}
	}
	return m
}

// The ratio is of the same round: while the machine is busy all are slow. The
// ratio of the medians would be 0.5 here.
func TestRatiosArePairedByRound(t *testing.T) {
	of := rates(map[int]float64{0: 100, 1: 10, 2: 90, 3: 7})
	to := rates(map[int]float64{0: 200, 1: 11, 2: 100, 4: 1})
	got := ratios(of, to)
	slices.Sort(got)
	if want := []float64{0.5, 0.9, 10.0 / 11}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAdditionsAreOverAThirdCase(t *testing.T) {
	p50 := func(values map[int]float64) map[int]*measured {
		m := map[int]*measured{}
		for round, v := range values {
			m[round] = &measured{P50: v}
		}
		return m
	}
	of := p50(map[int]float64{0: 130, 1: 150, 2: 150, 3: 100})
	to := p50(map[int]float64{0: 120, 1: 110, 2: 90, 4: 100})
	over := p50(map[int]float64{0: 100, 1: 100, 2: 100, 3: 100, 4: 100})
	got := additionsOf(of, to, over)
	slices.Sort(got)
	if want := []float64{1.5, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		w     wanted
		ratio float64
		text  string
		met   bool
	}{
		{wanted{target: 0.8}, 0.8, "≥ 0.80", true},
		{wanted{target: 0.8}, 0.79, "≥ 0.80", false},
		{wanted{target: 1.6, kind: additions, over: "x"}, 1.6, "≤ 1.60", true},
		{wanted{target: 1.6, kind: additions, over: "x"}, 1.61, "≤ 1.60", false},
		{wanted{target: 40, kind: inMiB}, 40, "≤ 40", true},
		{wanted{target: 40, kind: inMiB}, 40.1, "≤ 40", false},
		{wanted{kind: inAllocs}, 0, "≤ 0", true},
		{wanted{kind: inAllocs}, 1, "≤ 0", false},
		{wanted{target: 1.25, kind: byTime}, 1.3, "≤ 1.25", false},
		{told("x"), 0.1, "", true},
	} {
		if c.w.String() != c.text || c.w.met(c.ratio) != c.met {
			t.Errorf("%+v is %q, met by %v: %v; want %q, %v", c.w, c.w.String(), c.ratio, c.w.met(c.ratio), c.text, c.met)
		}
	}
}

func TestBusyRunsAreRepeated(t *testing.T) {
	b := &bench{rounds: 5, repeats: 2}
	for _, c := range []struct {
		name   string
		r      result
		others float64
		tried  int
		want   bool
	}{
		{"quiet", result{}, busy, 0, true},
		{"busy", result{}, busy + 1, 0, false},
		{"busy again", result{repeats: 4}, busy + 1, 1, false},
		{"busy for long", result{repeats: 2}, busy + 1, 2, true},
		{"busy in every round", result{repeats: 5}, busy + 1, 0, true},
		{"with strace", result{scene: scene{slow: time.Millisecond}}, 90, 0, true},
	} {
		if got := b.enough(&c.r, &measured{Others: c.others}, c.tried); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	a, b := &result{}, &result{}
	both := []*result{a, b}
	for round, want := range [][]*result{{a, b}, {b, a}, {a, b}} {
		if got := inTurn(both, round); !slices.Equal(got, want) {
			t.Errorf("round %d has another order", round)
		}
	}
}

// beside says that others had so much of the CPU.
func beside(others float64, rounds map[int]*measured) map[int]*measured {
	for _, m := range rounds {
		m.Others = others
	}
	return rounds
}

func TestReportHidesInvalidNumbers(t *testing.T) {
	scene := func(name string) scene { return scenes[slices.Index(names(scenes), name)] }
	r := newReport(about{}, []*result{
		{scene: scene("nginx"), rounds: beside(30, rates(map[int]float64{0: 1111, 1: 3333}))},
		{scene: scene("fencegate"), rounds: rates(map[int]float64{0: 1111, 1: 1111})},
		{scene: scene("stale"), rounds: rates(map[int]float64{0: 7777, 1: 7777}), invalid: wrongError{errors.New("wrong answers")}},
		{scene: scene("stream-stalled"), rounds: rates(map[int]float64{0: 50})}, // without what it is compared with
	})
	table := r.table()
	for _, want := range []string{
		"2222", "1111–3333", // median and range
		"0.67 (0.33–1.00), by CPU 2.00, of nginx, wanted ≥ 0.80: MISSED",
		"THE MACHINE WAS BUSY in 1 of 3 cases",
		"stale                INVALID", "stale is invalid: wrong answers",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "7777") {
		t.Errorf("the table has numbers that are none:\n%s", table)
	}
	if err := r.invalid(); err == nil || !strings.Contains(err.Error(), "stale is invalid") {
		t.Errorf("got %v, want an error that names stale", err)
	}
}
