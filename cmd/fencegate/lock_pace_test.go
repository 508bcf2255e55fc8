package main

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		ttl, grace, left time.Duration
		want             step
		look             time.Duration // at the latest
	}{
		{15 * time.Second, 2 * time.Second, 14 * time.Second, goOn, lookEvery},
		{15 * time.Second, 2 * time.Second, 2001 * ms, goOn, 1 * ms},
		{15 * time.Second, 2 * time.Second, 2000 * ms, term, lookEvery},
		{15 * time.Second, 2 * time.Second, 501 * ms, term, 1 * ms},
		{15 * time.Second, 2 * time.Second, 500 * ms, kill, killEvery},
		{15 * time.Second, 2 * time.Second, 0, kill, killEvery},
		{24 * time.Hour, time.Hour, 501 * ms, term, 1 * ms},
		{time.Second, 250 * ms, 51 * ms, term, 1 * ms},
		{time.Second, 250 * ms, 50 * ms, kill, killEvery},
		{100 * ms, 25 * ms, 11 * ms, term, 1 * ms},
		{100 * ms, 25 * ms, 10 * ms, kill, killEvery},
		{time.Second, 0, 51 * ms, goOn, 1 * ms}, // no grace: no TERM
		{time.Second, 0, 50 * ms, kill, killEvery},
	} {
		got, look := newPace(c.ttl, c.grace).next(c.left)
		if got != c.want || look != c.look {
			t.Errorf("ttl %s, grace %s, %s left: got %d, %s, want %d, %s", c.ttl, c.grace, c.left, got, look, c.want, c.look)
		}
	}
}

func TestGraceFollowsTheTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		15 * time.Second: 2 * time.Second, 8 * time.Second: 2 * time.Second, 2 * time.Second: 500 * time.Millisecond,
	} {
		if got := (&lockCmd{TTL: ttl}).grace(); got != want {
			t.Errorf("of %s it is %s, want %s", ttl, got, want)
		}
	}
}
