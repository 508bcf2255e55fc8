package dir

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fencegate/fence"
)

func TestRanges(t *testing.T) {
	s := openDir(t)
	converse(t, s, []step{
		{method: "PUT", path: "/a.bin", body: "0123456789", status: 201},
		{method: "GET", path: "/a.bin", status: 200, answerHeader: "Accept-Ranges: bytes"},
		{method: "GET", path: "/a.bin", header: []string{"Range: bytes=2-4"}, status: 206, answer: "234", answerHeader: "Content-Range: bytes 2-4/10"},
		{method: "GET", path: "/a.bin", header: []string{"Range: bytes=-3"}, status: 206, answer: "789", answerHeader: "Content-Length: 3"},
		{method: "GET", path: "/a.bin", header: []string{"Range: bytes=20-"}, status: 416, answerHeader: "Content-Range: bytes */10"},
		{method: "GET", path: "/a.bin", status: 200, answer: "0123456789"}, // for its entity tag
		{method: "GET", path: "/a.bin", header: []string{"Range: bytes=2-4", "If-Range: {etag}"}, status: 206, answer: "234"},
		{method: "GET", path: "/a.bin", header: []string{"Range: bytes=2-4", `If-Range: "x"`}, status: 200, answer: "0123456789"},
	})
	res := s.do(t, request("GET", "/a.bin", "", "Range: bytes=0-1,8-"))
	kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/byteranges" || res.StatusCode != 206 {
		t.Fatalf("multi-range: %d %s %v", res.StatusCode, kind, err)
	}
	parts := multipart.NewReader(res.Body, params["boundary"])
	for _, want := range []string{"01", "89"} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || string(got) != want {
			t.Errorf("part %q %v, want %q", got, err, want)
		}
	}
}

func TestConditionalReads(t *testing.T) {
	s := openDir(t)
	past, future := "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	for _, method := range []string{"GET", "HEAD"} {
		s.do(t, request("PUT", "/a", "one"))
		converse(t, s, []step{
			{method: method, path: "/a", status: 200},
			{method: method, path: "/a", header: []string{"If-None-Match: {etag}"}, status: 304, answerHeader: "ETag: {etag}"},
			{method: method, path: "/a", header: []string{"If-None-Match: W/{etag}"}, status: 304},
			{method: method, path: "/a", header: []string{`If-None-Match: "x"`, "If-None-Match: {etag}"}, status: 304},
			{method: method, path: "/a", header: []string{"If-None-Match: *"}, status: 304},
			{method: method, path: "/a", header: []string{`If-None-Match: "x"`, "If-Modified-Since: " + future}, status: 200},
			{method: method, path: "/a", header: []string{"If-Modified-Since: " + future}, status: 304},
			{method: method, path: "/a", header: []string{"If-Modified-Since: " + past}, status: 200},
			{method: method, path: "/a", header: []string{"If-Match: {etag}"}, status: 200},
			{method: method, path: "/a", header: []string{`If-Match: "x"`, "If-Match: {etag}"}, status: 200},
			{method: method, path: "/a", header: []string{`If-Match: "x"`}, status: 412, answerHeader: "ETag: {etag}"},
			{method: method, path: "/a", header: []string{"If-Match: x"}, status: 400},
			{method: method, path: "/a", header: []string{"If-Unmodified-Since: " + past}, status: 412},
			{method: method, path: "/a", header: []string{"If-Unmodified-Since: " + future}, status: 200},
			{method: method, path: "/none", header: []string{`If-Match: "x"`}, status: 404},
		})
	}
}

// Over a real connection: framing, HEAD, and a reader that keeps its version
// while the object is replaced and removed.
func TestReadOverTheWire(t *testing.T) {
	s := openDir(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o, err := s.Read(w, r); err != nil || o != fence.Definite {
			t.Errorf("Read: %v %v", o, err)
		}
	}))
	defer server.Close()
	client := server.Client()

	old := strings.Repeat("old ", 1<<20)
	s.do(t, request("PUT", "/a", old))
	res, err := client.Get(server.URL + "/a")
	if err != nil {
		t.Fatal(err)
	}
	s.do(t, request("PUT", "/a", "new"))
	s.do(t, request("DELETE", "/a", ""))
	if got := text(t, res); got != old || res.ContentLength != int64(len(old)) {
		t.Errorf("got %d bytes with length %d, want the old version", len(got), res.ContentLength)
	}

	res, err = client.Head(server.URL + "/a")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, res); res.StatusCode != 404 || got != "" || res.ContentLength != int64(len(textNotFound)+1) {
		t.Errorf("HEAD: %d %q, length %d", res.StatusCode, got, res.ContentLength)
	}
	r, err := http.NewRequest("PROPFIND", server.URL+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err = client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if text(t, res); res.StatusCode != 405 || res.Header.Get("Allow") == "" {
		t.Errorf("PROPFIND: %d, Allow %q", res.StatusCode, res.Header.Get("Allow"))
	}
}
