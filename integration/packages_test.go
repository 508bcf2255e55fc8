package integration

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readPackages reads the imports of every tracked Go file, whatever platform
// or build tag it is for, which the go command would leave out.
func readPackages(t *testing.T) []pkg {
	t.Helper()
	byPath := map[string]*pkg{}
	for _, file := range trackedFiles(t) {
		dir := path.Dir(file)
		if !strings.HasSuffix(file, ".go") || slices.Contains(strings.Split(dir, "/"), "testdata") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(top, file))
		if os.IsNotExist(err) {
			continue // removed, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		p := byPath[dir]
		if p == nil {
			p = &pkg{path: dir}
			byPath[dir] = p
		}
		imports := &p.uses
		if strings.HasSuffix(file, "_test.go") {
			imports = &p.tests
		}
		for _, spec := range parsed.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil && !slices.Contains(*imports, name) {
				*imports = append(*imports, name)
			}
		}
	}
	var pkgs []pkg
	for _, p := range byPath {
		pkgs = append(pkgs, *p)
	}
	slices.SortFunc(pkgs, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return pkgs
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

func modulePath(t *testing.T) string {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := moduleLine.FindSubmatch(mod)
	if found == nil {
		t.Fatal("go.mod has no module line")
	}
	return string(found[1])
}
