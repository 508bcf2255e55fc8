package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"fencegate/integration/harness"
)

// Clients keep their connections between writes. Shown: what fencegate keeps for a
// thousand of them is bounded, so that it can stand beside a small store.
func TestIdleClientsMemory(t *testing.T) {
	const (
		clients = 1000
		most    = 40 << 10 // KiB that are in no file, all together
	)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer store.Close()
	for _, c := range []struct {
		name   string
		args   []string
		status string
	}{
		{"before a store", []string{"--upstream", store.URL, "--settle", "1s"}, "204"},
		{"over a directory", nil, "201"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.FencegateAsShipped(t, c.args...)
			alone := memoryOf(t, s, "RssAnon:")
			body := fmt.Sprintf("%01024d", 0)
			idle := make([]*wire, clients)
			for i := range idle {
				idle[i] = dial(t, s)
			}
			// As many send at once as a burst brings: what each of them needs
			// meanwhile must not stay.
			write := func(status string) {
				t.Helper()
				for burst := range slices.Chunk(idle, 40) {
					for _, w := range burst {
						w.send(fmt.Sprintf("PUT /clients/%s HTTP/1.1\nHost: x\nX-Fencing-Token: 33\nContent-Length: %d\n\n%s", w.LocalAddr(), len(body), body))
					}
					for _, w := range burst {
						w.says(status, http.MethodPut)
					}
				}
			}
			write(c.status)
			got := memoryOf(t, s, "RssAnon:")
			t.Logf("%d KiB without clients, %d KiB with %d", alone, got, clients)
			if got > most {
				t.Errorf("fencegate has %d KiB beside %d idle clients, want at most %d; without any it has %d", got, clients, most, alone)
			}
			write("204") // all have been there
		})
	}
}
