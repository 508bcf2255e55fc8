package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// about is what a reader needs to know to compare one report with another.
type about struct {
	Date       string `json:"date"`
	Commit     string `json:"commit"`
	Go         string `json:"go"` // that the measured fencegate was built with
	Processor  string `json:"processor"`
	Cores      int    `json:"cores"`
	Kernel     string `json:"kernel"`
	LoadBefore string `json:"load_average_before"`
	FileSystem string `json:"file_system"` // of ledgers and directories
	Nginx      string `json:"nginx"`
	Wrk        string `json:"wrk"`
	Settings   string `json:"settings"` // of the Go runtime, from the environment
	Peers      string `json:"peers"`
	Store      string `json:"store"`
	Load       string `json:"load"`
	Arguments  string `json:"arguments"` // of this run
}

func describe(ctx context.Context, at place, o *options) about {
	a := about{
		Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Commit: commit(ctx), Go: "unknown",
		Processor: processor(), Cores: runtime.NumCPU(), FileSystem: fileSystem(at.dir),
		Store:     map[string]string{storeHTTP: "on net/http", storeLight: "without net/http, which costs half as much"}[o.store],
		Arguments: strings.Join(os.Args[1:], " "),
		Load:      fmt.Sprintf("PUT of %d bytes over %d connections and %d paths unless the case says otherwise, %d rounds of %v", o.size, o.conns, o.paths, o.rounds, o.duration),
	}
	a.Kernel, a.LoadBefore = kernel()
	if info, err := buildinfo.ReadFile(at.fencegate); err == nil {
		a.Go = info.GoVersion
	}
	if path, err := find("nginx"); err == nil {
		a.Nginx = firstLine(ctx, path, "-v")
	}
	if path, err := find("haproxy"); err == nil {
		words := strings.Fields(firstLine(ctx, path, "-v"))
		a.Peers = strings.Join(words[:min(3, len(words))], " ") + "; "
	}
	if path, err := find("caddy"); err == nil {
		a.Peers += "Caddy " + firstLine(ctx, path, "version") + "; "
	}
	if path, err := find("redis-server"); err == nil {
		words := strings.Fields(firstLine(ctx, path, "--version"))
		a.Peers += strings.Join(words[:min(3, len(words))], " ")
	}
	a.Wrk, _, _ = strings.Cut(firstLine(ctx, "wrk", "-v"), " Copyright")
	for _, v := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value, set := os.LookupEnv(v); set {
			a.Settings += " " + v + "=" + value
		}
	}
	if o.binary != "" {
		a.Commit = "of " + o.binary + ", unknown"
	}
	return a
}

// commit names what the working tree holds.
func commit(ctx context.Context) string {
	id := firstLine(ctx, "git", "rev-parse", "--short", "HEAD")
	if firstLine(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		id += " with changes"
	}
	return id
}

// firstLine returns the first line that a program prints, whatever its exit code:
// wrk ends its version with 1.
func firstLine(ctx context.Context, name string, args ...string) string {
	out, _ := exec.CommandContext(ctx, name, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func (a about) text() string {
	return fmt.Sprintf("%s, fencegate %s, %s\n%s, %d cores, Linux %s, load %s, ledgers on %s\n%s; %s; %s%s\n%s; the store is %s\n",
		a.Date, a.Commit, a.Go, a.Processor, a.Cores, a.Kernel, a.LoadBefore, a.FileSystem, a.Nginx, a.Peers, a.Wrk, a.Settings, a.Load, a.Store)
}
