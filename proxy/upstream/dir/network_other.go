//go:build !linux

package dir

// NetworkFS cannot tell file systems apart on this system and returns "", as
// for a local one. Where root is on a network file system, the settle time
// must be set by hand.
func NetworkFS(string) (string, error) { return "", nil }
