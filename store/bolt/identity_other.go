//go:build !linux

package bolt

import "os"

// sameFile reports whether path leads to the open file.
func sameFile(file *os.File, path string) (bool, error) { return sameFileByStat(file, path) }
