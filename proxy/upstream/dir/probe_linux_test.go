package dir

import (
	"path/filepath"
	"strings"
	"testing"
)

// An ordinary file system can do all that is needed, and there is nothing to warn
// of.
func TestProbe(t *testing.T) {
	s := openDAV(t)
	if s.FoldsCase() || len(s.Warnings()) != 0 {
		t.Errorf("folds case: %v, warnings: %q", s.FoldsCase(), s.Warnings())
	}
}

// What other file systems lack is noticed, and refused where it is needed. The
// kernel is made to answer as it does for them.
func TestProbeOfLesserFileSystems(t *testing.T) {
	for _, c := range []struct {
		what    string
		inject  []string
		warning string
		request string
		want    string
	}{
		{"case is folded", []string{"-e", "inject=openat2:error=EEXIST", "-P", "PROBE-A"}, "fold_case", "MOVE /d /D", "403 source and destination are the same"},
		{"no exchange", []string{"-e", "inject=renameat2:error=EINVAL"}, "exchange", "MOVE /s /d", "403 this file system cannot replace"},
		{"no exchange", []string{"-e", "inject=renameat2:error=EINVAL"}, "exchange", "COPY /s /d", "403 this file system cannot replace"},
		{"no exchange, nothing to replace", []string{"-e", "inject=renameat2:error=EINVAL"}, "exchange", "MOVE /s /new", "201"},
		{"no attributes", []string{"-e", "inject=fsetxattr:error=EOPNOTSUPP"}, "PROPPATCH", "PROPPATCH /d " + set("p", "1"), "207 507"},
		{"no attributes", []string{"-e", "inject=fsetxattr:error=EOPNOTSUPP", "-e", "inject=fgetxattr:error=EOPNOTSUPP"}, "PROPPATCH", "COPY /s/a /d/a", "204"},
	} {
		t.Run(c.what, func(t *testing.T) {
			root := t.TempDir()
			fill(t, root, "s/a 1", "d/a old")
			cmd := child(t, root, strace(t, c.inject...)...)
			cmd.Env = append(cmd.Env, childDAV+"=1")
			got := script(t, cmd, "WARNINGS", c.request)
			if !strings.Contains(got[0], c.warning) || strings.Contains(got[0], ";") {
				t.Errorf("warnings %q, want one of %q", got[0], c.warning)
			}
			if !strings.HasPrefix(got[1], c.want) {
				t.Errorf("%s: %q, want %q", c.request, got[1], c.want)
			}
			if s := tree(t, root, "s"); !strings.HasPrefix(c.want, "201") && s != "/ /a=1" {
				t.Errorf("the source is %q", s)
			}
			wantStagingEmpty(t, filepath.Clean(root))
		})
	}
}
