package dir

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// StatusError is an answer of the store itself, met while a request was looked
// at or its body taken in. It is definite: no object has changed.
type StatusError struct {
	Status int
	Text   string // what happened and what can be done, for a person
	Header http.Header
	// Condition is the element of RFC 4918 section 16 that names what failed,
	// and Hrefs the paths that it is about; with one the answer is XML.
	Condition string
	Hrefs     []string
	Err       error // the cause, may be nil
}

func (e *StatusError) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

func (e *StatusError) Unwrap() error { return e.Err }

// Response returns the answer for the client, complete, with a new body on
// each call.
func (e *StatusError) Response() *http.Response {
	h := e.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("X-Content-Type-Options", "nosniff")
	if e.Condition != "" {
		h.Set("Content-Type", dav.ContentType)
		return response(e.Status, h, dav.ErrorBody(e.Condition, e.Hrefs, e.Text))
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	return response(e.Status, h, e.Text+"\n")
}

// response makes a complete answer. A 204 has no body (RFC 9110 section
// 15.3.5), and no Content-Length either.
func response(status int, h http.Header, text string) *http.Response {
	res := &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     h,
		Body:       http.NoBody,
	}
	if status == http.StatusNoContent {
		return res
	}
	if text != "" {
		res.Body = io.NopCloser(strings.NewReader(text))
	}
	res.ContentLength = int64(len(text))
	h.Set("Content-Length", strconv.Itoa(len(text)))
	return res
}

// answer turns an own refusal into what Write and commit return: a definite
// answer instead of an error.
func answer(res *http.Response, o fence.Outcome, err error) (*http.Response, fence.Outcome, error) {
	var own *StatusError
	if errors.As(err, &own) {
		return own.Response(), fence.Definite, nil
	}
	return res, o, err
}

func refuse(status int, text string) *StatusError { return &StatusError{Status: status, Text: text} }

const (
	textReserved    = "this name belongs to the store itself"
	textNotFound    = "there is nothing at this path"
	textIsDirectory = "this path is a directory"
	textNotRegular  = "this path is or goes through a symbolic link, mount point or special file, which the store does not touch"
	// 414 rather than 409: it is the path itself that cannot be stored, whatever
	// else the directory holds, and only another path helps.
	textNameTooLong = "this path, or a name in it, is longer than the storage allows (4096 and 255 bytes)"
)

// refusals are the causes that a client or operator can do something about,
// each with the answer that says so. What is not listed is an error.
var refusals = []struct {
	errno  syscall.Errno
	status int
	text   string
}{
	{syscall.ENOSPC, http.StatusInsufficientStorage, "no space is left in the storage"},
	{syscall.EDQUOT, http.StatusInsufficientStorage, "the disk quota of the storage is used up"},
	{syscall.EFBIG, http.StatusRequestEntityTooLarge, "the body is larger than the file system allows a file to be"},
	{syscall.EROFS, http.StatusForbidden, "the storage is mounted read-only"},
	{syscall.EACCES, http.StatusForbidden, "the user that fencegate runs as may not do this here; check owner and mode of the directory"},
	{syscall.EPERM, http.StatusForbidden, "the operating system does not permit this here; check owner, mode and file attributes"},
	{syscall.ELOOP, http.StatusForbidden, "the path goes through a symbolic link, which the store does not follow"},
	{syscall.EXDEV, http.StatusForbidden, "the path enters another file system, which the store does not serve"},
	{syscall.EBUSY, http.StatusForbidden, "the path is a mount point or in use by the system"},
	{syscall.ENOTDIR, http.StatusConflict, "a part of this path is a file, so nothing can be below it"},
	{syscall.EISDIR, http.StatusConflict, textIsDirectory},
	{syscall.ENAMETOOLONG, http.StatusRequestURITooLong, textNameTooLong},
}

// refused returns the store's own answer to err as a *StatusError, or err.
func refused(err error) error {
	var own *StatusError
	if err == nil || errors.As(err, &own) {
		return err
	}
	for _, r := range refusals {
		if errors.Is(err, r.errno) {
			return &StatusError{Status: r.status, Text: r.text, Err: err}
		}
	}
	return err
}
