package proxy

import (
	"strings"
	"testing"

	"fencegate/fence"
)

func routed(rs ...Route) func(*plan) { return func(p *plan) { p.opts.Routes = rs } }

// What a path is and which route it falls to. Each line is "METHOD-less target
// → route resource", or "→ refused".
func TestResolve(t *testing.T) {
	rs, err := compile([]Route{
		{Name: "first", Path: "/a/b"},
		{Name: "second", Path: "/a"},
		{Name: "folded", Path: "/Win", Names: fence.NameOptions{FoldCase: true}},
		{Name: "semi", Path: "/semi", Names: fence.NameOptions{LiteralSemicolons: true}},
		{Name: "versions", Path: "/v", ResourceQuery: "v"},
		{Path: "/*/deep"},
	}, Route{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(`
/a/b/c → first /a/b/c
/a/bc → second /a/bc
/%61/b → first /a/b
/A/b → default /A/b
/ → default /
/win/X.TXT → folded /win/x.txt
/WIN/x.txt → folded /win/x.txt
/win/x. → refused
/a/x. → second /a/x.
/semi/a;b → semi /semi/a;b
/semi/a%3Bb → semi /semi/a;b
/a/b;c → refused
/semi;x → refused
/x/deep/y → r5 /x/deep/y
/a/deep → second /a/deep
/v/o?v=1 → versions /v/o/%3Fv=1
/v/o?w=1 → versions /v/o
/v/o?w=1&v=%31 → versions /v/o/%3Fv=1
/v/o?v= → versions /v/o/%3Fv=
/v/o?v=a%2Fb → versions /v/o/%3Fv=a%252Fb
/v/o?v=1&v=2 → refused
/a/o?v=1 → second /a/o
/a/../b → refused
`), "\n") {
		target, want, _ := strings.Cut(line, " → ")
		path, query, _ := strings.Cut(target, "?")
		got := "refused"
		if r, route, err := rs.resolve(path); err == nil {
			if r, err = route.object(r, query); err == nil {
				got = route.Name + " " + r.String()
			}
		}
		if got != want {
			t.Errorf("%s is %s, want %s", target, got, want)
		}
	}
}

// Names in claims and marks are resources as they are told, with what stands
// for a query in either form.
func TestNamed(t *testing.T) {
	rs, err := compile([]Route{{Name: "versions", Path: "/v", ResourceQuery: "v"}}, Route{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/v/o":        "/v/o",
		"/v/o?v=1":    "/v/o/%3Fv=1",
		"/v/o/?v=1":   "/v/o/%3Fv=1",
		"/v/o/%3Fv=1": "/v/o/%3Fv=1",
		"/v/o/%3fv=1": "/v/o/%3Fv=1",
		"/v/o%3Fv=1":  "/v/o%3Fv=1", // a name with a question mark
		"/a%3Fv=1":    "/a%3Fv=1",
		"/a?v=1":      "refused",
		"/v/o?v=1&v=": "refused",
	} {
		got := "refused"
		if r, _, err := rs.named(name); err == nil {
			got = r.String()
		}
		if got != want {
			t.Errorf("%s names %s, want %s", name, got, want)
		}
	}
}

func TestCheckRoutes(t *testing.T) {
	fold := fence.NameOptions{FoldCase: true}
	for _, c := range []struct {
		name   string
		routes []Route
		want   string // "index field" of each fault
	}{
		{"none", nil, ""},
		{"distinct", []Route{{Path: "/a/b"}, {Path: "/a"}, {Path: "/*/c"}, {Path: "/*"}, {Path: "/"}}, ""},
		{"same path", []Route{{Path: "/a"}, {Path: "/a/"}}, "1 path"},
		{"below", []Route{{Path: "/a"}, {Path: "/ab"}, {Path: "/a/b"}}, "2 path"},
		{"star hides", []Route{{Path: "/*"}, {Path: "/a"}, {Path: "/*/x"}, {Path: "/"}}, "1 path, 2 path"},
		{"star is hidden by no name", []Route{{Path: "/a"}, {Path: "/*"}, {Path: "/a/*"}}, "2 path"},
		{"after everything", []Route{{}, {Path: "/a"}}, "1 path"},
		{"folded hides every case", []Route{{Path: "/Dir", Names: fold}, {Path: "/DIR/x"}, {Path: "/dir", Names: fold}}, "1 path, 2 path"},
		{"one case hides not all", []Route{{Path: "/dir"}, {Path: "/dir", Names: fold}}, ""},
		{"a star hides folded ones", []Route{{Path: "/*"}, {Path: "/dir", Names: fold}}, "1 path"},
		{"names", []Route{{Path: "/a", Name: "x"}, {Path: "/b", Name: "x"}, {Path: "/c", Name: "default"}, {Path: "/d", Name: "r4"}, {Path: "/e"}}, "1 name, 2 name, 4 name"},
		{"bad ones hide nothing", []Route{{Path: "/../"}, {Path: "a"}, {Path: "/a"}}, "0 path, 1 path"},
	} {
		var got []string
		for _, f := range CheckRoutes(c.routes) {
			got = append(got, strings.Join(strings.Fields(f.Error())[1:2], "")+" "+f.Field)
			if !strings.HasPrefix(f.Error(), "route ") || f.Unwrap() == nil {
				t.Errorf("%s: %v", c.name, f)
			}
		}
		if text := strings.ReplaceAll(strings.Join(got, ", "), ":", ""); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if _, err := compile(c.routes, Route{}); (err != nil) != (c.want != "") {
			t.Errorf("%s: a proxy with them: %v", c.name, err)
		}
	}
}

// One lock for everything below a tenant's directory.
func TestFenceTree(t *testing.T) {
	w := open(t, routed(Route{Path: "/blocks/*", FenceTree: true, Policy: fence.Require}, Route{Path: "/", Policy: fence.Require}))
	w.says("PUT /blocks/t1/a/b\nX-Fencing-Token: 5\n\nv", stored)
	stale := want{status: 412, reason: fence.StaleToken, resource: "/blocks/t1", token: "4", highest: "5"}
	w.says("PUT /blocks/t1/not/yet/there\nX-Fencing-Token: 4\n\nv", stale)
	w.says("GET /blocks/t1\nX-Fencing-Token: 4", stale)
	w.says("DELETE /blocks/t1/a\nX-Fencing-Token: 4", stale)
	w.says("PUT /blocks/t1x\nX-Fencing-Token: 4\n\nv", stored) // another tenant
	w.says("PUT /blocks\nX-Fencing-Token: 4\n\nv", stored)     // above, and of the other route

	// What changes everything above meets the tenants' marks.
	w.says("DELETE /blocks\nX-Fencing-Token: 4", want{status: 409, reason: fence.TreeFenced, resource: "/blocks", token: "4", highest: "5"})
	w.says("DELETE /blocks\nX-Fencing-Token: 6", stored)
	w.says("PUT /blocks/t1/a\nX-Fencing-Token: 5\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/blocks/t1", token: "5", highest: "6"})
	w.says("PUT /blocks/t2/a\nX-Fencing-Token: 5\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/blocks/t2", token: "5", highest: "6"})
	w.saw("PUT /blocks/t1/a/b", "PUT /blocks/t1x", "PUT /blocks", "DELETE /blocks")
}

