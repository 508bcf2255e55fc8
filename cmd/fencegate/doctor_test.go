package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// brisk is a pace for stores in the same process.
var brisk = examPace{answer: 10 * time.Second, cut: 500 * time.Millisecond, idle: 500 * time.Millisecond, early: 100 * time.Millisecond, part: 100 * time.Millisecond}

// seen is what doctor --json prints.
type seen struct {
	Safe      bool      `json:"safe"`
	Checks    []finding `json:"checks"`
	Settings  string    `json:"settings"`
	Left      []string  `json:"left"`
	MayAppear []string  `json:"may_appear"`
}

// of returns the findings of one check.
func (s seen) of(check string) (found []finding) {
	for _, f := range s.Checks {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

func newDoctor(url string) *doctorCmd {
	return &doctorCmd{Upstream: url, Protocol: "webdav", Body: "stage", Scratch: "/", Settle: 5 * time.Second, JSON: true}
}

// looks has a doctor look at a store.
func looks(t testing.TB, c *doctorCmd) (seen, error) {
	t.Helper()
	return looksFor(t, c, brisk.idle)
}

// looksFor is looks that takes no less than some time.
func looksFor(t testing.TB, c *doctorCmd, idle time.Duration) (s seen, err error) {
	t.Helper()
	p := brisk
	p.idle = idle
	var out bytes.Buffer
	err = c.examine(context.Background(), streams{&out, io.Discard}, p)
	if out.Len() == 0 {
		return s, err
	}
	if jsonErr := json.Unmarshal(out.Bytes(), &s); jsonErr != nil {
		t.Fatalf("%v in %s", jsonErr, &out)
	}
	return s, err
}

// untouched checks, once the store has ended, that others' things are as they
// were, that nothing of ours is left but what was told, and that nobody else's
// name was in a request.
func (p *patient) untouched(t testing.TB, told string) {
	t.Helper()
	p.end() // waits for requests in progress
	for _, name := range p.has() {
		if name != "/others" && !strings.Contains(told, name) {
			t.Errorf("%s is left; it tells %q", name, told)
		}
	}
	if p.objects["/others"] != "theirs" {
		t.Error("an object of others was changed")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range p.paths {
		if !strings.HasPrefix(path, "/.fencegate-doctor-") {
			t.Errorf("a request names %s", path)
		}
	}
}

func TestDoctorFindsNothingInAGoodStore(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"plain", "webdav"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, complaints{})
			c := newDoctor(p.url)
			c.Protocol = protocol
			s, err := looks(t, c)
			if err != nil || !s.Safe {
				t.Fatalf("%v, %+v", err, s)
			}
			for _, f := range s.Checks {
				if f.Verdict != verdictOK && f.Check != "access" {
					t.Errorf("%+v", f)
				}
			}
			for _, p := range probes {
				if want := protocol == "webdav" || !p.webdav; want != (len(s.of(p.name)) > 0) {
					t.Errorf("%s: looked at %v, want %v", p.name, !want, want)
				}
			}
			p.untouched(t, "")
			checkAdvice(t, s.Settings, "settle: 30s", "upstream_idle: 2s", "fold_case: false", "body: stage")
		})
	}
}

