package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPlaces(t *testing.T) {
	for url, want := range map[string]place{
		"http://h":                  {name: "h", addr: "h:80", host: "h"},
		"http://h:8081/":            {name: "h", addr: "h:8081", host: "h:8081"},
		"https://h":                 {secure: true, name: "h", addr: "h:443", host: "h"},
		"HTTPS://h:1/a%2Fb/c%20d/":  {secure: true, name: "h", addr: "h:1", host: "h:1", prefix: "/a%2Fb/c%20d"},
		"http://[::1]:8081/%61":     {name: "::1", addr: "[::1]:8081", host: "[::1]:8081", prefix: "/%61"},
		"http://127.0.0.1:65535/.a": {name: "127.0.0.1", addr: "127.0.0.1:65535", host: "127.0.0.1:65535", prefix: "/.a"},
	} {
		if got, err := parseURL(url); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", url, got, err, want)
		}
	}
}

func TestFaults(t *testing.T) {
	ca := newAuthority(t)
	certFile, _ := save(t, ca.issue(t, "a"))
	_, otherKey := save(t, ca.issue(t, "b"))
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		url  string
		opts Options
		want []string // one for each line of the error
	}{
		{"", Options{}, []string{`scheme ""`, "no host"}},
		{"ftp://h/", Options{}, []string{`scheme "ftp"`}},
		{"127.0.0.1:8081", Options{}, []string{"cannot be read"}},
		{"http:///a", Options{}, []string{"no host"}},
		{"http://h:0/", Options{}, []string{`port "0"`}},
		{"http://h:65536/", Options{}, []string{`port "65536"`}},
		{"http://h:x/", Options{}, []string{"cannot be read"}},
		{"http://[fe80::1%25eth0]/", Options{}, []string{"zone"}},
		{"http://u:secret@h/", Options{}, []string{"user name or password"}},
		{"http://h/?a=b", Options{}, []string{"query"}},
		{"http://h/?", Options{}, []string{"query"}},
		{"http://h/#", Options{}, []string{"fragment"}},
		{"http://h/#a", Options{}, []string{"fragment"}},
		{"http://h//", Options{}, []string{"segment"}},
		{"http://h/a//b", Options{}, []string{"segment"}},
		{"http://h/a//", Options{}, []string{"segment"}},
		{"http://h/a/../b", Options{}, []string{"segment"}},
		{"http://h/%2e", Options{}, []string{"segment"}},
		{"http://h", Options{CAFile: certFile}, []string{"not https"}},
		{"http://h", Options{ServerName: "a"}, []string{"not https"}},
		{"http://h", Options{CertFile: certFile}, []string{"not https"}},
		{"http://h", Options{KeyFile: otherKey}, []string{"not https"}},
		{"https://h", Options{CAFile: missing}, []string{"CA file: open " + missing}},
		{"https://h", Options{CAFile: garbage}, []string{"holds no certificate"}},
		{"https://h", Options{CertFile: certFile}, []string{"without its key file"}},
		{"https://h", Options{KeyFile: otherKey}, []string{"without its certificate file"}},
		{"https://h", Options{CertFile: certFile, KeyFile: otherKey}, []string{"does not match"}},
		{"http://h", Options{Settle: -1, ReadTimeout: -1, DialTimeout: -1}, []string{"read timeout", "dial timeout", "settle is -1ns"}},
		{"http://h", Options{Settle: time.Millisecond}, []string{"at least 2ms"}},
		{"http://h", Options{DefiniteStatuses: []int{500, 199, 600}}, []string{"status 199", "status 600"}},
		{"https://u@/?q#f", Options{CAFile: missing, KeyFile: otherKey, Settle: -1},
			[]string{"no host", "user name", "query", "fragment", "settle", "CA file", "without its certificate"}},
	} {
		u, err := Open(c.url, c.opts)
		if err == nil {
			t.Errorf("%q was opened", c.url)
			u.Close()
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%q: %d faults, want %d:\n%v", c.url, len(lines), len(c.want), err)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%q: %q does not say %q", c.url, lines[i], want)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v tells the password", err)
		}
	}
}
