package history

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordIsReadBack(t *testing.T) {
	var file bytes.Buffer
	time := int64(0)
	r := NewRecorder(&file, func() int64 { time++; return time })
	a, b := put("a", 7, 0, 0, 0, ""), claim("b", 8, 0, 0, 0)
	for _, o := range []*Operation{&a, &b} {
		if err := r.Called(o); err != nil {
			t.Fatal(err)
		}
	}
	b.Status = 200
	if err := r.Returned(&b); err != nil {
		t.Fatal(err)
	}
	whole := file.Len()
	c := put("c", 9, 0, 0, 0, "")
	if err := r.Called(&c); err != nil {
		t.Fatal(err)
	}
	if a.Call != 1 || a.Return != 0 || b.Call != 2 || b.Return != 3 {
		t.Errorf("the times are %+v, %+v", a, b)
	}
	// A recorder that was killed has written any part of its last line.
	for end := whole; end < file.Len(); end++ {
		got, err := Read(bytes.NewReader(file.Bytes()[:end]))
		if diff := cmp.Diff([]Operation{a, b}, got); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	}
	got, err := Read(&file)
	if diff := cmp.Diff([]Operation{a, b, c}, got); err != nil || diff != "" {
		t.Fatalf("%v, -want +got:\n%s", err, diff)
	}
}

func TestBadRecords(t *testing.T) {
	const call, ret = `{"id":"a","kind":"put","resource":"/x","call":1}` + "\n", `{"id":"a","kind":"put","resource":"/x","call":1,"return":2}` + "\n"
	for _, bad := range []string{"half a line\n" + call, call + call, call + ret + ret, ret + call, "{}\n", `{"id":"a","extra":1}` + "\n"} {
		if got, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
