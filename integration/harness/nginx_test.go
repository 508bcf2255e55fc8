package harness

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNginxStoresStandsStillAndDies(t *testing.T) {
	t.Parallel()
	n := Nginx(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}
	put := func(text string) (status int, err error) {
		r, err := http.NewRequest(http.MethodPut, n.URL()+"/a/b", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		return res.StatusCode, nil
	}
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(n.Root(), "a", "b")); err != nil || string(got) != want {
			t.Errorf("the object holds %q, %v, want %q", got, err, want)
		}
	}
	if status, err := put("one"); status != http.StatusCreated {
		t.Fatalf("PUT is answered %d, %v", status, err)
	}
	holds("one")

	n.Pause()
	answered := make(chan error, 1)
	go func() { _, err := put("two"); answered <- err }()
	select {
	case err := <-answered:
		t.Errorf("a paused nginx answered: %v", err)
	case <-time.After(50 * time.Millisecond): // no event tells that nothing happens
	}
	holds("one")
	n.Resume()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	holds("two")
	Eventually(t, "the log to have both", func() (any, bool) {
		got := n.Requests()
		return got, len(got) == 2 && got[0] == "PUT /a/b HTTP/1.1" && got[1] == got[0]
	})

	n.Kill()
	if conn, err := net.Dial("tcp", n.Addr()); err == nil {
		conn.Close()
		t.Error("somebody listens on the port of a killed nginx")
	}
}
