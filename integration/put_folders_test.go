package integration

import (
	"os"
	"path/filepath"
	"testing"

	"fencegate/fence"
	"fencegate/integration/harness"
)

// A whole directory goes to a store that makes no folders by itself: put makes
// those that are missing, and leaves those that are there.
func TestPutMakesFolders(t *testing.T) {
	t.Parallel()
	s := harness.Fencegate(t, "--protocol", "webdav")
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1", "sub dir/b": "2", "sub dir/deep/c": "3"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		file(t, filepath.Join(dir, name), text)
	}
	for _, token := range []fence.Token{7, 8} { // the second time they are there
		puts(t, 0, putCommand(t, s.URL(), stampOf(token, "me"), "--recursive", dir, "/out"))
	}
	for path, want := range map[string]string{"/out/a": "1", "/out/sub%20dir/b": "2", "/out/sub%20dir/deep/c": "3"} {
		holds(t, s, path, want)
	}
	// One file does not make the folder that its name may have by mistake.
	puts(t, 1, putCommand(t, s.URL(), stampOf(8, "me"), filepath.Join(dir, "a"), "/uot/a"))
	if _, err := os.Stat(filepath.Join(s.Data, "uot")); err == nil {
		t.Error("it made a folder for one file")
	}
	// A folder in the place of which there is a file is told, with the file.
	puts(t, 1, putCommand(t, s.URL(), stampOf(8, "me"), "--recursive", dir, "/out/a"))
	holds(t, s, "/out/a", "1")
}
