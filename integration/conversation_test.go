package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// String shows an answer as far as failures are about it.
func (a answer) String() string {
	return strings.TrimSpace(fmt.Sprint(a.status, " ", a.header.Get("X-Fencing-Reason")))
}

// stampOf is a holder that tests speak for themselves.
func stampOf(token fence.Token, name string) fence.Stamp {
	return fence.Stamp{Token: token, Owner: fence.Owner("owner-of-" + name), Client: "test/" + name}
}

// send makes one request, with the headers that stamp has something for.
func send(client *http.Client, method, url string, stamp fence.Stamp, body io.Reader) (answer, error) {
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return answer{}, err
	}
	if stamp.Token != fence.NoToken {
		r.Header.Set("X-Fencing-Token", stamp.Token.String())
		if stamp.Owner != fence.NoOwner {
			r.Header.Set("X-Fencing-Owner", string(stamp.Owner))
		}
		r.Header.Set("X-Fencing-Client", stamp.Client)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json") // of a claim
	}
	res, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(text)}, err
}

// fresh is a client whose connections serve one request each, so that a test
// never meets one that a server which is gone has left.
var fresh = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: harness.Patience}

// says sends a request and compares the answer: a status, or a status and a
// reason.
func says(t testing.TB, s *harness.Server, want, method, path string, stamp fence.Stamp, body string) answer {
	t.Helper()
	a, err := send(fresh, method, s.URL()+path, stamp, strings.NewReader(body))
	if err != nil || a.String() != want {
		t.Fatalf("%s %s with token %s is answered %v, %v, want %s\n%s", method, path, stamp.Token, a, err, want, a.body)
	}
	return a
}

// holds compares the content of an object.
func holds(t testing.TB, s *harness.Server, path, want string) {
	t.Helper()
	if a := says(t, s, "200", http.MethodGet, path, fence.Stamp{}, ""); a.body != want {
		t.Fatalf("%s holds %q, want %q", path, a.body, want)
	}
}

// mark is what the fence tells about a resource.
type mark struct {
	Resource string `json:"resource"`
	Token    string `json:"token"`
	Since    string `json:"since"`
	Client   string `json:"client"`
	Owner    string `json:"owner_sha256"`
	Via      string `json:"via"`
}

func markOf(t testing.TB, s *harness.Server, path string) mark {
	t.Helper()
	a := says(t, s, "200", http.MethodGet, "/.well-known/fencegate/marks?resource="+path, fence.Stamp{}, "")
	var m mark
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, a.body)
	}
	return m
}

// isMarked compares the mark of a resource with what stamp has left there.
func isMarked(t testing.TB, s *harness.Server, path string, stamp fence.Stamp, via string) mark {
	t.Helper()
	m := markOf(t, s, path)
	want := mark{path, stamp.Token.String(), m.Since, stamp.Client, stamp.Owner.Digest(), via}
	if m != want || m.Since == "" {
		t.Fatalf("the mark is %+v, want %+v", m, want)
	}
	return m
}
