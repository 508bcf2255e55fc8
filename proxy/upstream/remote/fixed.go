package remote

import "io"

// fixed is the body of an answer that tells its length.
type fixed struct {
	in   *input
	left int64
}

// Read implements io.Reader. The end comes with the last byte.
func (f *fixed) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.in.Read(b[:min(int64(len(b)), f.left)])
	f.left -= int64(n)
	switch {
	case f.left == 0:
		err = io.EOF
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer. It has nothing to do: what is left on a connection
// decides whether it is kept.
func (f *fixed) Close() error { return nil }
