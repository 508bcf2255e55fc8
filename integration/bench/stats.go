package main

import (
	"fmt"
	"slices"
)

// spread is what is told of several values.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func (s spread) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max) }

// spreadOf returns the zero spread of no values. With an even number of values
// the median is between the middle ones.
func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// ratios pairs the rates of two cases by round. A round that one of them lacks
// has no pair.
func ratios(of, to map[int]*measured) (r []float64) {
	for round, m := range of {
		if other := to[round]; other != nil {
			r = append(r, m.Rate/other.Rate)
		}
	}
	return r
}

// ratiosByCPU pairs what a request costs all together, which is what the ratio of
// the rates would be if these processes had the machine for themselves.
func ratiosByCPU(of, to map[int]*measured) (r []float64) {
	for round, m := range of {
		if other := to[round]; other != nil && m.AllCPU > 0 {
			r = append(r, other.AllCPU/m.AllCPU)
		}
	}
	return r
}

// additionsOf pairs, by round, how much longer than in a third case the median
// answer takes in one and in the other. A round in which the other one adds
// nothing tells nothing.
func additionsOf(of, to, over map[int]*measured) (r []float64) {
	for round, m := range of {
		other, base := to[round], over[round]
		if other != nil && base != nil && other.P50 > base.P50 {
			r = append(r, (m.P50-base.P50)/(other.P50-base.P50))
		}
	}
	return r
}

// slowdowns pairs, by round, the times of the median answers.
func slowdowns(of, to map[int]*measured) (r []float64) {
	for round, m := range of {
		if other := to[round]; other != nil && other.P50 > 0 {
			r = append(r, m.P50/other.P50)
		}
	}
	return r
}

// figures are what counts in a case without a rate.
func figures(of map[int]*measured) (r []float64) {
	for _, m := range of {
		r = append(r, m.Figure)
	}
	return r
}
