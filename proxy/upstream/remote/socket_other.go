//go:build !unix || aix

package remote

// canPeek: whether a connection is still good cannot be known here, so none is
// used again.
const canPeek = false

type writing struct{}

func (writing) init(*socket) {}

type reading struct{}

func (reading) init(*socket) {}

// Write implements io.Writer. An answer may be read before its request is
// counted here, and then looks like an early one: its write counts as uncertain
// although it is not.
func (s *socket) Write(b []byte) (int, error) {
	n, err := s.tcp.Write(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += int64(n)
	return n, err
}

// writeNow writes what the kernel takes at once: here that cannot be known.
func (s *socket) writeNow([]byte) (int, error) { return 0, nil }

func (s *socket) readNow([]byte) (int, error) { return 0, errNotNow }
