package nonblock

import (
	"os"
	"os/exec"
	"testing"
)

// TestPlatforms: system calls have other names and numbers on other processors;
// this finds where what is used here has none.
func TestPlatforms(t *testing.T) {
	for _, p := range [][2]string{{"linux", "386"}, {"linux", "arm64"}, {"darwin", "arm64"}} {
		build := exec.Command("go", "build", ".")
		build.Env = append(os.Environ(), "GOOS="+p[0], "GOARCH="+p[1], "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s/%s: %v\n%s", p[0], p[1], err, text)
		}
	}
}
