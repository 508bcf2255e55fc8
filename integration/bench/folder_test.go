package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFilesOfARunAreCounted(t *testing.T) {
	root := t.TempDir()
	l := load{threads: 2, paths: 8, size: 3}
	if err := makeFolders(root, l); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i, c := range []struct {
		text string
		age  time.Duration
	}{{"abc", 0}, {"abc", 0}, {"ab", 0}, {"abc", time.Minute}} {
		file := filepath.Join(root, l.pathOf(i%2, i))
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, begun.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := writtenSince(root, l, begun); n != 2 || err != nil {
		t.Errorf("got %d, %v; want 2: one is short and one is old", n, err)
	}
}
