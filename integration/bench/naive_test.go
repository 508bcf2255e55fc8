package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

func TestNaiveFence(t *testing.T) {
	passed := 0
	n, err := newNaive(filepath.Join(t.TempDir(), "db"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		passed++
		w.WriteHeader(http.StatusNoContent)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer n.db.Close()
	want := 0
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/a", "5", 204}, {"/a", "5", 204}, {"/a", "4", 412}, {"/a", "6", 204}, {"/a", "5", 412}, {"/b", "1", 204}, {"/b", "", 428}, {"/b", "x", 428},
	} {
		r := httptest.NewRequest(http.MethodPut, c.path, nil)
		r.Header.Set("X-Fencing-Token", c.token)
		w := httptest.NewRecorder()
		n.ServeHTTP(w, r)
		if c.status == 204 {
			want++
		}
		if w.Code != c.status || passed != want {
			t.Errorf("PUT %s with token %q: %d and %d passed, want %d and %d", c.path, c.token, w.Code, passed, c.status, want)
		}
	}
}