// checkAdvice has serve read what is recommended.
func checkAdvice(t testing.TB, text string, want ...string) {
	t.Helper()
	if _, err := parseConfig("f.yml", []byte(text), nil); err != nil {
		t.Errorf("serve does not take the settings: %v\n%s", err, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the settings have no %q:\n%s", w, text)
		}
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		has     complaints
		change  func(*doctorCmd)
		check   string
		verdict verdict
		says    string
		advice  string
	}{
		{"truncates", complaints{truncates: true}, nil, "broken upload", verdictNote, "replaced by a part after RST", "body: stage"},
		{"truncates, FIN and chunks", complaints{truncates: true}, nil, "broken upload", verdictNote, "part of a new object is there after FIN in chunks", ""},
		{"truncates streams", complaints{truncates: true}, func(c *doctorCmd) { c.Body = "stream" }, "broken upload", verdictUnsafe, "replaced by a part after FIN", "body: stage"},
		{"truncates after RST", complaints{truncatesReset: true}, nil, "broken upload", verdictNote, "is there after RST", "body: stage"},
		{"stores in place", complaints{inPlace: true}, nil, "broken upload", verdictNote, "while an upload is on its way", ""},
		{"late", complaints{lateBy: 700 * time.Millisecond}, func(c *doctorCmd) { c.Settle = 2 * time.Second }, "late effect", verdictNote, "effect within", "settle: 30s"},
		{"later than settle", complaints{lateBy: 700 * time.Millisecond}, func(c *doctorCmd) { c.Settle = 100 * time.Millisecond }, "late effect", verdictUnsafe, "later than 100ms", ""},
		{"answers first", complaints{answersFirst: true}, nil, "PUT, GET, DELETE", verdictUnsafe, "before it takes effect", ""},
		{"never stores", complaints{neverStores: true}, func(c *doctorCmd) { c.Settle = 200 * time.Millisecond }, "PUT, GET, DELETE", verdictUnsafe, "does not show it", ""},
		{"202", complaints{accepts: true}, nil, "PUT, GET, DELETE", verdictNote, "202", ""},
		{"202, later", complaints{accepts: true, answersFirst: true}, nil, "PUT, GET, DELETE", verdictNote, "202", ""},
		{"DELETE without effect", complaints{keepsDeleted: true}, nil, "PUT, GET, DELETE", verdictUnsafe, "DELETE is answered 204, and then GET 200", ""},
		{"redirects", complaints{redirects: true}, func(c *doctorCmd) { c.Protocol = "plain" }, "PUT, GET, DELETE", verdictUnsafe, "PUT is answered 307 to http://", ""},
		{"unauthorized", complaints{needsHeader: "Bearer another-one"}, nil, "PUT, GET, DELETE", verdictUnsafe, "401", ""},
		{"no PUT", complaints{refusesPUT: true}, func(c *doctorCmd) { c.Protocol = "plain" }, "PUT, GET, DELETE", verdictUnsafe, "405", ""},
		{"HTTP/1.0", complaints{http10: true}, nil, "PUT, GET, DELETE", verdictNote, "HTTP/1.0", ""},
		{"needs parents", complaints{needsParents: true}, func(c *doctorCmd) { c.Protocol = "plain" }, "missing parent", verdictNote, "409", ""},
		{"If-None-Match ignored", complaints{ignoresNoneMatch: true}, nil, "If-None-Match", verdictNote, "ignored", ""},
		{"creates twice", complaints{createsTwice: true}, nil, "If-None-Match", verdictNote, "of 20 that create", ""},
		{"If-Match ignored", complaints{ignoresMatch: true}, nil, "If-Match", verdictNote, "ignored", ""},
		{"no ETag", complaints{noETag: true}, nil, "ETag, Range", verdictNote, "no ETag", ""},
		{"one ETag", complaints{oneETag: true}, nil, "ETag, Range", verdictNote, "same ETag", ""},
		{"wrong range", complaints{wrongRange: true}, nil, "ETag, Range", verdictNote, "other bytes", ""},
		{"method override", complaints{obeysOverride: true}, nil, "method override", verdictNote, "POST with X-Method-Override", ""},
		{"rerouting", complaints{obeysRerouting: true}, nil, "rerouting headers", verdictNote, "X-Original-URL", ""},
		{"Overwrite ignored", complaints{ignoresOverwrite: true}, nil, "Overwrite: F", verdictNote, "ignored: MOVE", ""},
		{"destination lost", complaints{losesDestination: true}, nil, "failed MOVE", verdictUnsafe, "lost by a MOVE of nothing", ""},
		{"COPY without effect", complaints{copiesNothing: true}, nil, "COPY", verdictUnsafe, "not where it should be", ""},
		{"MKCOL empties", complaints{mkcolEmpties: true}, nil, "MKCOL", verdictUnsafe, "gone after a second MKCOL", ""},
		{"hidden close", complaints{hiddenClose: 7}, nil, "many requests", verdictNote, "closes after 7 on one connection, and does not say so", "upstream_idle: 0s"},
		{"short idle time", complaints{idle: 100 * time.Millisecond}, nil, "idle connections", verdictNote, "closed after", ""},
		{"small bodies only", complaints{largest: 1 << 20}, nil, "large bodies", verdictNote, "16MiB is answered 413", "max_body: 1MiB"},
		{"no Expect", complaints{refusesExpect: true}, nil, "Expect: 100-continue", verdictNote, "417", ""},

		{"folds case", complaints{key: strings.ToLower}, nil, "names: case", verdictUnsafe, "NAME-CASE", "fold_case: true"},
		{"folds case, as told", complaints{key: strings.ToLower}, func(c *doctorCmd) { c.FoldCase = true }, "names: case", verdictOK, "NAME-CASE", "fold_case: true"},
		{"folds all case", complaints{key: func(s string) string { return strings.ToLower(decoded(s)) }}, nil, "names: case beyond ASCII", verdictUnsafe, "%C3%89", "fold_case: true"},
		{"collapses slashes", complaints{key: collapsed}, nil, "names: double slash", verdictOK, "fencegate refuses", "fold_case: false"},
		{"decodes slashes", complaints{key: decoded}, nil, "names: escaped slash", verdictOK, "fencegate refuses", ""},
		{"decodes twice", complaints{key: decodedTwice}, nil, "names: escaped twice", verdictUnsafe, "name-%2574wice", ""},
		{"composes", complaints{key: composed}, nil, "names: composed and decomposed (NFC, NFD)", verdictOK, "to fencegate, too", ""},
		{"composes more", complaints{key: compatible}, nil, "names: full width letters", verdictUnsafe, "ide name one object", ""},
		{"cuts at semicolons", complaints{key: cutAt(";")}, nil, "names: semicolon", verdictOK, "refuses", ""},
		{"cuts at NUL", complaints{key: cutAt("\x00")}, nil, "names: NUL", verdictOK, "refuses", ""},
		{"cuts at colons", complaints{key: cutAt("::")}, nil, "names: stream of a file", verdictUnsafe, "$DATA", "fold_case: true"},
		{"drops dots", complaints{key: withoutEnd(".")}, nil, "names: final dot", verdictUnsafe, "name-dot.", "fold_case: true"},
		{"drops blanks", complaints{key: withoutEnd(" ")}, nil, "names: final blank", verdictUnsafe, "%20", "fold_case: true"},
		{"drops slashes", complaints{key: withoutEnd("/")}, nil, "names: final slash", verdictOK, "to fencegate, too", ""},
		{"plus is a blank", complaints{key: func(s string) string { return decoded(strings.ReplaceAll(s, "+", " ")) }}, nil, "names: plus for a blank", verdictUnsafe, "name-a+b", "fold_case: false"},
		{"folds case of writes", complaints{putKey: func(s string) string { return strings.ReplaceAll(s, "NAME-CASE", "name-case") }}, nil, "names: case", verdictUnsafe, "NAME-CASE", "fold_case: true"},
		{"cuts long names", complaints{key: func(s string) string { return s[:min(len(s), 255)] }}, nil, "names: long names", verdictUnsafe, "305 bytes", "fold_case: false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, c.has)
			d := newDoctor(p.url)
			if c.change != nil {
				c.change(d)
			}
			idle := brisk.idle
			if c.has.lateBy > 0 {
				idle = 2 * c.has.lateBy
			}
			s, err := looksFor(t, d, idle)
			found := slices.ContainsFunc(s.of(c.check), func(f finding) bool {
				return f.Verdict == c.verdict && strings.Contains(f.Result, c.says) && (f.Verdict == verdictOK || f.Do != "")
			})
			if !found {
				t.Errorf("want %s, %s with %q, got %v %+v", c.check, c.verdict, c.says, err, s.Checks)
			}
			unsafe := slices.ContainsFunc(s.Checks, func(f finding) bool { return f.Verdict == verdictUnsafe })
			if want := map[bool]int{true: 1}[unsafe]; exitCode(err) != want || s.Safe == unsafe {
				t.Errorf("exit code %d, safe %v: want %d", exitCode(err), s.Safe, want)
			}
			if c.verdict != verdictUnsafe && unsafe {
				t.Errorf("more is unsafe than that: %+v", s.Checks)
			}
			checkAdvice(t, s.Settings, c.advice)
			if !c.has.keepsDeleted {
				p.untouched(t, "")
			}
		})
	}
}

