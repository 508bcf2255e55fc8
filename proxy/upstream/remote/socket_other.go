//go:build !unix

package remote

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
