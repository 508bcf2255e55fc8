package proxy

import (
	"io"
	"net/http"
	"os"

	"fencegate/proxy/protocol/dav"
)

// storeWriter lets the store write its answer to a read, without headers that
// are not for the client. A client that does not take the answer, or takes it
// more slowly than BodyLimits allow, is dropped: it would keep a goroutine, a
// socket and an open object for ever. Only the time of writing counts, not that
// in which the store has nothing to write.
type storeWriter struct {
	http.ResponseWriter
	x     *exchange
	p     *Proxy
	wrote bool
	hrefs *dav.Hrefs // through which the body goes; nil: as it is
}

func (w *storeWriter) WriteHeader(status int) {
	trimAnswer(w.Header())
	w.x.hurry()
	if status < 200 {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.wrote = true
	if m := w.p.storeNames(w.x.r); w.p.renameBack(w.Header(), w.x.r, m) {
		w.hrefs = dav.NewHrefs(pieceWriter{w}, m)
	}
	w.x.head(status)
}

// end writes what is held back of the answer.
func (w *storeWriter) end() error {
	if w.hrefs == nil {
		return nil
	}
	return w.hrefs.Close()
}

func (w *storeWriter) Write(b []byte) (n int, err error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	if w.hrefs != nil {
		return w.hrefs.Write(b)
	}
	return pieceWriter{w}.Write(b)
}

// pieceWriter gives the client time for each piece.
type pieceWriter struct{ *storeWriter }

func (w pieceWriter) Write(b []byte) (n int, err error) {
	for {
		piece := b[n:min(int64(len(b)), int64(n)+w.x.piece)]
		w.x.hurry()
		m, err := w.ResponseWriter.Write(piece)
		n += m
		if w.x.broken = err != nil; err != nil || n == len(b) {
			return n, err
		}
	}
}

// ReadFrom keeps sendfile possible for stores that copy from a file, piece by
// piece. Of other sources it is not known how long reading from them takes.
func (w *storeWriter) ReadFrom(src io.Reader) (n int64, err error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: 1<<63 - 1}
	}
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	file, ok := limited.R.(*os.File)
	if !ok || w.hrefs != nil {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	for limited.N > 0 && err == nil {
		w.x.hurry()
		var m int64
		// net finds a file under one LimitedReader, not under two.
		m, err = io.CopyN(w.ResponseWriter, file, min(limited.N, w.x.piece))
		n += m
		limited.N -= m
	}
	if err == io.EOF {
		return n, nil
	}
	w.x.broken = err != nil
	return n, err
}

// FlushError is for http.ResponseController.
func (w *storeWriter) FlushError() error {
	w.x.hurry()
	err := w.x.rc.Flush()
	w.x.broken = w.x.broken || err != nil
	return err
}

// Unwrap is for http.ResponseController.
func (w *storeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
