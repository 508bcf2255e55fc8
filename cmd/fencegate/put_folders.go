package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// makeFolders makes the collections between root and the object at path, root
// included, for a store that has said that there is none (409, RFC 4918 section
// 9.7.1). What is there already is fine; MKCOL destroys nothing.
func (w *writer) makeFolders(ctx context.Context, root, path string) error {
	below := strings.Split(strings.TrimPrefix(path, root), "/") // "", folders, name
	for i := range len(below) - 1 {
		folder := root + strings.Join(below[:i+1], "/") + "/"
		if folder == "/" || w.made[folder] {
			continue
		}
		r, err := http.NewRequestWithContext(ctx, "MKCOL", w.fence+folder, nil)
		if err != nil {
			return err
		}
		r.Header = w.header.Clone()
		r.Header.Del("Content-Type") // of what is stored
		res, err := w.client.Do(r)
		if err != nil {
			return fmt.Errorf("making %s: %w", folder, err)
		}
		text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		res.Body.Close()
		if res.StatusCode/100 != 2 && res.StatusCode != http.StatusMethodNotAllowed {
			return fmt.Errorf("making %s: %s %s", folder, strings.TrimSpace(res.Status+" "+res.Header.Get("X-Fencing-Reason")), firstLine(text))
		}
		w.made[folder] = true
	}
	return nil
}
