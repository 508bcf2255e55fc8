package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// A profile is taken of the program that users run: fencegate is built with one
// file more, by the go command's -overlay. That file is in no build but this.
//
//go:embed profile_overlay.go.txt
var profileOverlay []byte

// profileVariable tells the file in the overlay where to write.
const profileVariable = "BENCH_PROFILE"

// What the file in the overlay says, and what for.
const (
	profileBegun = "profile begun"
	profileEnded = "profile ended"
)

// writeOverlay writes what -overlay wants, and returns its name.
func writeOverlay(ctx context.Context, dir string) (string, error) {
	folder, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "fencegate/cmd/fencegate").Output()
	if err != nil {
		return "", fmt.Errorf("looking for fencegate's source: %w", err)
	}
	source := filepath.Join(dir, "profile_overlay.go")
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(strings.TrimSpace(string(folder)), "profile_overlay.go"): source,
	}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(source, profileOverlay, 0o600), os.WriteFile(overlay, text, 0o600))
}

// profile runs each case on a fencegate once more and puts its profiles into dir:
// CASE.cpu, and CASE.allocs0 and CASE.allocs1 from before and after.
func (b *bench) profile(ctx context.Context, dir string, results []*result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, r := range results {
		s := b.servers[r.scene.server]
		if s == nil || s.admin == "" || r.invalid != nil || r.scene.server == "before" {
			continue
		}
		if err := s.tell(ctx, syscall.SIGUSR1, profileBegun); err != nil {
			return err
		}
		m, err := b.measure(ctx, r.scene, r.scene.shape(b.load))
		if err := errors.Join(err, s.tell(ctx, syscall.SIGUSR2, profileEnded)); err != nil {
			return err
		}
		for _, kind := range []string{"cpu", "allocs0", "allocs1"} {
			text, err := os.ReadFile(filepath.Join(b.at.dir, s.name, kind))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, r.scene.name+"."+kind), text, 0o644); err != nil {
				return err
			}
		}
		fmt.Printf("profile of %s, at %.0f req/s: go tool pprof -top %s\n", r.scene.name, m.Rate, filepath.Join(dir, r.scene.name+".cpu"))
	}
	binary, err := os.ReadFile(b.at.fencegate)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "fencegate"), binary, 0o755) // for -list
}

// tell sends a signal and waits for what it brings about.
func (s *server) tell(ctx context.Context, signal syscall.Signal, until string) error {
	if err := s.cmd.Process.Signal(signal); err != nil {
		return err
	}
	_, err := s.await(ctx, until)
	return err
}
