package main

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

func TestStatIsRead(t *testing.T) {
	const stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 900 900 20 0 3 0 100 0 0\n"
	if got, err := parseStat([]byte(stat)); err != nil || got != 3*time.Second {
		t.Errorf("got %v, %v; want 3s: utime and stime, without those of ended children", got, err)
	}
	for _, bad := range []string{"", "7 (x) S 1 2", "7 (x) S 1 7 7 0 -1 4194560 100 0 0 0 x 50 0"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v, want an error", bad, got)
		}
	}
}

// The CPU time of workers counts: it is they who work.
func TestCPUTimeHasThatOfChildren(t *testing.T) {
	// The outer shell waits; only the inner one, its child, computes.
	cmd := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read wait'; true`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() // its exit code tells nothing
	defer in.Close()
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	got, err := cpuTime(cmd.Process.Pid)
	if err != nil || got < 3*tick {
		t.Errorf("got %v, %v; want the time of 300000 loops", got, err)
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseStat(own); err != nil {
		t.Error(err)
	}
}

func TestAnonymousMemoryIsRead(t *testing.T) {
	const status = "Name:\tx\nVmRSS:\t    9000 kB\nRssAnon:\t    2048 kB\nRssFile:\t    7000 kB\n"
	if got, err := parseAnonymous([]byte(status)); got != 2<<20 || err != nil {
		t.Errorf("got %d, %v; want 2 MiB", got, err)
	}
	for _, bad := range []string{"", "Name:\tx\n", "Name:\tRssAnon: 7 kB\n", "Name:\tx\nRssAnon:\tx kB\n"} {
		if got, err := parseAnonymous([]byte(bad)); err == nil {
			t.Errorf("%q is read as %d, want an error", bad, got)
		}
	}
	before, err := anonymous(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	more := make([]byte, 64<<20)
	for i := range more {
		more[i] = 1
	}
	if after, err := anonymous(os.Getpid()); after-before < 60<<20 || err != nil {
		t.Errorf("with 64 MiB more it is %d after %d, %v", after, before, err)
	}
	runtime.KeepAlive(more)
}

// What the kernel does for whoever is measured is not done by others.
func TestMachineTimeIsThatOfProcesses(t *testing.T) {
	all, err := allTime()
	if err != nil {
		t.Fatal(err)
	}
	processes, err := machineTime()
	if err != nil || processes > all+tick || processes < all/2 {
		t.Errorf("processes have used %v, %v; with the kernel's threads %v", processes, err, all)
	}
}
