package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fencegate/integration/harness"
)

// A directory is a WebDAV server by itself. Shown: every test of litmus passes,
// when fencegate only watches, and when it demands the token of a lock, which
// FENCEGATE_URL adds.
func TestLitmusOverADirectory(t *testing.T) {
	t.Parallel()
	t.Run("watched", func(t *testing.T) {
		t.Parallel()
		s := serveDAV(t, "--policy", "observe")
		allPass(t, litmus(t, s.URL()))
		s.isSwept(t)
	})
	t.Run("required", func(t *testing.T) {
		t.Parallel()
		config := filepath.Join(t.TempDir(), "fencegate.yaml")
		if err := os.WriteFile(config, []byte("routes: [{path: /litmus, fence: tree}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newScene(t, "--protocol", "webdav", "--config", config)
		says(t, s.fence, "428 token_missing", "MKCOL", "/litmus/", stampOf(0, ""), "")
		cmd := s.lockCommand("-r", "/litmus", "--tree", "--", "sh", "-c", `echo "token $FENCING_TOKEN"; exec litmus -k "$FENCEGATE_URL/"`)
		cmd.Dir = t.TempDir() // for its logs
		p := harness.Start(t, "litmus", cmd)
		<-p.Exited()
		wantCode(t, p, 0)
		allPass(t, litmusResults(strings.Join(p.Stdout(), "\n")))
		token := strings.TrimPrefix(p.AwaitLine("token "), "token ")
		if m := markOf(t, s.fence, "/litmus/any"); m.Token != token || m.Via != "floor" {
			t.Errorf("the mark is %+v, want that of %s", m, token)
		}
		// One test sends a raw "#", and wants nothing removed.
		m := s.fence.Metrics()
		all, sharp := m.Counter("fencegate_rejections_total"), m.Counter("fencegate_rejections_total", "reason=path_ambiguous")
		if all != 2 || sharp != 1 {
			t.Errorf("%v requests were refused, %v of them for their path, want that one and the first", all, sharp)
		}
		served{s.fence}.isSwept(t)
	})
}

func allPass(t *testing.T, results map[string]string) {
	t.Helper()
	if n := passes(results); n < 104 {
		t.Errorf("%d tests pass, want 104", n)
	}
	for test, result := range results {
		if result != "pass" {
			t.Errorf("%s: %s", test, result)
		}
	}
}

// A lock's helper does not lead out of it. Shown: the token gets to what is
// locked only, also where it is named in a header; hrefs, locks and conditions
// name what is behind FENCEGATE_URL.
func TestWebDAVBehindTheHelper(t *testing.T) {
	t.Parallel()
	s := newScene(t, "--protocol", "webdav")
	d := served{s.fence}
	d.make(t, "1", "/other/", "/other/f")
	asked(t, s.fence.URL(), "201", "MKCOL /m s/")
	h := help(t, s.redis.Addr(), s.fence.URL(), "-r", "/m s", "--tree")
	at := h.url + "/m%20s"
	asked(t, at, "201", "MKCOL /d/")
	for _, name := range []string{"plain", "a%20b", "%C3%A9", "%E6%97%A5", "a+b", "a%25b", "a%23b", "a&b", "a'b", "%3C%3E"} {
		asked(t, at, "201", "PUT /d/"+name+"\n\n"+name)
		asked(t, at, "201", "COPY /d/"+name+"\nDestination: "+at+"/d/copy-"+name)
		asked(t, at, "204", "MOVE /d/copy-"+name+"\nDestination: "+at+"/d/"+name)
	}
	hrefs := hrefsOf(t, asked(t, at, "207", "PROPFIND /d/\nDepth: 1").body)
	if len(hrefs) != 11 {
		t.Errorf("it lists %q", hrefs)
	}
	for _, href := range hrefs {
		// As clients go on: from the name that they were told.
		asked(t, "http://"+h.addr, map[bool]string{true: "200", false: "207"}[!strings.HasSuffix(href, "/")],
			map[bool]string{true: "GET ", false: "PROPFIND "}[!strings.HasSuffix(href, "/")]+href+"\nDepth: 0")
	}

	const body = "\n\n" + `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
	lock := asked(t, at, "200", "LOCK /d/plain\nDepth: 0"+body)
	if hrefs := hrefsOf(t, lock.body); !strings.Contains(strings.Join(hrefs, " "), "/"+h.secret+"/m%20s/d/plain") {
		t.Errorf("the lock is on %q", hrefs)
	}
	key := lock.header.Get("Lock-Token")
	asked(t, at, "423", "PUT /d/plain\n\nx")
	asked(t, at, "423", "MOVE /d/plain\nDestination: "+at+"/d/x")
	asked(t, at, "204", "PUT /d/plain\nIf: <"+at+"/d/plain> ("+key+")\n\nx")
	asked(t, at, "204", "PUT /d/plain\nIf: </"+h.secret+"/m%20s/d/plain> ("+key+")\n\nx") // as it is told in hrefs
	asked(t, at, "204", "PUT /d/plain\nIf: <HTTP://"+h.addr+"/"+h.secret+"/m%20s/d/plain> ("+key+")\n\nx")
	asked(t, at, "201", "COPY /d/plain\nDestination: HTTP://"+h.addr+"/"+h.secret+"/m%20s/d/other")
	asked(t, at, "207", "PROPPATCH /d/plain\nIf: ("+key+")\n\n"+propertyUpdate("v"))
	asked(t, at, "201", "MOVE /d/plain\nIf: <"+at+"/d/plain> ("+key+")\nDestination: "+at+"/d/x")
	if a := asked(t, at, "207", "PROPFIND /d/x\nDepth: 0"); !strings.Contains(a.body, ">v</") || strings.Contains(a.body, key) {
		t.Errorf("what was moved has\n%s", a.body)
	}

	before := d.contents(t)
	for _, r := range []string{
		"PUT /other/f\n\nx", "MKCOL /other/c/", "DELETE /other/f", "PROPPATCH /other/f\n\n" + propertyUpdate("late"), "LOCK /other/f" + body,
		"MOVE /other/f\nDestination: " + at + "/d/x", "MOVE /m%20s/d/x\nDestination: " + h.url + "/other/f", "COPY /m%20s/d/x\nDestination: " + h.url + "/other/f",
		"MOVE /m%20s/d/x\nDestination: " + s.fence.URL() + "/other/f", "MOVE /m%20s/d/x\nDestination: http://elsewhere.test/m%20s/d/y",
		"MOVE /m%20s/d/x\nDestination: http://" + h.addr + "/m%20s/d/y", // the secret is missing
		"MOVE /m%20s/d/x\nDestination: " + at + "/../other/f",
		"MOVE /m%20s/d/x",
	} {
		asked(t, h.url, "403", r)
	}
	if now := d.contents(t); now != before {
		t.Errorf("the store holds\n%s\nwant\n%s", now, before)
	}
	// What is only read may be anywhere.
	asked(t, h.url, "201", "COPY /other/f\nDestination: "+at+"/d/read")
	asked(t, h.url, "207", "PROPFIND /other/\nDepth: 1")
	asked(t, h.url, "200", "GET /other/f")
	h.done()
}

func propertyUpdate(value string) string {
	return `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="x:">` + value + `</x></D:prop></D:set></D:propertyupdate>`
}