// A claim must name what is fenced; the answer tells what that is.
func TestClaimsNameFenceRoots(t *testing.T) {
	w := open(t, routed(Route{Path: "/blocks/*", FenceTree: true, Policy: fence.Require}, Route{Path: "/", Policy: fence.Require}))
	for _, tree := range []string{"", `,"tree":true`} {
		a := w.says("POST "+claimsPath+"\n\n"+`{"resource":"/blocks/t1/a%20b","token":"5"`+tree+`}`,
			want{status: 409, reason: reasonNotFenceRoot, resource: "/blocks/t1/a%20b", token: "5"})
		if !strings.Contains(compact(a.text), `"fence_root":"/blocks/t1"`) {
			t.Errorf("the fence's root is not told: %s", a.text)
		}
	}
	w.says("POST "+claimsPath+"\n\n"+`{"resources":["/x","/blocks/t1/a"],"token":"5"}`,
		want{status: 409, reason: reasonNotFenceRoot, resource: "/blocks/t1/a", token: "5"})
	w.recorded("/x", 0) // all or none
	w.claims(`{"resource":"/blocks/t1","token":"5"}`, `{"resources":[{"resource":"/blocks/t1","covers":"tree"}],"token":"5","ledger":"ledger-1"}`)
	w.claims(`{"resource":"/blocks","token":"5"}`, `{"resources":[{"resource":"/blocks","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
	w.says("PUT /blocks/t1/a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/blocks/t1", token: "4", highest: "5"})
	w.says("PUT /blocks/a\nX-Fencing-Token: 4\n\nv", stored)
	w.saw("PUT /blocks/a")
}

// A change of a tree is judged by the strictest policy of all routes that can
// match in it, and needs an owner where one of them does.
func TestStrictestPolicy(t *testing.T) {
	w := open(t, policy(fence.Open), routed(
		Route{Path: "/a/strict", Policy: fence.Require},
		Route{Path: "/a/*/adopt", Policy: fence.Adopt},
		Route{Path: "/a/owned", Policy: fence.Observe, OwnerRequired: true},
		Route{Path: "/a", Policy: fence.Open},
		Route{Path: "/Fold/x", Policy: fence.Require, Names: fence.NameOptions{FoldCase: true}},
		Route{Path: "/b", Policy: fence.Observe},
	))
	missing := func(at string) want { return want{status: 428, reason: fence.TokenMissing, resource: at} }
	w.says("DELETE /a/strict/x", missing("/a/strict/x"))
	w.says("DELETE /a", missing("/a")) // reaches /a/strict
	for _, at := range []string{"/FOLD", "/Fold", "/"} {
		if at != "/" { // which plain refuses by itself
			w.says("DELETE "+at+"\nX-Fencing-Token: 5", want{status: 400, reason: reasonPath, resource: at, token: "5"})
		}
		w.says("POST "+claimsPath+"\n\n"+`{"resource":"`+at+`","token":"5","tree":true}`, want{status: 400, reason: reasonPath, resource: at, token: "5"})
	}
	w.says("DELETE /FOLD/X", missing("/fold/x"))
	w.says("DELETE /a/other", stored) // reaches adopt at most, where nothing is marked
	w.says("DELETE /b", want{status: 201, observed: fence.TokenMissing})
	w.says("DELETE /c", stored)
	w.saw("DELETE /a/other", "DELETE /b", "DELETE /c")

	owner := func(at string) want { return want{status: 428, reason: reasonOwnerMissing, resource: at, token: "5"} }
	w.says("DELETE /a\nX-Fencing-Token: 5", owner("/a"))
	w.says("DELETE /a/owned/x\nX-Fencing-Token: 5", owner("/a/owned/x"))
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"5","tree":true}`, owner("/a"))
	w.says("PUT /a/free\nX-Fencing-Token: 5\n\nv", stored) // of one route, and no tree
	w.says("DELETE /a/strict\nX-Fencing-Token: 5", stored)
	w.says("DELETE /a\nX-Fencing-Token: 6\nX-Fencing-Owner: S3cret", stored)
	w.claims(`{"resource":"/a/other","token":"7","owner":"S3cret","tree":true}`,
		`{"resources":[{"resource":"/a/other","covers":"tree"}],"token":"7","ledger":"ledger-1"}`) // enforced: no policy is told
	w.saw("PUT /a/free", "DELETE /a/strict", "DELETE /a")
}

