package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"fencegate/integration/harness"
)

// HTTP/1.0 is what old proxies and measuring tools speak: they are served, and
// the connection is kept only if they ask for it. A body without a length,
// which they cannot frame, is not stored, and what follows is no request.
func TestHostileHTTP10(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t)
	const put, get = "PUT /object HTTP/1.0\nX-Fencing-Token: 5\nContent-Length: 3\n", "GET /object HTTP/1.0\n"

	once := dial(t, s)
	once.send(put + "\nabc")
	if answers := once.ends(); len(answers) != 1 || answers[0] != "201" {
		t.Errorf("a write is answered %q, want 201 and the end", answers)
	}

	kept := dial(t, s)
	kept.send(put + "Connection: keep-alive\n\ndef")
	kept.says("204", http.MethodPut)
	kept.send(get + "Connection: keep-alive\n\n")
	if a := kept.says("200", http.MethodGet); a.body != "def" {
		t.Errorf("it reads %q", a.body)
	}
	kept.send(get + "\n")
	kept.says("200", http.MethodGet)
	if answers := kept.ends(); len(answers) > 0 {
		t.Errorf("behind the last answer there is %q", answers)
	}

	for _, framing := range []string{"", "Transfer-Encoding: chunked\n"} {
		w := dial(t, s)
		w.send("PUT /unsized HTTP/1.0\nConnection: keep-alive\nX-Fencing-Token: 5\n" + framing + "\nPUT /inside HTTP/1.1\nHost: x\nX-Fencing-Token: 5\nContent-Length: 3\n\nabc")
		if answers := w.ends(); len(answers) != 1 || answers[0] != "400 request_malformed" {
			t.Errorf("a body without a length (%q) is answered %q, want 400 and the end", framing, answers)
		}
	}
	for _, name := range []string{"unsized", "inside"} {
		if _, err := os.Stat(filepath.Join(s.Data, name)); !os.IsNotExist(err) {
			t.Errorf("%s is stored: %v", name, err)
		}
	}
}
