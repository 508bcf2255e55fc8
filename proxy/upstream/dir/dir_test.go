package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fencegate/fence"
)

// storage is an open Dir whose clean-up checks what must hold after every test:
// it closes without complaint and leaves nothing in the staging area.
type storage struct {
	*Dir
	root string
}

func openDir(t testing.TB) storage {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "data"))
}

func openAt(t testing.TB, root string) storage { return openWith(t, root, Options{}) }

func openDAV(t testing.TB) storage {
	t.Helper()
	return openWith(t, filepath.Join(t.TempDir(), "data"), Options{WebDAV: true})
}

func openWith(t testing.TB, root string, opts Options) storage {
	t.Helper()
	d, err := Open(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantStagingEmpty(t, root)
	})
	return storage{d, root}
}

func wantStagingEmpty(t testing.TB, root string) {
	t.Helper()
	for _, sub := range []string{"staged", "trash", "moves"} {
		entries, err := os.ReadDir(filepath.Join(root, area, sub))
		if sub == "moves" && errors.Is(err, fs.ErrNotExist) {
			continue // under protocol plain
		}
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			t.Errorf("left in the staging area: %s/%s", sub, e.Name())
		}
	}
}

// request makes a request as the proxy hands it over; header is "Name: value"
// lines.
func request(method, path, body string, header ...string) *http.Request {
	r := &http.Request{
		Method:        method,
		URL:           &url.URL{Path: path},
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{},
		Host:          "storage.test",
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(strings.NewReader(body)),
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// do serves r as the proxy does: reads, staged PUTs, other writes.
func (s storage) do(t testing.TB, r *http.Request) *http.Response {
	t.Helper()
	res, o, err := s.serve(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	if o != fence.Definite {
		t.Fatalf("%s %s: outcome %v, want definite", r.Method, r.URL.Path, o)
	}
	for field := range res.Header {
		if strings.HasPrefix(field, "X-Fencing") {
			t.Errorf("%s %s: the store sent %s", r.Method, r.URL.Path, field)
		}
	}
	return res
}

func (s storage) serve(r *http.Request) (*http.Response, fence.Outcome, error) {
	ctx := context.Background()
	switch r.Method {
	case http.MethodPut:
		commit, _, err := s.Prepare(ctx, r, r.Body)
		var own *StatusError
		if errors.As(err, &own) {
			return own.Response(), fence.Definite, nil
		}
		if err != nil {
			return nil, fence.NotSent, err
		}
		return commit(ctx)
	case http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND":
		w := httptest.NewRecorder()
		o, err := s.Read(w, r)
		return w.Result(), o, err
	default:
		return s.Write(ctx, r, r.Body, r.ContentLength)
	}
}

// content returns what is stored at a path, read without the Dir.
func (s storage) content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.root, path))
	if errors.Is(err, fs.ErrNotExist) {
		return "(nothing)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fill makes the files that lines such as "d/a content" tell of.
func fill(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, line := range files {
		i := strings.LastIndexByte(line, ' ')
		path, content := filepath.Join(root, line[:i]), line[i+1:]
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree tells what is at a path, in one line: a file's content, or the files in a
// directory; "" for nothing.
func tree(t *testing.T, root, path string) string {
	t.Helper()
	var found []string
	top := filepath.Join(root, path)
	err := filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(at, top)
		if e.IsDir() {
			line += "/"
		} else {
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			line += "=" + string(content)
		}
		found = append(found, line)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func text(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// step is one exchange of a conversation. "{etag}" in a header stands for the
// last entity tag that was answered, "{token}" for the last lock token with its
// brackets, "{token 1}" for the first.
type step struct {
	method, path, body string
	header             []string
	status             int
	answer             string // what the body contains; "" is not checked
	answerHeader       string // "Name: value" that the answer has
}

func converse(t *testing.T, s storage, steps []step) {
	t.Helper()
	etag := `"none"`
	var tokens []string
	replaced := func(text string) string {
		text = strings.ReplaceAll(text, "{etag}", etag)
		for i, token := range tokens {
			text = strings.ReplaceAll(text, fmt.Sprintf("{token %d}", i+1), token)
			text = strings.ReplaceAll(text, "{token}", tokens[len(tokens)-1])
		}
		return text
	}
	for i, st := range steps {
		var header []string
		for _, h := range st.header {
			header = append(header, replaced(h))
		}
		res := s.do(t, request(st.method, st.path, st.body, header...))
		got := text(t, res)
		if res.StatusCode != st.status {
			t.Fatalf("step %d: %s %q %q: status %d, want %d (%q)", i, st.method, st.path, header, res.StatusCode, st.status, got)
		}
		if want := replaced(st.answer); !strings.Contains(got, want) {
			t.Errorf("step %d: %s %q: answer %q, want %q in it", i, st.method, st.path, got, want)
		}
		if name, value, ok := strings.Cut(replaced(st.answerHeader), ": "); ok && res.Header.Get(name) != value {
			t.Errorf("step %d: %s %q: %s is %q, want %q", i, st.method, st.path, name, res.Header.Get(name), value)
		}
		if e := res.Header.Get("ETag"); e != "" {
			etag = e
		}
		if token := res.Header.Get("Lock-Token"); token != "" {
			tokens = append(tokens, token)
		}
	}
}

func TestPutGetDelete(t *testing.T) {
	s := openDir(t)
	converse(t, s, []step{
		{method: "GET", path: "/a.txt", status: 404, answer: "nothing at this path", answerHeader: "Content-Type: text/plain; charset=utf-8"},
		{method: "PUT", path: "/a.txt", body: "one", status: 201},
		{method: "GET", path: "/a.txt", status: 200, answer: "one", answerHeader: "ETag: {etag}"},
		{method: "PUT", path: "/a.txt", body: "two, longer", status: 204},
		{method: "GET", path: "/a.txt", status: 200, answer: "two, longer", answerHeader: "ETag: {etag}"},
		{method: "GET", path: "/a.txt", status: 200, answerHeader: "Content-Type: text/plain; charset=utf-8"},
		{method: "GET", path: "/a.txt", status: 200, answerHeader: "X-Content-Type-Options: nosniff"},
		{method: "HEAD", path: "/a.txt", status: 200, answerHeader: "Content-Length: 11"},
		{method: "DELETE", path: "/a.txt", status: 204},
		{method: "DELETE", path: "/a.txt", status: 404},
		{method: "GET", path: "/a.txt", status: 404},
		{method: "HEAD", path: "/a.txt", status: 404},
		{method: "PUT", path: "/empty", body: "", status: 201},
		{method: "GET", path: "/empty", status: 200, answerHeader: "Content-Length: 0"},
		{method: "PUT", path: "/sniffed", body: "%PDF-1.7", status: 201},
		{method: "GET", path: "/sniffed", status: 200, answerHeader: "Content-Type: application/pdf"},
		{method: "OPTIONS", path: "/a.txt", status: 204, answerHeader: "Allow: GET, HEAD, OPTIONS, PUT, DELETE"},
		{method: "OPTIONS", path: "*", status: 204, answerHeader: "Allow: GET, HEAD, OPTIONS, PUT, DELETE"},
		{method: "POST", path: "/a.txt", status: 405, answerHeader: "Allow: GET, HEAD, OPTIONS, PUT, DELETE"},
		{method: "PUT", path: "/名前 %41;?#", body: "odd", status: 201},
		{method: "GET", path: "/名前 %41;?#", status: 200, answer: "odd"},
	})
	if got := s.content(t, "名前 %41;?#"); got != "odd" {
		t.Errorf("stored %q", got)
	}
}

func TestParentsAndDirectories(t *testing.T) {
	s := openDir(t)
	converse(t, s, []step{
		{method: "PUT", path: "/a/b/c/one", body: "1", status: 201},
		{method: "GET", path: "/a/b/c/one", status: 200, answer: "1"},
		{method: "PUT", path: "/a/b/two", body: "2", status: 201},
		{method: "PUT", path: "/a/b", body: "x", status: 409, answer: "directory"},
		{method: "PUT", path: "/a/b/", body: "x", status: 409, answer: `ends in "/"`},
		{method: "PUT", path: "/new/", body: "x", status: 409},
		{method: "PUT", path: "/", body: "x", status: 409},
		{method: "PUT", path: "/a/b/two/below", body: "x", status: 409, answer: "is a file"},
		{method: "PUT", path: "/a/b/two/below/deeper", body: "x", status: 409, answer: "is a file"},
		{method: "GET", path: "/a/b", status: 404, answer: "list"},
		{method: "GET", path: "/a/b/", status: 404, answer: "list"},
		{method: "GET", path: "/", status: 404, answer: "list"},
		{method: "GET", path: "/a/b/two/", status: 404},
		{method: "GET", path: "/a/b/two/below", status: 404},
		{method: "DELETE", path: "/a/b/two/", status: 404},
		{method: "DELETE", path: "/a/b/two/below", status: 404},
		{method: "DELETE", path: "/no/such", status: 404},
		{method: "DELETE", path: "/", status: 403, answer: "root"},
		{method: "DELETE", path: "/a/b/", status: 204},
		{method: "GET", path: "/a/b/c/one", status: 404},
		{method: "GET", path: "/a/b/two", status: 404},
		{method: "DELETE", path: "/a", status: 204},
		{method: "PUT", path: "/a", body: "a file now", status: 201},
	})
}

func TestNamesTooLong(t *testing.T) {
	s := openDir(t)
	longest, tooLong := strings.Repeat("n", 255), strings.Repeat("n", 256)
	converse(t, s, []step{
		{method: "PUT", path: "/" + longest, body: "x", status: 201},
		{method: "GET", path: "/" + longest, status: 200},
		{method: "PUT", path: "/" + tooLong, body: "x", status: 414, answer: "longer"},
		{method: "PUT", path: "/" + tooLong + "/x", body: "x", status: 414},
		{method: "GET", path: "/" + tooLong, status: 404},
		{method: "DELETE", path: "/" + tooLong, status: 404},
		{method: "PUT", path: strings.Repeat("/nnn", 1100), body: "x", status: 414},
		{method: "GET", path: strings.Repeat("/nnn", 1100), status: 404},
		{method: "PUT", path: strings.Repeat("/d", 2047), body: "deep", status: 201},
		{method: "GET", path: strings.Repeat("/d", 2047), status: 200, answer: "deep"},
		{method: "DELETE", path: "/d", status: 204},
	})
	if entries, err := os.ReadDir(s.root); err != nil || len(entries) != 2 {
		t.Errorf("root holds %v, %v; want the staging area and one file", entries, err)
	}
}

// A refused write leaves no directories behind.
func TestRefusedPutMakesNoDirectories(t *testing.T) {
	s := openDir(t)
	before, err := os.Stat(s.root)
	if err != nil {
		t.Fatal(err)
	}
	converse(t, s, []step{{method: "PUT", path: "/x/y/z", body: "1", header: []string{"If-Match: *"}, status: 412}})
	if after, err := os.Stat(s.root); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("directories were made for a request that was refused: %v", err)
	}
	converse(t, s, []step{
		{method: "PUT", path: "/x/y/" + strings.Repeat("n", 256), body: "1", status: 414},
		{method: "PUT", path: "/x" + strings.Repeat("/nnn", 1100), body: "1", status: 414},
	})
	if got := s.content(t, "x"); got != "(nothing)" {
		t.Errorf("x is there: %s", got)
	}
}

func TestAbortAndShortBodies(t *testing.T) {
	s := openDir(t)
	s.do(t, request("PUT", "/a", "old"))
	ctx, cancel := context.WithCancelCause(context.Background())

	_, abort, err := s.Prepare(ctx, request("PUT", "/a", "new"), strings.NewReader("new"))
	if err != nil {
		t.Fatal(err)
	}
	abort()

	broken := errors.New("the client is gone")
	for _, c := range []struct {
		what string
		body io.Reader
		want error
	}{
		{"cut", io.MultiReader(strings.NewReader("ne"), errReader{broken}), broken},
		{"short", strings.NewReader("ne"), io.ErrUnexpectedEOF},
		{"long", strings.NewReader("new and more"), io.ErrUnexpectedEOF},
	} {
		_, _, err := s.Prepare(ctx, request("PUT", "/a", "new"), c.body)
		if !errors.Is(err, c.want) {
			t.Errorf("%s body: error %v, want %v", c.what, err, c.want)
		}
		wantStagingEmpty(t, s.root)
	}
	overtaken := errors.New("overtaken")
	cancel(overtaken)
	if _, _, err := s.Prepare(ctx, request("PUT", "/a", "new"), strings.NewReader("new")); !errors.Is(err, overtaken) {
		t.Errorf("cancelled: %v", err)
	}
	wantStagingEmpty(t, s.root)
	if got := s.content(t, "a"); got != "old" {
		t.Errorf("a is %q, want the old content", got)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// A commit that was called is carried out, whatever becomes of its context.
func TestCommitIsNotCancelled(t *testing.T) {
	s := openDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	commit, _, err := s.Prepare(ctx, request("PUT", "/a", "new"), strings.NewReader("new"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if res, o, err := commit(ctx); err != nil || o != fence.Definite || res.StatusCode != 201 {
		t.Errorf("commit: %v %v %v", res, o, err)
	}
}

// PUT through Write, for callers without staging.
func TestWritePut(t *testing.T) {
	s := openDir(t)
	res, o, err := s.Write(context.Background(), request("PUT", "/a", ""), strings.NewReader("body"), 4)
	if err != nil || o != fence.Definite || res.StatusCode != 201 || s.content(t, "a") != "body" {
		t.Errorf("%v %v %v, stored %q", res, o, err, s.content(t, "a"))
	}
	_, o, err = s.Write(context.Background(), request("PUT", "/a", ""), strings.NewReader("bo"), 4)
	if !errors.Is(err, io.ErrUnexpectedEOF) || o != fence.NotSent {
		t.Errorf("short: %v %v", o, err)
	}
	res, o, err = s.Write(context.Background(), request("PUT", "/a/", ""), strings.NewReader("body"), 4)
	if err != nil || o != fence.Definite || res.StatusCode != 409 {
		t.Errorf("%v %v %v", res, o, err)
	}
}

// Every answer of a write can be put on the wire as it is.
func TestAnswersAreComplete(t *testing.T) {
	s := openDir(t)
	for _, r := range []*http.Request{
		request("PUT", "/a", "1"), request("PUT", "/a", "2"), request("PUT", "/a/", "3"),
		request("PUT", "/a", "4", "If-None-Match: *"), request("POST", "/a", ""),
		request("DELETE", "/a", ""), request("DELETE", "/a", ""),
	} {
		res := s.do(t, r)
		var wire bytes.Buffer
		if err := res.Write(&wire); err != nil {
			t.Fatal(err)
		}
		if res.Body == nil || res.Header == nil {
			t.Errorf("%s %d: incomplete answer", r.Method, res.StatusCode)
		}
		if res.StatusCode == 204 && strings.Contains(wire.String(), "Content-Length") {
			t.Errorf("204 with Content-Length:\n%s", &wire)
		}
		if _, body, _ := strings.Cut(wire.String(), "\r\n\r\n"); int64(len(body)) != res.ContentLength {
			t.Errorf("%s %d: ContentLength is %d, the body %q", r.Method, res.StatusCode, res.ContentLength, body)
		}
	}
}

func TestAfterClose(t *testing.T) {
	d, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := storage{Dir: d}
	ctx := context.Background()
	commit, _, err := d.Prepare(ctx, request("PUT", "/a", "1"), strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, o, err := commit(ctx); err == nil || o != fence.NotSent {
		t.Errorf("commit after Close: %v %v", o, err)
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if _, o, err := s.serve(request(method, "/a", "")); err == nil || o != fence.NotSent {
			t.Errorf("%s after Close: %v %v", method, o, err)
		}
	}
}
