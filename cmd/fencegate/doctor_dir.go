package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fencegate/fence"
	"fencegate/proxy/upstream/dir"
)

// dirExam is one look at a directory.
type dirExam struct {
	report *diagnosis
	root   string
	folder string // to try things in
	names  fence.NameOptions
}

// dirProbes are what is looked at in a directory.
var dirProbes = []struct {
	probe
	run func(x *dirExam, f *found) error
}{
	{probe{name: "file system", means: "on a network one, writes can outlive fencegate", fault: verdictNote}, fileSystem},
	{probe{name: "fsync", means: "what is acknowledged survives a power cut", fault: verdictUnsafe}, syncs},
	{probe{name: "rename", means: "readers never see half an object", fault: verdictUnsafe}, renames},
	{probe{name: "system calls", means: "requests are kept inside the directory", fault: verdictUnsafe}, systemCalls},
	{probe{name: "names", means: "two names of one object need one fence", fault: verdictUnsafe}, dirNames},
	{probe{name: "free space", means: "writes need it twice while they are staged", fault: verdictNote}, freeSpace},
}

// examineDir looks at a directory, without serving it.
func (c *doctorCmd) examineDir(ctx context.Context, r *diagnosis, root string) (err error) {
	r.Settings = c.advice()
	r.Settings.Local, r.Settings.Settle = true, 0
	if info, err := os.Stat(root); err != nil {
		return &unreachableError{c.Upstream, err}
	} else if !info.IsDir() {
		return &unreachableError{c.Upstream, errors.New("it is no directory")}
	}
	below, err := filepath.Localize(strings.Trim(c.Scratch, "/"))
	if c.Scratch == "/" {
		below, err = ".", nil
	}
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--scratch: %w", err)}
	}
	x := &dirExam{report: r, root: root, names: fence.NameOptions{FoldCase: c.FoldCase}}
	if x.folder, err = os.MkdirTemp(filepath.Join(root, below), ".fencegate-doctor-*"); err != nil {
		r.add("folder", []finding{{Result: err.Error(), Verdict: verdictUnsafe, Do: "this user must be able to write there"}})
		return nil
	}
	defer func() {
		if err := os.RemoveAll(x.folder); err != nil {
			r.Left = append(r.Left, x.folder)
		}
	}()
	for _, p := range dirProbes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f := &found{probe: p.probe}
		if err := p.run(x, f); err != nil {
			f.wrong("find out why, and try again", "cannot be told: %v", inOneLine(err))
		}
		r.add(p.name, f.lines)
	}
	return nil
}

func fileSystem(x *dirExam, f *found) error {
	network, err := dir.NetworkFS(x.root)
	switch {
	case err != nil:
		return err
	case network != "":
		x.report.advise(func(a *advice) { a.Settle = networkSettle })
		f.know("take the settle below; no other machine may write there", "a network file system (%s)", network)
	default:
		f.fine("local")
	}
	return nil
}

// write makes a file, durable.
func (x *dirExam) write(name, content string) error {
	file, err := os.OpenFile(filepath.Join(x.folder, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncs(x *dirExam, f *found) error {
	if err := x.write("synced", "content"); err != nil {
		return err
	}
	d, err := os.Open(x.folder)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	f.fine("files and directories; that the disk does what it confirms cannot be seen")
	return nil
}

func renames(x *dirExam, f *found) error {
	if err := errors.Join(x.write("staged", "new"), x.write("object", "old")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(x.folder, "staged"), filepath.Join(x.folder, "object")); err != nil {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(x.folder, "object")); err != nil || string(text) != "new" {
		f.wrong("use another file system", "a file that is renamed over another does not replace it")
		return nil
	}
	f.fine("a file replaces another in one step")
	return nil
}

// dirNames makes a file under one name and looks for it under the other.
func dirNames(x *dirExam, f *found) error {
	for _, a := range []struct{ what, one, other string }{
		{"case", "name-case", "NAME-CASE"},
		{"case beyond ASCII", "name-été", "name-ÉTÉ"},
		{"full width letters", "name-wide", "name-ｗide"},
		{"ignored characters", "name-ignored", "name-ig\u200cnored"},
		{"final dot", "name-dot", "name-dot."},
		{"final blank", "name-blank", "name-blank "},
	} {
		if err := x.write(a.one, a.what); err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(x.folder, a.other)); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		f.judge(x.report, x.names, alias{a.what, escapedName(a.one), escapedName(a.other)})
	}
	if f.lines == nil {
		f.fine("no two spellings that were tried name one file")
	}
	return nil
}

func escapedName(name string) string { return strings.ReplaceAll(name, " ", "%20") }

// scarce is how little free space is worth a note.
const scarce = 1 << 30

func freeSpace(x *dirExam, f *found) error {
	free, err := freeBytes(x.root)
	switch {
	case err != nil:
		return err
	case free < scarce:
		f.know("make room: bodies that do not fit are answered 507", "%s", inMiB(free))
	default:
		f.fine("%s", inMiB(free))
	}
	return nil
}
