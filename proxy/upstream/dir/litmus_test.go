package dir

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fencegate/fence"
)

// ServeHTTP serves as the proxy does: reads as they come, PUT staged, other
// writes with their body at hand.
func (s storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND":
		if _, err := s.Read(w, r); err != nil {
			panic(err)
		}
		return
	}
	res, o, err := s.written(r)
	if err != nil || o != fence.Definite {
		panic(errors.Join(err, errors.New(o.String())))
	}
	send(w, r, res)
}

func (s storage) written(r *http.Request) (*http.Response, fence.Outcome, error) {
	if r.Method != http.MethodPut {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fence.NotSent, err
		}
		return s.Write(r.Context(), r, strings.NewReader(string(body)), int64(len(body)))
	}
	commit, _, err := s.Prepare(r.Context(), r, r.Body)
	var own *StatusError
	if errors.As(err, &own) {
		return own.Response(), fence.Definite, nil
	}
	if err != nil {
		return nil, fence.NotSent, err
	}
	return commit(r.Context())
}

// litmusTests are how many tests each of its programs has at least.
var litmusTests = map[string]int{"basic": 16, "copymove": 13, "props": 30, "locks": 41, "http": 4}

var litmusSummary = regexp.MustCompile(`of (\d+) tests run: (\d+) passed, 0 failed`)

// The store passes litmus, whose every warning is one too many as well.
func TestLitmus(t *testing.T) {
	if testing.Short() {
		t.Skip("needs litmus")
	}
	program, err := exec.LookPath("litmus")
	if err != nil {
		t.Fatal("this test needs litmus; run it with -short to leave it out: ", err)
	}
	s := openDAV(t)
	server := httptest.NewServer(s)
	defer server.Close()
	for suite, count := range litmusTests {
		cmd := exec.CommandContext(t.Context(), program, server.URL+"/")
		cmd.Dir = t.TempDir() // its logs
		cmd.Env = append(cmd.Environ(), "TESTS="+suite)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", suite, err, out)
			continue
		}
		summary := litmusSummary.FindStringSubmatch(string(out))
		if summary == nil || summary[1] != summary[2] {
			t.Errorf("%s: not all tests passed:\n%s", suite, out)
		} else if run, err := strconv.Atoi(summary[1]); err != nil || run < count {
			t.Errorf("%s: %d tests were run, want %d or more", suite, run, count)
		}
		for _, line := range regexp.MustCompile(`.*(WARNING|SKIPPED).*`).FindAllString(string(out), -1) {
			t.Errorf("%s: %s", suite, line)
		}
	}
}
