package bolt

import (
	"golang.org/x/sys/unix"
)

// networkFilesystems by the magic number that statfs reports. Cluster file
// systems on a shared disk (OCFS2, GFS2, GPFS) count: their locks and caches
// reach over the network. So does all of FUSE: what is behind it (sshfs, an
// object store, a host's folder shown to a virtual machine) cannot be told, and
// most of it keeps neither locks nor fsync.
var networkFilesystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC:  "SMB",
	unix.V9FS_MAGIC:        "9P",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.AFS_FS_MAGIC:      "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.NCP_SUPER_MAGIC:   "NCP",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	0x0BD00BD0:             "Lustre",
	0x01161970:             "GFS2",
	0x47504653:             "GPFS",
	0x19830326:             "BeeGFS",
	0x20030528:             "OrangeFS",
	0xAAD7AAEA:             "PanFS",
	0x61636673:             "ACFS",
	0x786F4256:             "vboxsf",
	0xBACBACBC:             "vmhgfs",
}

func networkFilesystem(path string) (string, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(path, &s)
		if err == nil {
			return networkFilesystems[uint32(s.Type)], nil
		}
		if err != unix.EINTR {
			return "", err
		}
	}
}
