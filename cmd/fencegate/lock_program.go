package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fencegate/fence"
	"fencegate/lockclient"
)

// program is what runs under a lock.
type program struct {
	path string
	args []string
	env  []string
}

// findProgram returns the file that a name stands for, as a shell finds it:
// 127 if there is none, 126 if it cannot be executed.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // "." in PATH is the user's choice
		return path, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), inPath(name):
		return "", &exitError{exitNotExecutable, fmt.Errorf("%s: it cannot be executed: permission denied", name)}
	case strings.ContainsRune(name, '/'):
		return "", &exitError{exitNotFound, fmt.Errorf("%s: there is no such file", name)}
	}
	return "", &exitError{exitNotFound, fmt.Errorf("%s: there is no such command in PATH", name)}
}

// inPath reports whether PATH has a file of that name, which LookPath passes
// over if it is not executable.
func inPath(name string) bool {
	if strings.ContainsRune(name, '/') {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// startError is why a file that was found does not run.
func startError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) { // gone meanwhile, or its interpreter is
		return &exitError{exitNotFound, fmt.Errorf("%s: it cannot be started: %w", path, err)}
	}
	return &exitError{exitNotExecutable, fmt.Errorf("%s: it cannot be started: %w", path, err)}
}

// environment adds to base what a program needs to write for the lock, in
// place of what an outer lock has set there. A password for Redis is left out:
// with it the command, and what it starts, could give the lock to anyone.
func environment(base []string, lock *lockclient.Lock, fence string, helper map[string]string) []string {
	stamp := lock.Stamp()
	added := map[string]string{
		"FENCING_TOKEN":     stamp.Token.String(),
		"FENCING_OWNER":     string(stamp.Owner),
		"FENCING_CLIENT":    stamp.Client,
		"FENCING_RESOURCE":  lock.Resource().String(),
		"FENCING_RESOURCES": resourceList(lock.Resources()),
		"FENCING_DEADLINE":  strconv.FormatInt(lock.Deadline().UnixMilli(), 10),
		"FENCEGATE_FENCE":   strings.TrimSuffix(fence, "/"),
	}
	maps.Copy(added, helper)
	var env []string
	for _, entry := range base {
		name, value, _ := strings.Cut(entry, "=")
		if added[name] == "" && !(name == "FENCEGATE_REDIS" && hasPassword(value)) {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		env = append(env, name+"="+added[name])
	}
	return env
}

// resourceList puts resources into one variable: escaped, they have no blanks.
func resourceList(resources []fence.Resource) string {
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.String()
	}
	return strings.Join(names, " ")
}