// A route may let further methods write one object.
func TestAlsoWrites(t *testing.T) {
	w := open(t, routed(Route{Path: "/api", Policy: fence.Require, AlsoWrites: []string{"POST"}}, Route{Path: "/", Policy: fence.Require}))
	w.says("POST /api/x\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/api/x"})
	w.says("POST /api/x\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /api/x\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/api/x", token: "4", highest: "5"})
	w.says("PATCH /api/x\nX-Fencing-Token: 5\n\nv", want{status: 405, reason: reasonMethod, resource: "/api/x", token: "5", allow: "GET, HEAD, OPTIONS, PUT, DELETE, POST"})
	w.says("POST /x\nX-Fencing-Token: 5\n\nv", want{status: 405, reason: reasonMethod, resource: "/x", token: "5", allow: "GET, HEAD, OPTIONS, PUT, DELETE"})
	w.saw("POST /api/x")
}

// Objects that differ in a query parameter are fenced apart, where the route
// says so.
func TestResourceQuery(t *testing.T) {
	w := open(t, routed(Route{Path: "/v", Policy: fence.Require, ResourceQuery: "v"}, Route{Path: "/", Policy: fence.Require}))
	w.says("PUT /v/o?v=1\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /v/o?v=2\nX-Fencing-Token: 4\n\nv", stored)
	w.says("PUT /v/o?x=y&v=1\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/v/o/%3Fv=1", token: "4", highest: "5"})
	w.says("PUT /x?v=1\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /x?v=2\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/x", token: "4", highest: "5"})
	w.claims(`{"resource":"/v/o?v=2","token":"9"}`, `{"resources":[{"resource":"/v/o/%3Fv=2","covers":"object"}],"token":"9","ledger":"ledger-1"}`)
	w.says("PUT /v/o?v=2\nX-Fencing-Token: 8\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/v/o/%3Fv=2", token: "8", highest: "9"})
	w.saw("PUT /v/o?v=1", "PUT /v/o?v=2", "PUT /x?v=1")
}

