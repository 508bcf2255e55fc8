package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	adoptRoute  = "default (for all paths that no other route matches)"
	blocksRoute = "blocks (routes[0], path /blocks/*)"
	draftsRoute = "drafts (routes[1], path /drafts)"
	imgRoute    = "r2 (routes[2], path /img)"
	asksFirst   = "ask: Reads. Without a token it passes; with one it is judged like a write, and cuts off older holders."
)

func TestExplain(t *testing.T) {
	for _, c := range []struct{ method, url, want string }{
		{"PUT", "/blocks/t1/a%20b?x=1", "route " + blocksRoute + "\nresource /blocks/t1/a%20b\nfence /blocks/t1 and everything below (lock and claim that)\npolicy require\nowner required\n" +
			"means write: Changes /blocks/t1/a%20b. It needs a token, which must not be older than one seen there."},
		{"GET", "http://files.example/blocks/t1", "route " + blocksRoute + "\nresource /blocks/t1\nfence /blocks/t1 and everything below (lock and claim that)\npolicy require\nowner required\nmeans " + asksFirst},
		{"HEAD", "/drafts/x", "route " + draftsRoute + "\nresource /drafts/x\nfence /drafts/x\npolicy open\nowner optional\nmeans ask: Reads. It passes with any token or none."},
		{"OPTIONS", "/blocks/t1", "route " + blocksRoute + "\nresource /blocks/t1\nmeans read: Reads. It passes with or without a token, which is not looked at."},
		// Of the routes that it changes something below, the strictest counts.
		{"DELETE", "/blocks", "route " + adoptRoute + "\nresource /blocks\nfence /blocks\npolicy require\nowner required\n" +
			"means tree write: Changes /blocks and everything below. It needs a token, which must not be older than one seen there."},
		{"DELETE", "/", "route " + adoptRoute + "\nresource /\nrefused 405 method_refused: DELETE of the root would remove everything."},
		{"POST", "/drafts/x", "route " + draftsRoute + "\nresource /drafts/x\nfence /drafts/x\npolicy open\nowner optional\n" +
			"means write: Changes /drafts/x. It passes with any token or none."},
		{"PUT", "/x", "route " + adoptRoute + "\nresource /x\nfence /x\npolicy adopt\nowner optional\n" +
			"means write: Changes /x. It needs a token as soon as one has been seen there, which must not be an older one."},
		{"POST", "/x", "route " + adoptRoute + "\nresource /x\nrefused 405 method_refused: This method is not passed on under protocol plain, since what it changes is not known."},
		{"FROB", "/x", "route " + adoptRoute + "\nresource /x\nrefused 501 method_refused: This method is unknown, so what it changes is not known either."},
		{"PUT", "/IMG/Ä?v=2&w=3", "route " + imgRoute + "\nresource /img/Ä/%3Fv=2\nfence /img/Ä/%3Fv=2\npolicy observe\nowner optional\n" +
			"means write: Changes /img/Ä/%3Fv=2. It passes with any token or none; what require would refuse is logged."},
		{"PUT", "/a/../b", `refused 400 path_ambiguous: This path could name different objects for different servers: "." or ".." segment.`},
		{"POST", "/.well-known/fencegate/claims", "resource /.well-known/fencegate/claims\nmeans own: For fencegate itself; the store does not see it."},
	} {
		out, stderr, code := fencegate(t, "config", "explain", c.method, c.url, "--config", "testdata/explain.yml")
		var got []string
		for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			name, rest, _ := strings.Cut(line, " ")
			got = append(got, name+" "+strings.TrimLeft(rest, " "))
		}
		if want := "request " + c.method + " " + c.url + "\n" + c.want; code != exitOK || strings.Join(got, "\n") != want {
			t.Errorf("%d %s\n%s\nwant\n%s", code, stderr, strings.Join(got, "\n"), want)
		}
	}
	if out, _, _ := fencegate(t, "config", "explain", "PUT", "/x", "--policy", "require"); !strings.Contains(out, "needs a token, which must not be older") {
		t.Errorf("without a file it says\n%s", out)
	}
	if _, stderr, code := fencegate(t, "config", "explain", "PUT", "/x", "--config", "testdata/words.bad.yml"); code != exitConfig {
		t.Errorf("with a faulty file it ends with %d: %s", code, stderr)
	}
}

// As JSON the same is there, under names that scripts can rely on.
func TestExplainAsJSON(t *testing.T) {
	for _, c := range []struct{ method, url, want string }{
		{"DELETE", "/blocks/t1/x", `{"method":"DELETE","target":"/blocks/t1/x","route":{"name":"blocks","index":0,"path":"/blocks/*"},"resource":"/blocks/t1/x",` +
			`"touches":[{"object":"/blocks/t1/x","tree":true,"fence":"/blocks/t1","covers":"tree","policy":"require"}],"owner":"required","meaning":"tree write",` +
			`"means":"Changes /blocks/t1/x and everything below. It needs a token, which must not be older than one seen there."}`},
		{"MKCOL", "/x", `{"method":"MKCOL","target":"/x","route":{"name":"default","path":"/"},"resource":"/x","meaning":"refused",` +
			`"means":"This method is not passed on under protocol plain, since what it changes is not known.","status":405,"reason":"method_refused"}`},
	} {
		out, stderr, code := fencegate(t, "config", "explain", "--json", c.method, c.url, "--config", "testdata/explain.yml")
		var want, got any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%d %s%s: %v", code, stderr, out, err)
		}
		a, _ := json.Marshal(want)
		if b, _ := json.Marshal(got); string(a) != string(b) {
			t.Errorf("got\n%s\nwant\n%s", b, a)
		}
	}
}
