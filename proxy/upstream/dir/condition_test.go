package dir

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestConditionalWrites(t *testing.T) {
	s := openDir(t)
	past, future := "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	converse(t, s, []step{
		// Nothing there.
		{method: "PUT", path: "/a", body: "0", header: []string{"If-Match: *"}, status: 412, answer: "nothing at this path"},
		{method: "PUT", path: "/a", body: "0", header: []string{`If-Match: "x"`}, status: 412},
		{method: "PUT", path: "/new/a", body: "0", header: []string{`If-Match: "x"`}, status: 412},
		{method: "DELETE", path: "/a", header: []string{"If-Match: *"}, status: 404},
		{method: "PUT", path: "/a", body: "1", header: []string{"If-None-Match: *"}, status: 201},
		// Something there, and its tag is known.
		{method: "PUT", path: "/a", body: "x", header: []string{"If-None-Match: *"}, status: 412, answer: "entity tag is", answerHeader: "ETag: {etag}"},
		{method: "PUT", path: "/a", body: "x", header: []string{"If-None-Match: {etag}"}, status: 412},
		{method: "PUT", path: "/a", body: "x", header: []string{`If-None-Match: "x", W/{etag}`}, status: 412},
		{method: "PUT", path: "/a", body: "x", header: []string{`If-None-Match: "x"`, "If-None-Match: {etag}"}, status: 412},
		{method: "PUT", path: "/a", body: "x", header: []string{`If-Match: "x"`}, status: 412, answerHeader: "ETag: {etag}"},
		{method: "PUT", path: "/a", body: "x", header: []string{"If-Match: W/{etag}"}, status: 412},
		{method: "GET", path: "/a", status: 200, answer: "1"},
		{method: "PUT", path: "/a", body: "2", header: []string{"If-Match: {etag}"}, status: 204},
		{method: "PUT", path: "/a", body: "3", header: []string{`If-Match: "x" , {etag}`}, status: 204},
		{method: "PUT", path: "/a", body: "4", header: []string{`If-Match: "x"`, `If-Match: {etag}`}, status: 204},
		{method: "PUT", path: "/a", body: "5", header: []string{"If-Match: *"}, status: 204},
		{method: "PUT", path: "/a", body: "6", header: []string{`If-None-Match: "x", "y"`}, status: 204},
		// Dates. Beside If-Match they do not count, nor when they are no dates.
		{method: "PUT", path: "/a", body: "x", header: []string{"If-Unmodified-Since: " + past}, status: 412},
		{method: "PUT", path: "/a", body: "7", header: []string{"If-Unmodified-Since: " + future}, status: 204},
		{method: "PUT", path: "/a", body: "8", header: []string{"If-Unmodified-Since: yesterday"}, status: 204},
		{method: "PUT", path: "/a", body: "9", header: []string{"If-Match: {etag}", "If-Unmodified-Since: " + past}, status: 204},
		{method: "PUT", path: "/b", body: "1", header: []string{"If-Unmodified-Since: " + past}, status: 201},
		// What cannot be read must not let a write pass.
		{method: "PUT", path: "/a", body: "x", header: []string{"If-None-Match: x"}, status: 400, answer: "If-None-Match"},
		{method: "PUT", path: "/a", body: "x", header: []string{"If-Match: "}, status: 400},
		{method: "PUT", path: "/a", body: "x", header: []string{`If-Match: *, "x"`}, status: 400},
		{method: "DELETE", path: "/a", header: []string{`If-Match: "x`}, status: 400},
		{method: "GET", path: "/a", status: 200, answer: "9"},
		// DELETE.
		{method: "DELETE", path: "/a", header: []string{`If-Match: "x"`}, status: 412, answerHeader: "ETag: {etag}"},
		{method: "DELETE", path: "/a", header: []string{"If-Unmodified-Since: " + past}, status: 412},
		{method: "DELETE", path: "/a", header: []string{"If-None-Match: *"}, status: 412},
		{method: "DELETE", path: "/a", header: []string{"If-Match: {etag}"}, status: 204},
		// Directories have no entity tag.
		{method: "PUT", path: "/d/a", body: "1", status: 201},
		{method: "PUT", path: "/d", body: "1", header: []string{"If-None-Match: *"}, status: 409},
		{method: "DELETE", path: "/d", header: []string{`If-Match: ""`}, status: 412, answer: "directory"},
		{method: "DELETE", path: "/d", header: []string{"If-Unmodified-Since: " + past, "If-Match: *"}, status: 204},
	})
}

func TestParseTagList(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  *tagList // nil: refused
	}{
		{[]string{"*"}, &tagList{any: true}},
		{[]string{" * "}, &tagList{any: true}},
		{[]string{`"a"`}, &tagList{tags: []string{`"a"`}}},
		{[]string{`"a",W/"b"`}, &tagList{tags: []string{`"a"`, `W/"b"`}}},
		{[]string{`, ,"a", ,`, `"b,c"`}, &tagList{tags: []string{`"a"`, `"b,c"`}}},
		{[]string{`""`}, &tagList{tags: []string{`""`}}},
		{[]string{""}, nil},
		{[]string{","}, nil},
		{[]string{"*", "*"}, nil},
		{[]string{`"a" "b"`}, nil},
		{[]string{`"a"b`}, nil},
		{[]string{`w/"a"`}, nil},
		{[]string{`"a b"`}, nil},
		{[]string{`'a'`}, nil},
	} {
		got, err := parseTagList(http.Header{"If-Match": c.lines}, "If-Match")
		if (err == nil) != (c.want != nil) || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v; want %+v", c.lines, got, err, c.want)
		}
	}
}

// Of many that want to be the first, one is; of many that replace one version,
// one does.
func TestParallelConditionalPuts(t *testing.T) {
	s := openDir(t)
	race := func(path, condition string, want int) {
		t.Helper()
		var start, done sync.WaitGroup
		status := make([]int, 100)
		start.Add(1)
		for i := range status {
			commit, _, err := s.Prepare(context.Background(), request("PUT", path, "1", condition), strings.NewReader("1"))
			if err != nil {
				t.Fatal(err)
			}
			done.Go(func() {
				start.Wait()
				res, _, err := commit(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				status[i] = res.StatusCode
			})
		}
		start.Done()
		done.Wait()
		count := map[int]int{}
		for _, s := range status {
			count[s]++
		}
		if count[want] != 1 || count[412] != len(status)-1 {
			t.Errorf("%s %s: answers %v, want one %d and else 412", path, condition, count, want)
		}
	}
	race("/first", "If-None-Match: *", 201)
	race("/new/directory/first", "If-None-Match: *", 201)
	race("/first", "If-Match: "+s.do(t, request("GET", "/first", "")).Header.Get("ETag"), 204)
}
