package dir

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// listPage is how many names one page of a listing has, so that what it takes
// does not depend on the size of the directory.
const listPage = 1000

const listHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%[1]s</title>
<style>body{font:15px system-ui,sans-serif;margin:2em}td{padding:.1em 2em .1em 0}td+td{color:#666;text-align:right;white-space:nowrap}a{text-decoration:none}</style>
</head><body><h1>%[1]s</h1>
<table>
`

// list answers GET of a directory with a page for browsers: the names after the
// one that the query "after" gives, sorted by bytes. Its links are relative to
// the request's path, whatever that is called in front of the store.
func (d *Dir) list(w http.ResponseWriter, r *http.Request, n name, at *folder) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query cannot be read")
	}
	names, more, err := d.pageOfNames(n, at, query.Get("after"))
	if err != nil {
		return refused(err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	below, up := "./", "../"
	if !n.slash {
		below, up = "./"+url.PathEscape(n.base)+"/", "./"
	}
	var b strings.Builder
	fmt.Fprintf(&b, listHead, html.EscapeString(n.path()))
	if n.base != "" {
		fmt.Fprintf(&b, "<tr><td><a href=\"%s\">../</a></td></tr>\n", html.EscapeString(up))
	}
	for _, base := range names {
		now, err := at.stat(base)
		if err != nil {
			continue // gone meanwhile
		}
		slash, size := "", fmt.Sprint(now.size)
		if now.mode.IsDir() {
			slash, size = "/", ""
		}
		fmt.Fprintf(&b, "<tr><td><a href=\"%s\">%s</a></td><td>%s</td><td>%s</td></tr>\n",
			html.EscapeString(below+url.PathEscape(base)+slash), html.EscapeString(base+slash), size, now.mtime.UTC().Format("2006-01-02 15:04:05"))
	}
	b.WriteString("</table>\n")
	if more {
		fmt.Fprintf(&b, "<p><a href=\"?after=%s\">next page</a></p>\n", html.EscapeString(url.QueryEscape(names[len(names)-1])))
	}
	b.WriteString("</body></html>\n")
	// The client is gone if this fails, and nobody else wants to know.
	_, _ = w.Write([]byte(b.String()))
	return nil
}

// pageOfNames returns the first names after one, in order, and whether there are
// more.
func (d *Dir) pageOfNames(n name, at *folder, after string) (names []string, more bool, err error) {
	cut := func() {
		slices.Sort(names)
		if len(names) > listPage+1 {
			names = names[:listPage+1]
		}
	}
	err = d.children(n, at, func(base string, _ info) error {
		if base <= after {
			return nil
		}
		if names = append(names, base); len(names) > 4*listPage {
			cut()
		}
		return nil
	})
	cut()
	if more = len(names) > listPage; more {
		names = names[:listPage]
	}
	return names, more, err
}
