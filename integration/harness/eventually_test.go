package harness

import "testing"

func TestPollReturnsWhatItSawLast(t *testing.T) {
	looks := 0
	look := func() (any, bool) { looks++; return looks, looks == 3 }
	if seen, ok := poll(Patience, look); seen != 3 || !ok {
		t.Errorf("got %v, %v, want the third look", seen, ok)
	}
	if seen, ok := poll(0, look); seen != 4 || ok {
		t.Errorf("got %v, %v, want a failed fourth look", seen, ok)
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		soak       string
		full, want int
	}{{"", 1000, 100}, {"", 9, 1}, {"1", 1000, 1000}, {"1", 9, 9}} {
		t.Setenv(soakEnv, c.soak)
		if got := Scale(c.full); got != c.want {
			t.Errorf("soak %q: Scale(%d) = %d, want %d", c.soak, c.full, got, c.want)
		}
	}
}
