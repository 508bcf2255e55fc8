package integration

import (
	"fmt"
	"slices"
	"strings"
)

// A pkg is what the checker needs to know of a package.
type pkg struct {
	path  string // below the module
	uses  []string
	tests []string // what only its test files import
}

// strayArrows returns a line for every import that goes where it may not.
func strayArrows(module string, pkgs []pkg) []string {
	var stray []string
	for _, p := range pkgs {
		i := slices.IndexFunc(rooms, func(r room) bool { return matches(r.at, p.path) })
		if i < 0 {
			stray = append(stray, p.path+" is no room of this house")
			continue
		}
		r := rooms[i]
		for _, imported := range p.uses {
			if why := mayNot(module, p.path, imported, r.knows); why != "" {
				stray = append(stray, fmt.Sprintf("%s imports %s: %s", p.path, imported, why))
			}
			if p.path == "fence" && !coreMayUse(module, imported) {
				stray = append(stray, fmt.Sprintf("fence imports %s: the core does no I/O and needs the standard library and x/text only", imported))
			}
		}
		for _, imported := range p.tests {
			if why := mayNot(module, p.path, imported, slices.Concat(r.knows, r.tests, everyTest)); why != "" {
				stray = append(stray, fmt.Sprintf("a test of %s imports %s: %s", p.path, imported, why))
			}
		}
	}
	return stray
}

// mayNot says why path may not import imported, or "".
func mayNot(module, path, imported string, knows []string) string {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		if ours == path || matchesAny(knows, ours) {
			return ""
		}
		return "it may know only " + strings.Join(append(knows, "itself"), ", ")
	}
	for _, r := range reserved {
		if matches(r.module, imported) && !matchesAny(r.rooms, path) {
			return "only " + strings.Join(r.rooms, ", ") + " may"
		}
	}
	return ""
}

func coreMayUse(module, imported string) bool {
	host, _, _ := strings.Cut(imported, "/")
	if strings.Contains(host, ".") {
		return matches("golang.org/x/text/...", imported)
	}
	return host == module || !matchesAny(notInFence, imported)
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// matches knows "path", "path/..." and "path/*", which is one level below.
func matches(pattern, path string) bool {
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == above || strings.HasPrefix(path, above+"/")
	}
	if above, ok := strings.CutSuffix(pattern, "/*"); ok {
		name, ok := strings.CutPrefix(path, above+"/")
		return ok && !strings.Contains(name, "/")
	}
	return path == pattern
}
