package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// networkTypes are the statfs types of file systems whose server can apply an
// operation after the client that sent it is gone. FUSE is among them because
// what is behind it cannot be told.
var networkTypes = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.SMB2_SUPER_MAGIC:  "smb",
	unix.CIFS_SUPER_MAGIC:  "smb",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.AFS_FS_MAGIC:      "afs",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	unix.V9FS_MAGIC:        "9p",
	unix.FUSE_SUPER_MAGIC:  "fuse",
	0x01161970:             "gfs2",
	0x0bd00bd0:             "lustre",
	0x19830326:             "beegfs",
	0x47504653:             "gpfs",
}

// NetworkFS names the kind of network file system that root is on, or would be
// made on, such as "nfs"; "" means a local one. On a network file system a
// write can reach the server after this process died, so the settle time must
// not be 0: it has to cover what the mount may retry.
func NetworkFS(root string) (string, error) {
	path, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	for {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		switch {
		case err == nil:
			return networkTypes[int64(st.Type)&0xffffffff], nil
		case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
			path = filepath.Dir(path)
		case !errors.Is(err, unix.EINTR):
			return "", &os.PathError{Op: "statfs", Path: path, Err: err}
		}
	}
}
