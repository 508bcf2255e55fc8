package main

import (
	"bytes"
	"io"
	"mime"
	"net/http"

	"fencegate/proxy/protocol/dav"
)

// hrefsFromFence makes the hrefs in an answer to a WebDAV request name what they
// are behind FENCEGATE_URL, while it passes: clients go on from there.
func (h *helper) hrefsFromFence(res *http.Response) {
	switch res.Request.Method {
	case http.MethodGet, http.MethodHead:
		return // an object's own content
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "text/xml" && kind != "application/xml" || res.Header.Get("Content-Encoding") != "" {
		return
	}
	store, err := dav.ParseSpace(h.fence.String() + "/")
	if err != nil {
		return
	}
	public := dav.Space{Origin: "http://" + h.addr, Prefix: "/" + h.secret}
	body := &mappedBody{from: res.Body, left: make([]byte, 32<<10)}
	body.hrefs = dav.NewHrefs(&body.ready, dav.Map{Public: public, Store: store})
	res.Body, res.ContentLength = body, -1
	res.Header.Del("Content-Length")
}

// mappedBody reads a body through Hrefs.
type mappedBody struct {
	from  io.ReadCloser
	hrefs *dav.Hrefs
	ready bytes.Buffer // mapped, and not read yet
	left  []byte       // for what is read from the body
	err   error        // of the body
}

// Read implements io.Reader.
func (b *mappedBody) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var n int
		n, b.err = b.from.Read(b.left)
		_, _ = b.hrefs.Write(b.left[:n]) // a Buffer takes everything
		if b.err != nil {
			_ = b.hrefs.Close()
		}
	}
	return b.ready.Read(p)
}

// Close implements io.Closer.
func (b *mappedBody) Close() error { return b.from.Close() }
