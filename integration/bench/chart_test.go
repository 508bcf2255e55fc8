package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestPlaceOnTheAxis(t *testing.T) {
	step := chartWidth / (mostPower - leastPower)
	for ratio, want := range map[float64]float64{
		0: chartLeft, 0.25: chartLeft, 0.01: chartLeft, 1: chartLeft + 2*step, 2: chartLeft + 3*step, 32: chartLeft + chartWidth, 99: chartLeft + chartWidth,
	} {
		if got := placeOf(ratio); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", ratio, got, want)
		}
	}
}

func TestChartShowsEachRatio(t *testing.T) {
	r := report{About: about{Commit: "abc <&"}, Cases: []caseNotes{
		{Name: "a", Ratios: []ratioNotes{
			{Against: "b", Ratio: spread{0.5, 0.4, 0.6}, Target: "≥ 0.80"},
			{Against: "c", Ratio: spread{3, 2, 4}, Target: "≥ 2.00", Met: true},
			{Against: "d", Kind: additions, Over: "e", Ratio: spread{7, 7, 7}, Target: "≤ 1.60"},
		}},
		{Name: "b"},
	}}
	drawn := r.chart()
	in := xml.NewDecoder(strings.NewReader(string(drawn)))
	for {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart is no XML: %v\n%s", err, drawn)
		}
	}
	for text, n := range map[string]int{"a : b": 1, "a : c": 1, "a : d": 0, ">0.50<": 1, ">3.00<": 1, "#e0a030": 1, "#4c78a8": 1, "#c00": 2, "abc &lt;&amp;": 1} {
		if got := strings.Count(string(drawn), text); got != n {
			t.Errorf("%q is %d times in the chart, want %d", text, got, n)
		}
	}
}
