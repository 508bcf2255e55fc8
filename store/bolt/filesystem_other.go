//go:build !linux

package bolt

// networkFilesystem knows no names outside Linux: every file system passes.
func networkFilesystem(string) (string, error) { return "", nil }