// A query tells objects apart, never what protects them: trees are fenced whole,
// and what removes a path is judged by all objects at it.
func TestQueryDoesNotStepAroundATree(t *testing.T) {
	stale := func(at, token, highest string) want {
		return want{status: 412, reason: fence.StaleToken, resource: at, token: token, highest: highest}
	}
	w := open(t, routed(
		Route{Path: "/many/*", Policy: fence.Require, FenceTree: true, ResourceQuery: "v"},
		Route{Path: "/one", Policy: fence.Require, FenceTree: true, ResourceQuery: "v"},
		Route{Path: "/", Policy: fence.Require, ResourceQuery: "v"},
	))
	w.says("PUT /many/t1/x\nX-Fencing-Token: 50\n\nv", stored)
	w.says("PUT /many/t1?v=2\nX-Fencing-Token: 5\n\nv", stale("/many/t1", "5", "50"))
	w.says("PUT /many/t1/y?v=2\nX-Fencing-Token: 5\n\nv", stale("/many/t1", "5", "50"))
	w.says("DELETE /many/t1?v=2\nX-Fencing-Token: 5", stale("/many/t1", "5", "50"))
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/many/t1?v=2","token":"60"}`,
		want{status: 409, reason: reasonNotFenceRoot, resource: "/many/t1/%3Fv=2", token: "60"})
	w.says("PUT /one?v=2\nX-Fencing-Token: 5\n\nv", stored)
	w.says("PUT /one?v=3\nX-Fencing-Token: 4\n\nv", stale("/one", "4", "5"))

	w.says("PUT /dir/x\nX-Fencing-Token: 50\n\nv", stored)
	w.says("DELETE /dir?v=1\nX-Fencing-Token: 5", want{status: 409, reason: fence.TreeFenced, resource: "/dir", token: "5", highest: "50"})
	w.says("DELETE /?v=1\nX-Fencing-Token: 5", want{status: 405, reason: reasonMethod, resource: "/%3Fv=1", token: "5", allow: "GET, HEAD, OPTIONS"})
	w.says("PUT /ver/a?v=2\nX-Fencing-Token: 50\n\nv", stored)
	w.says("DELETE /ver/a\nX-Fencing-Token: 5", want{status: 409, reason: fence.TreeFenced, resource: "/ver/a", token: "5", highest: "50"})
	w.says("DELETE /ver/a?v=9\nX-Fencing-Token: 60", stored)
	w.says("PUT /ver/a?v=2\nX-Fencing-Token: 50\n\nv", stale("/ver/a/%3Fv=2", "50", "60"))
	w.saw("PUT /many/t1/x", "PUT /one?v=2", "PUT /dir/x", "PUT /ver/a?v=2", "DELETE /ver/a?v=9")
}

// A route can have a store of its own, which is asked instead.
func TestStoreOfARoute(t *testing.T) {
	other := newFakeStore()
	w := open(t, routed(Route{Path: "/own", Policy: fence.Require, Upstream: other}, Route{Path: "/", Policy: fence.Require}))
	w.says("PUT /own/a\nX-Fencing-Token: 5\n\nv", stored)
	w.says("GET /own/a", read)
	w.says("PUT /a\nX-Fencing-Token: 5\n\nv", stored)
	w.saw("PUT /a")
	if got := other.requests(); len(got) != 2 || got[0].method+got[0].target != "PUT/own/a" || got[1].method != "GET" {
		t.Errorf("the route's store was sent %v", got)
	}
}