// A store that keeps connections for a short time only gets less.
func TestDoctorRecommendsAnIdleTime(t *testing.T) {
	t.Parallel()
	p := newPatient(t, complaints{idle: 400 * time.Millisecond})
	s, _ := looksFor(t, newDoctor(p.url), 4*time.Second)
	config, err := parseConfig("f.yml", []byte(s.Settings), nil)
	if err != nil {
		t.Fatal(err)
	}
	if config.UpstreamIdle >= time.Second { // half of what was seen, on a machine that may be slow
		t.Errorf("upstream_idle is %v", config.UpstreamIdle)
	}
}

// What others reach is tried with the same headers, and everything else about it
// is told.
func TestDoctorTriesToGoAround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		direct  func(t *testing.T, p *patient) string
		verdict verdict
		says    string
	}{
		{"the same store", func(_ *testing.T, p *patient) string { return p.url }, verdictUnsafe, "PUT at"},
		{"another store", func(t *testing.T, _ *patient) string {
			p := newPatient(t, complaints{})
			t.Cleanup(func() { p.untouched(t, "") })
			return p.url
		}, verdictUnsafe, "PUT at"},
		{"no PUT, but DELETE", func(t *testing.T, p *patient) string {
			return between(t, p, func(r *http.Request) bool { return r.Method == http.MethodPut })
		}, verdictUnsafe, "DELETE at"},
		{"refuses all", func(t *testing.T, p *patient) string {
			return between(t, p, func(*http.Request) bool { return true })
		}, verdictOK, "refuses PUT and DELETE"},
		{"a fencegate", func(t *testing.T, _ *patient) string { return newPatient(t, complaints{fenced: true}).url }, verdictOK, "a fencegate answers"},
		{"elsewhere", func(t *testing.T, p *patient) string { return newPatient(t, complaints{needsParents: true}).url }, verdictNote, "does not refuse them either"},
		{"nobody", func(t *testing.T, _ *patient) string { return "http://" + unused(t) }, verdictOK, "cannot be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, complaints{})
			d := newDoctor(p.url)
			d.Direct = c.direct(t, p)
			s, err := looks(t, d)
			got := s.of("access")
			if len(got) != 1 || got[0].Verdict != c.verdict || !strings.Contains(got[0].Result, c.says) {
				t.Errorf("%v %+v", err, got)
			}
			if s.Safe != (c.verdict != verdictUnsafe) {
				t.Errorf("safe: %v", s.Safe)
			}
			p.untouched(t, "")
		})
	}
}

