package bolt

import (
	"fencegate/fence"
)

// checkFilesystem refuses file systems on which flock, mmap and fsync cannot be
// relied on to mean what they mean on a local disk.
func checkFilesystem(path string, opts Options) error {
	name, err := opts.filesystem(path)
	if err != nil {
		return unusable(path, err)
	}
	if name == "" {
		return nil
	}
	return &fence.OpenError{Path: path, Err: fence.ErrLedgerNetworkFS, Detail: name,
		Remedy: "put the state directory on a local disk"}
}
