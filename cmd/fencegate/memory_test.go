package main

import "testing"

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1500}, {1 << 20, 1500}, {4 << 20, 300}, {8 << 20, 100}, {16 << 20, 100}, {1 << 30, 100}} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("%d bytes: %d, want %d", c.live, got, c.want)
		}
	}
}
