//go:build !unix || aix

package remote

// canPeek: whether a connection is still good cannot be known here, so none is
// used again.
const canPeek = false

const gathers = false

type writing struct{}

func (writing) init(*socket) {}

type reading struct{}

func (reading) init(*socket) {}

// Write implements io.Writer. An answer may be read before its request is
// counted here, and then looks like an early one: its write counts as uncertain
// although it is not.
func (s *socket) Write(b []byte) (n int, err error) {
	for {
		m, err := s.tcp.Write(b[n:])
		n += m
		s.mu.Lock()
		s.written += int64(m)
		s.mu.Unlock()
		if !s.again(err, false) {
			return n, err
		}
	}
}

// Read implements io.Reader.
func (s *socket) Read(b []byte) (int, error) {
	for {
		if n, err := s.tcp.Read(b); n > 0 || !s.again(err, true) {
			return n, err
		}
	}
}

// writeNow writes what the kernel takes at once: here that cannot be known.
func (s *socket) writeNow([]byte) (int, error) { return 0, nil }

func (s *socket) converse(_, _, _ []byte, _ interface{ release() }) (wrote, got int, err error) {
	return 0, 0, nil
}

func (s *socket) readNow([]byte) (int, error) { return 0, errNotNow }
