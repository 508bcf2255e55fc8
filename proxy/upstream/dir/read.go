package dir

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"fencegate/fence"
)

// Read answers GET and HEAD (ranges and conditions included) with the object,
// and OPTIONS with what is allowed; under WebDAV also PROPFIND, and GET of a
// directory with a listing; other methods with 405. It returns an error, with
// fence.NotSent, if it wrote nothing to w: the storage failed, or the body of the
// request, whose error is found by errors.As. With fence.Uncertain the listing of
// a directory broke off.
//
// An answer is one whole version, even if the object is replaced or removed
// meanwhile. If the storage fails in the middle, the connection ends short of
// the Content-Length.
func (d *Dir) Read(w http.ResponseWriter, r *http.Request) (fence.Outcome, error) {
	err := d.read(w, r)
	var own *StatusError
	if errors.As(err, &own) {
		send(w, r, own.Response())
		err = nil
	}
	var begun *brokenError
	if errors.As(err, &begun) {
		return fence.Uncertain, err
	}
	if err != nil {
		return fence.NotSent, err
	}
	return fence.Definite, nil
}

func (d *Dir) read(w http.ResponseWriter, r *http.Request) error {
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
	case r.Method == http.MethodOptions:
		return d.options(w, r)
	case r.Method == "PROPFIND" && d.locks != nil:
		return d.propfind(w, r)
	default:
		return d.notOffered()
	}
	n, err := readable(r.URL.Path)
	if err != nil {
		return err
	}
	o, now, err := d.reach(n)
	if err != nil {
		return err
	}
	defer o.close()
	switch {
	case now.mode.IsDir() && d.locks == nil:
		return refuse(http.StatusNotFound, textNoListing)
	case n.slash && !now.mode.IsDir():
		return refuse(http.StatusNotFound, textNoListing)
	}
	if err := judgeRead(r.Header, &now); err != nil {
		return err
	}
	if now.mode.IsDir() {
		return d.list(w, r, n, d.root.of(o, n.rel()))
	}
	if now.size <= small && plain(r.Header) {
		if sent, err := sendWhole(w, r, n, o, &now); sent || err != nil {
			return err
		}
	}
	now.describe(w.Header())
	w.Header().Set("X-Content-Type-Options", "nosniff")
	modified := now.mtime
	if now.ahead(time.Now()) {
		modified = time.Time{} // the Last-Modified that was sent tells no versions apart
	}
	file := o.file()
	defer file.Close()
	http.ServeContent(w, withoutJudged(r), n.base, modified, file)
	return nil
}

// openAny is reach for those who need a file of the os package.
func (d *Dir) openAny(n name) (*os.File, info, error) {
	o, now, err := d.reach(n)
	if err != nil {
		return nil, info{}, err
	}
	return o.file(), now, nil
}

// reach opens the regular file or directory at n. Its errors are the store's
// answers where there is one.
func (d *Dir) reach(n name) (*opened, info, error) {
	// The staging area under another name that the file system takes for it.
	if first, err := d.root.stat(n.first()); err == nil && first.same(d.self) {
		return nil, info{}, refuse(http.StatusNotFound, textNotFound)
	}
	o, err := d.root.peek(n.rel())
	for _, errno := range []syscall.Errno{syscall.ELOOP, syscall.EXDEV, syscall.ENXIO, syscall.ENODEV} {
		if errors.Is(err, errno) {
			err = &StatusError{Status: http.StatusNotFound, Text: textNotRegular, Err: err}
		}
	}
	if err != nil {
		return nil, info{}, refused(missing(err))
	}
	now, err := o.stat()
	if err == nil && !now.regular() && !now.mode.IsDir() {
		err = refuse(http.StatusNotFound, textNotRegular)
	}
	if err != nil {
		return nil, info{}, errors.Join(err, o.close())
	}
	return o, now, nil
}

const textNoListing = "this path is a directory, if anything; the store does not list directories"

// readable takes a read's path apart; the staging area is not there.
func readable(path string) (name, error) {
	n, err := parsePath(path)
	if err == nil && n.reserved() {
		err = refuse(http.StatusNotFound, textNotFound)
	}
	return n, missing(err)
}

// missing turns the refusals that mean that nothing can be at a path, which
// matter to a PUT, into the 404 that they are to everything else.
func missing(err error) error {
	for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, errno) {
			return &StatusError{Status: http.StatusNotFound, Text: textNotFound, Err: err}
		}
	}
	return err
}

// judgeRead checks what must hold for a read to be answered at all. What may
// spare the client the content is left to http.ServeContent.
func judgeRead(h http.Header, now *info) error {
	when, err := parseConditions(http.Header{
		"If-Match":            h["If-Match"],
		"If-Unmodified-Since": h["If-Unmodified-Since"],
	})
	if err != nil {
		return err
	}
	return when.judge(now)
}

// withoutJudged returns r for http.ServeContent: without the conditions that
// judgeRead has judged, and with the lines of If-None-Match joined (RFC 9110
// section 5.3), of which ServeContent looks at the first only.
func withoutJudged(r *http.Request) *http.Request {
	if len(r.Header["If-Match"]) == 0 && len(r.Header["If-None-Match"]) < 2 {
		return r
	}
	rest := *r
	rest.Header = r.Header.Clone()
	rest.Header.Del("If-Match")
	rest.Header.Del("If-Unmodified-Since") // overruled by If-Match, or judged
	if lines := r.Header["If-None-Match"]; len(lines) > 1 {
		rest.Header.Set("If-None-Match", strings.Join(lines, ", "))
	}
	return &rest
}

func (d *Dir) options(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path != "*" {
		if _, err := readable(r.URL.Path); err != nil {
			return err
		}
	}
	w.Header().Set("Allow", d.allowed())
	if d.locks == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w.Header().Set("DAV", "1, 2")
	w.Header().Set("MS-Author-Via", "DAV") // else Windows tries FrontPage first
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}

// send writes an answer of ours.
func send(w http.ResponseWriter, r *http.Request, res *http.Response) {
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	if r.Method != http.MethodHead {
		// The client is gone if this fails, and nobody else wants to know.
		_, _ = io.Copy(w, res.Body)
	}
}
