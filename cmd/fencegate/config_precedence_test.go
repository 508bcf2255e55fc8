package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// other is a valid value of each setting that is not its default. tls, host and
// the like need a store that they are for.
var other = map[string]struct{ file, env, flag string }{
	"upstream":         {"https://file/", "https://env/", "https://flag/"},
	"protocol":         {"plain", "plain", "plain"},
	"host":             {"keep", "rewrite", "keep"},
	"tls.ca":           {"file.pem", "env.pem", "flag.pem"},
	"tls.server_name":  {"file", "env", "flag"},
	"tls.cert":         {"file.pem", "env.pem", "flag.pem"},
	"tls.key":          {"file.pem", "env.pem", "flag.pem"},
	"settle":           {"1s", "2s", "3s"},
	"upstream_timeout": {"1s", "2s", "3s"},
	"upstream_idle":    {"1s", "0s", "3s"},
	"forward_token":    {"false", "false", "false"},
	"state":            {"/file", "/env", "/flag"},
	"ledger":           {"bolt:/file", "bolt:/env", "bolt:/flag"},
	"ledger_id":        {strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)},
	"tokens":           {"time", "any", "time"},
	"max_token":        {"1", "2", "3"},
	"wait":             {"1s", "2s", "3s"},
	"listen":           {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
	"admin":            {"127.0.0.1:4", "127.0.0.1:5", "127.0.0.1:6"},
	"auth":             {"none", "none", "none"},
	"policy":           {"open", "observe", "adopt"},
	"body":             {"stream", "stage", "stream"},
	"max_wait":         {"1s", "2s", "3s"},
	"max_body":         {"1KiB", "2KiB", "3KiB"},
	"spool_quota":      {"1KiB", "2KiB", "3KiB"},
	"drain":            {"1s", "2s", "3s"},
}

// Flags win over the environment, that over the file, and that over defaults;
// the print tells which one it was.
func TestPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	writePair(t, "file.pem", "env.pem", "flag.pem", "other.pem")
	for _, s := range settings {
		values, ok := other[s.key]
		if !ok {
			continue // not available yet: TestBadFiles
		}
		name, indent, outer := s.key, "", ""
		if o, inner, ok := strings.Cut(s.key, "."); ok {
			outer, name, indent = o+":\n", inner, "  "
		}
		variable := variableOf(s.key)
		for _, c := range []struct {
			file, env, flag bool
			want            string
		}{
			{false, false, false, "# "},
			{true, false, false, scalarYAML(values.file, s.shape) + "  # file"},
			{false, true, false, scalarYAML(values.env, s.shape) + "  # env " + variable},
			{true, true, false, scalarYAML(values.env, s.shape) + "  # env " + variable},
			{false, false, true, scalarYAML(values.flag, s.shape) + "  # flag " + flagName(s.key)},
			{true, true, true, scalarYAML(values.flag, s.shape) + "  # flag " + flagName(s.key)},
		} {
			t.Run(s.key, func(t *testing.T) {
				var text string
				args := []string{"config", "print"}
				if s.remote && s.key != "upstream" {
					args = append(args, "--upstream", "https://h")
				}
				for half, whole := range map[string]string{"tls.cert": "--tls-key", "tls.key": "--tls-cert"} {
					if s.key == half && (c.file || c.env || c.flag) {
						args = append(args, whole, "other.pem")
					}
				}
				if c.file {
					text = outer + indent + name + ": " + values.file + "\n"
				}
				if c.env {
					t.Setenv(variable, values.env)
				}
				if c.flag {
					args = append(args, flagName(s.key), values.flag)
				}
				file := filepath.Join(t.TempDir(), "fencegate.yml")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				out, stderr, code := fencegate(t, append(args, "--config", file)...)
				want := "\n" + indent + name + ": " + c.want + "\n"
				if c.want == "# " {
					want = "\n# " + indent + name + ":"
				}
				if code != exitOK || !strings.Contains(out, want) {
					t.Errorf("%v: %d\n%s%s, want %q", c, code, stderr, out, want)
				}
			})
		}
	}
}

func variableOf(key string) string {
	return "FENCEGATE_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// Faults of all sources are told together, each with where it is.
func TestFaultsOfAllSources(t *testing.T) {
	for _, s := range settings {
		variable := variableOf(s.key)
		t.Setenv(variable, "\xff")
		if _, stderr, code := fencegate(t, "config", "print"); code != exitConfig || !strings.Contains(stderr, variable+` "\xff": `) {
			t.Errorf("%s: %d %s", variable, code, stderr)
		}
		if _, stderr, code := fencegate(t, "config", "print", flagName(s.key), ""); code != exitConfig || !strings.Contains(stderr, flagName(s.key)+` "": `) {
			t.Errorf("%s: %d %s", flagName(s.key), code, stderr)
		}
		os.Unsetenv(variable)
	}
	t.Setenv("FENCEGATE_CONFIG", filepath.Join("testdata", "windows.bad.yml"))
	t.Setenv("FENCEGATE_DRAIN", "long")
	t.Setenv("FENCEGATE_SETTLE", "short") // a flag takes its place
	_, stderr, code := fencegate(t, "serve", "--settle=-1s", "--upstream", "http://user:S3cret@h/", "--init")
	const want = `fencegate: 6 faults in the configuration:
  testdata/windows.bad.yml:1:9: policy "lax": expected open, observe, adopt or require
  testdata/windows.bad.yml:2:9: listen "x": expected HOST:PORT such as 127.0.0.1:8080
  FENCEGATE_SETTLE "short": expected a duration such as 30s or 5m
  FENCEGATE_DRAIN "long": expected a duration such as 30s or 5m
  --upstream "http://…@h/": the store's URL holds a user name or password; they would not be sent
  --settle "-1s": expected a duration of 0 or more, up to 24h
`
	if code != exitConfig || stderr != want {
		t.Errorf("%d\n%s, want 78\n%s", code, stderr, want)
	}
}
