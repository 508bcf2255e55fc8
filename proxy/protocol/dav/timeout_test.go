package dav

import (
	"net/http"
	"testing"
)

func TestCapTimeout(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, "Second-3600"},
		{[]string{"Infinite"}, "Second-3600"},
		{[]string{"Second-600"}, "Second-600"},
		{[]string{"Infinite, Second-600"}, "Second-3600"},
		{[]string{" Second-4100000000 ", "Second-7"}, "Second-3600"},
		{[]string{"Extend", "Second-7"}, "Second-7"},
		{[]string{"Second-3601"}, "Second-3600"},
		{[]string{"Second--5"}, "Second-3600"},
		{[]string{"Second-99999999999999999999"}, "Second-3600"},
		{[]string{"600"}, "Second-3600"},
	} {
		if got := CapTimeout(http.Header{"Timeout": c.lines}); got != c.want {
			t.Errorf("%q: got %s, want %s", c.lines, got, c.want)
		}
	}
}
