package dir

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"fencegate/fence"
)

// upload is a body in the staging area, durable, on its way to becoming an
// object.
type upload struct {
	name  name
	when  demands
	base  string // in staged
	state info
}

// stage takes in a body of size bytes, unknown if negative.
func (d *Dir) stage(ctx context.Context, r *http.Request, body io.Reader, size int64) (*upload, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, err
	}
	if n.slash {
		return nil, refuse(http.StatusConflict, `a path that ends in "/" is a directory's and cannot hold a body`)
	}
	when, err := d.demandsOf(r.Header)
	if err != nil {
		return nil, err
	}
	if err := d.fits(size); err != nil {
		return nil, err
	}
	s := &upload{name: n, when: when, base: d.newName()}
	if err := d.receive(ctx, s, body, size); err != nil {
		return nil, err
	}
	return s, nil
}

// fits refuses a body of size bytes, unknown if negative, that the storage has no
// room for. For a body of one piece that is found out as soon by writing it.
func (d *Dir) fits(size int64) error {
	if size <= bodyPiece {
		return nil
	}
	free, err := d.staged.free()
	if err == nil && size > free {
		err = refuse(http.StatusInsufficientStorage,
			fmt.Sprintf("the body of %d bytes cannot fit: the storage has %d left", size, free))
	}
	return err
}

// receive writes the body to its file and makes it durable; on an error the
// file is gone.
func (d *Dir) receive(ctx context.Context, s *upload, body io.Reader, size int64) (err error) {
	file, err := d.staged.draft(s.base)
	if err != nil {
		return refused(err)
	}
	n, err := copyBody(ctx, file, body)
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("receive the body: %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		// Before the fsync, so that the time is as durable as the content.
		err = refused(d.staged.touch(s.base, d.clock.next()))
	}
	if err == nil {
		err = refused(file.sync())
	}
	if err == nil {
		s.state, err = file.stat()
	}
	if cerr := file.close(); err == nil {
		err = refused(cerr)
	}
	if err != nil {
		d.discard(s)
	}
	return err
}

// bodyPiece is how many bytes of a body are read and written at a time.
const bodyPiece = 128 << 10

var buffers = sync.Pool{New: func() any { return new([bodyPiece]byte) }}

// copyBody is io.Copy that tells errors of the body from those of the file.
func copyBody(ctx context.Context, file io.Writer, body io.Reader) (n int64, err error) {
	buf := buffers.Get().(*[bodyPiece]byte)
	defer buffers.Put(buf)
	for {
		if ctx.Err() != nil {
			return n, fmt.Errorf("receive the body: %w", context.Cause(ctx))
		}
		got, rerr := body.Read(buf[:])
		if got > 0 {
			put, err := file.Write(buf[:got])
			n += int64(put)
			if err != nil {
				return n, refused(err)
			}
		}
		if rerr == io.EOF {
			return n, nil
		}
		if rerr != nil {
			return n, fmt.Errorf("receive the body: %w", rerr)
		}
	}
}

// discard removes an upload. What cannot be removed now is swept by the next
// Open.
func (d *Dir) discard(s *upload) { _ = d.staged.unlink(s.base) }

// publish makes an upload the object, or discards it.
func (d *Dir) publish(s *upload) (*http.Response, fence.Outcome, error) {
	res, o, err := d.place(s)
	if err != nil {
		d.discard(s)
	}
	return answer(res, o, err)
}