// between is a server in front of p that forbids what refuse says.
func between(t testing.TB, p *patient, refuse func(*http.Request) bool) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func unused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Whenever it is told to end, it clears up.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"basic", "cut-chunks-rst-old", "late-reset", "name-case", "move-b", "many", "access"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, complaints{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if at == "access" {
				at = "direct-delete"
			}
			var arrived atomic.Bool
			p.arrivals = func(_, path string) {
				if !strings.HasSuffix(path, at) {
					return
				}
				cancel()
				if at != "late-reset" && !arrived.Swap(true) { // what will be answered is waited for
					time.Sleep(200 * time.Millisecond)
				}
			}
			var out bytes.Buffer
			d := newDoctor(p.url)
			d.Direct = between(t, p, func(r *http.Request) bool { return true })
			err := d.examine(ctx, streams{&out, io.Discard}, brisk)
			if err == nil {
				t.Fatalf("it goes on: %s", &out)
			}
			if exitCode(err) != exitFailed || !strings.Contains(err.Error(), "interrupted") || out.Len() > 0 {
				t.Errorf("%v %s", err, &out)
			}
			p.untouched(t, err.Error())
		})
	}
}

func TestDoctorTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	p := newPatient(t, complaints{keepsFolderObject: "name-case"})
	s, err := looks(t, newDoctor(p.url))
	if err != nil || len(s.Left) != 1 || !strings.HasSuffix(s.Left[0], "/name-case") || len(s.of("clear-up")) != 1 {
		t.Errorf("%v, left %q, %+v", err, s.Left, s.of("clear-up"))
	}
}

func TestDoctorKeepsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "Bearer very-secret-token"
	for _, asJSON := range []bool{true, false} {
		for _, c := range []complaints{{needsHeader: secret}, {redirects: true}} {
			p := newPatient(t, c)
			var out, errs bytes.Buffer
			d := newDoctor(p.url)
			d.Header, d.JSON = []string{"X-More: one\nAuthorization: " + secret}, asJSON
			err := d.examine(context.Background(), streams{&out, &errs}, brisk)
			if want := map[bool]int{true: 1}[c.redirects]; exitCode(err) != want {
				t.Errorf("%v, want exit code %d: %s", err, want, &out)
			}
			if text := fmt.Sprint(err, &out, &errs); strings.Contains(text, "very-secret") {
				t.Errorf("it shows the secret: %s", text)
			}
			p.untouched(t, "")
		}
	}
}

func TestDoctorOverTLS(t *testing.T) {
	t.Parallel()
	p := newPatient(t, complaints{})
	s := httptest.NewTLSServer(http.HandlerFunc(p.ServeHTTP))
	t.Cleanup(s.Close)
	d := newDoctor(s.URL)
	if _, err := looks(t, d); exitCode(err) != exitUnavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the right certificates: %v", err)
	}
	d.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(d.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := looks(t, d)
	if err != nil || len(got.of("certificate")) != 1 || got.of("certificate")[0].Verdict != verdictOK {
		t.Errorf("%v %+v", err, got)
	}
	checkAdvice(t, got.Settings, "tls: {ca:")
	p.untouched(t, "")
}

func TestDoctorUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*doctorCmd)
		says   string
	}{
		{func(c *doctorCmd) { c.Upstream = "" }, "--upstream is missing"},
		{func(c *doctorCmd) { c.Upstream = "ftp://h" }, "--upstream"},
		{func(c *doctorCmd) { c.Upstream = "http://me:very-secret@h" }, "--upstream"},
		{func(c *doctorCmd) { c.Protocol = "s3" }, "--protocol: not available yet"},
		{func(c *doctorCmd) { c.Body = "streem" }, "did you mean stream"},
		{func(c *doctorCmd) { c.Direct = "me:very-secret@h" }, "--direct"},
		{func(c *doctorCmd) { c.Upstream, c.Direct = "dir:.", "http://h" }, "--direct"},
		{func(c *doctorCmd) { c.Scratch = "/a/../b" }, "--scratch"},
		{func(c *doctorCmd) { c.Scratch = "/.well-known/fencegate/" }, "--scratch"},
		{func(c *doctorCmd) { c.Settle = time.Millisecond }, "--settle"},
		{func(c *doctorCmd) { c.Header = []string{"very-secret"} }, "--header"},
		{func(c *doctorCmd) { c.Header = []string{"Content-Length: 3"} }, "--header"},
		{func(c *doctorCmd) { c.Header = []string{"A: b\rvery-secret"} }, "--header"},
		{func(c *doctorCmd) { c.CA = "ca.pem" }, "--ca"},
	} {
		d := newDoctor("http://127.0.0.1:1")
		c.change(d)
		_, err := looks(t, d)
		if exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

func TestDoctorOfADirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "others"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := looks(t, newDoctor("dir:"+root))
	if err != nil || !s.Safe || len(s.Checks) < len(dirProbes) {
		t.Errorf("%v %+v", err, s)
	}
	checkAdvice(t, s.Settings, "settle: 0s", "fold_case: false")
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	if _, err := looks(t, newDoctor("dir:"+filepath.Join(root, "none"))); exitCode(err) != exitUnavailable {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// The headers of the variable are one a line, with commas in them.
func TestDoctorTakesHeadersFromTheEnvironment(t *testing.T) {
	const secret = `Digest name="a", very="secret"`
	p := newPatient(t, complaints{needsHeader: secret, refusesPUT: true})
	t.Setenv("FENCEGATE_HEADER", "X-First: 1\nAuthorization: "+secret)
	t.Setenv("FENCEGATE_UPSTREAM", p.url)
	var out, errs bytes.Buffer
	code := run([]string{"doctor"}, streams{&out, &errs})
	if code != 1 || !strings.Contains(out.String(), "405") || strings.Contains(out.String()+errs.String(), "very=") {
		t.Errorf("%d %s %s", code, &out, &errs)
	}
}

func TestDoctorOfAMuteStore(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	p := brisk
	p.answer = 100 * time.Millisecond
	err = newDoctor("http://"+mute.Addr().String()).examine(context.Background(), streams{io.Discard, io.Discard}, p)
	if exitCode(err) != exitUnavailable {
		t.Error(err)
	}
}
