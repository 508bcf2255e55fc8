package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

const putInPython = `import shutil, sys, urllib.request
with open(sys.argv[1], "rb") as f:
    print(urllib.request.urlopen(urllib.request.Request(sys.argv[2], f, method="PUT")).status)
`

const putInGo = `package main

import ("fmt"; "net/http"; "os")

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil { panic(err) }
	r, err := http.NewRequest(http.MethodPut, os.Args[2], f)
	if err != nil { panic(err) }
	res, err := http.DefaultClient.Do(r)
	if err != nil { panic(err) }
	fmt.Println(res.StatusCode)
	if res.StatusCode / 100 != 2 { os.Exit(1) }
}
`

// Clients that have never heard of tokens write through FENCEGATE_URL with one:
// to /bucket/q3.csv, from $FILE; with a program of ours in $PROGRAM.
var stacks = []struct {
	name, needs, program, script string
	slow                         bool // left out under -short
}{
	{name: "curl -T", needs: "curl", script: `curl -fsS -T "$FILE" "$FENCEGATE_URL/bucket/q3.csv"`},
	{name: "curl --data-binary", needs: "curl", script: `curl -fsS -X PUT --data-binary @"$FILE" "$FENCEGATE_URL/bucket/q3.csv"`},
	{name: "curl, chunked", needs: "curl", script: `curl -fsS -T - "$FENCEGATE_URL/bucket/q3.csv" <"$FILE"`},
	{name: "curl by http_proxy", needs: "curl", script: `curl -fsS -T "$FILE" "$FENCEGATE_FENCE/bucket/q3.csv"`},
	{name: "wget", needs: "wget", script: `wget -nv -O - --method=PUT --body-file="$FILE" "$FENCEGATE_URL/bucket/q3.csv"`},
	{name: "wget by http_proxy", needs: "wget", script: `wget -nv -O - --method=PUT --body-file="$FILE" "$FENCEGATE_FENCE/bucket/q3.csv"`},
	{name: "Python urllib", needs: "python3", program: "put.py " + putInPython, script: `python3 "$PROGRAM" "$FILE" "$FENCEGATE_URL/bucket/q3.csv"`},
	{name: "Go net/http", needs: "go", program: "put.go " + putInGo, script: `go run "$PROGRAM" "$FILE" "$FENCEGATE_URL/bucket/q3.csv"`},
	{name: "Java HttpURLConnection", needs: "javac", script: `java clients/Put.java old "$FILE" "$FENCEGATE_URL/bucket/q3.csv"`, slow: true},
	{name: "Java HttpClient", needs: "javac", script: `java clients/Put.java new "$FILE" "$FENCEGATE_URL/bucket/q3.csv"`, slow: true},
	// Its webdav backend needs PROPFIND, which protocol plain refuses; as S3 it
	// writes by PUT, if it is told not to look.
	{name: "rclone", needs: "rclone", script: `rclone copyto "$FILE" :s3:bucket/q3.csv --s3-endpoint "$FENCEGATE_URL" --s3-provider Other --s3-force-path-style \
		--s3-access-key-id x --s3-secret-access-key x --s3-no-check-bucket --s3-no-head --no-check-dest --retries 1`, slow: true},
}

// Unmodified HTTP clients write through fencegate lock, with its token and owner,
// and what they write arrives whole.
func TestClientStacksWriteWithAToken(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789abcde\n", 20000)
	for _, c := range stacks {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && testing.Short() {
				t.Skip("it takes long, or a large package")
			}
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Fatalf("%v: run .ci/setup", err)
			}
			s := newScene(t)
			dir := t.TempDir()
			cmd := s.lockCommand("-r", "/bucket/q3.csv", "--http-proxy", "--", "bash", "-c", c.script+` && echo "token $FENCING_TOKEN"`)
			cmd.Env = append(cmd.Environ(), "FILE="+file(t, dir+"/local.csv", content), "RCLONE_CONFIG=/dev/null", "AWS_CA_BUNDLE=", "no_proxy=", "NO_PROXY=")
			if name, text, ok := strings.Cut(c.program, " "); ok {
				cmd.Env = append(cmd.Env, "PROGRAM="+file(t, filepath.Join(dir, name), text))
			}
			p := harness.Start(t, c.name, cmd)
			token := strings.TrimPrefix(p.AwaitLine("token "), "token ")
			wantCode(t, p, 0)
			isStored(t, s.fence.Data, "bucket/q3.csv", content)
			if m := markOf(t, s.fence, "/bucket/q3.csv"); m.Token != token || m.Owner == "" || m.Client == "" {
				t.Errorf("the mark is %+v, the lock's token %s", m, token)
			}
			if n := s.fence.Metrics().Counter("fencegate_requests_total", "operation=write", "decision=passed"); n != 1 {
				t.Errorf("%v writes have passed, want 1", n)
			}
		})
	}
}

// A whole directory at once, under a lock on the tree.
func TestRcloneCopiesATreeWithAToken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a large package")
	}
	if _, err := exec.LookPath("rclone"); err != nil {
		t.Fatalf("%v: run .ci/setup", err)
	}
	s := newScene(t)
	dir := t.TempDir()
	for i := range 20 {
		file(t, fmt.Sprintf("%s/d%d/ä %d", dir, i%3, i), fmt.Sprint("content ", i))
	}
	cmd := s.lockCommand("-r", "/bucket", "--tree", "--", "bash", "-c", `rclone copy "$DIR" :s3:bucket --s3-endpoint "$FENCEGATE_URL" --s3-provider Other \
		--s3-force-path-style --s3-access-key-id x --s3-secret-access-key x --s3-no-check-bucket --s3-no-head --no-check-dest --retries 1`)
	cmd.Env = append(cmd.Environ(), "DIR="+dir, "RCLONE_CONFIG=/dev/null", "AWS_CA_BUNDLE=")
	wantCode(t, harness.Start(t, "rclone", cmd), 0)
	for i := range 20 {
		isStored(t, s.fence.Data, fmt.Sprintf("bucket/d%d/ä %d", i%3, i), fmt.Sprint("content ", i))
	}
	if m := markOf(t, s.fence, "/bucket/d1"); m.Via != "floor" {
		t.Errorf("the mark is %+v", m)
	}
}

// What makes a test a failure here is that a program is missing: setup must know
// them all.
func TestSetupInstallsWhatClientsNeed(t *testing.T) {
	setup, err := os.ReadFile(filepath.Join(top, ".ci", "setup"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stacks {
		if c.needs != "go" && !strings.Contains(string(setup), c.needs+"\n") {
			t.Errorf("%s does not install %s", ".ci/setup", c.needs)
		}
	}
}
