package proxy

import (
	"fmt"
	"strings"
	"testing"

	"fencegate/fence"
)

// claims sends a claim and checks a successful answer, as compact JSON.
func (w *world) claims(body, answer string) {
	w.t.Helper()
	a := w.says("POST "+claimsPath+"\n\n"+body, want{status: 200})
	if got := compact(a.text); got != answer {
		w.t.Errorf("%s: claimed %s, want %s", body, got, answer)
	}
	if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" {
		w.t.Errorf("%s: headers %v", body, a.Header)
	}
}

func compact(text string) string {
	return strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(text)
}

func TestClaims(t *testing.T) {
	w := open(t)
	w.claims(`{"resource":"/a","token":"5","owner":"S3cretA","client":"host/1"}`,
		`{"resources":[{"resource":"/a","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
	w.says("PUT /a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	w.claims(`{"resource":"/a","token":"5","owner":"S3cretA"}`, // again, which is allowed
		`{"resources":[{"resource":"/a","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"5","owner":"S3cretB"}`,
		want{status: 409, reason: fence.OwnerConflict, resource: "/a", token: "5", highest: "5"})
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"4"}`,
		want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})

	// Several are judged as one: none is raised where one is refused.
	w.says("POST "+claimsPath+"\n\n"+`{"resources":["/b","/a"],"token":"4"}`,
		want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	w.says("PUT /b\nX-Fencing-Token: 1\n\nv", stored)
	w.claims(`{"resources":["/b","/caf%C3%A9 x","/a"],"token":"6"}`,
		`{"resources":[{"resource":"/b","covers":"object"},{"resource":"/café%20x","covers":"object"},{"resource":"/a","covers":"object"}],"token":"6","ledger":"ledger-1"}`)
	w.says("PUT /b\nX-Fencing-Token: 5\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/b", token: "5", highest: "6"})

	// A tree covers what is below, and is refused where that is newer.
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/","token":"5","tree":true}`,
		want{status: 409, reason: fence.TreeFenced, resource: "/", token: "5", highest: "6"})
	w.claims(`{"resource":"/d/","token":"7","tree":true}`,
		`{"resources":[{"resource":"/d","covers":"tree"}],"token":"7","ledger":"ledger-1"}`)
	w.says("PUT /d/x/y\nX-Fencing-Token: 6\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/d/x/y", token: "6", highest: "7"})
	w.saw("PUT /b")
}

// A resource that is named twice is claimed, and answered, once.
func TestClaimNamesTwice(t *testing.T) {
	w := open(t)
	w.claims(`{"resources":["/a","/%61","/b","/a/"],"token":"6","tree":true}`,
		`{"resources":[{"resource":"/a","covers":"tree"},{"resource":"/b","covers":"tree"}],"token":"6","ledger":"ledger-1"}`)
}

// Where the policy does not enforce, a claim says so.
func TestClaimsTellAWeakPolicy(t *testing.T) {
	for _, p := range []fence.Policy{fence.Open, fence.Observe} {
		w := open(t, policy(p))
		answer := `{"resources":[{"resource":"/a","covers":"object","policy":"` + p.String() + `"}],"token":"5","ledger":"ledger-1"}`
		w.claims(`{"resource":"/a","token":"5"}`, answer)
	}
	w := open(t, policy(fence.Adopt))
	w.claims(`{"resource":"/a","token":"5"}`, `{"resources":[{"resource":"/a","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
}

func TestMalformedClaims(t *testing.T) {
	w := open(t)
	for body, reason := range map[string]fence.Reason{
		``:              reasonMalformed,
		`null`:          reasonMalformed,
		`[]`:            reasonMalformed,
		`"/a"`:          reasonMalformed,
		`{`:             reasonMalformed,
		`{}`:            reasonMalformed,
		`{"token":"5"}`: reasonMalformed,
		`{"resource":"/a","resources":["/b"],"token":"5"}`:                            reasonMalformed,
		`{"resources":[],"token":"5"}`:                                                reasonMalformed,
		`{"resources":"/a","token":"5"}`:                                              reasonMalformed,
		`{"resource":["/a"],"token":"5"}`:                                             reasonMalformed,
		`{"resources":[` + strings.Repeat(`"/a",`, maxClaimed) + `"/a"],"token":"5"}`: reasonMalformed,
		`{"resource":"/a","token":5}`:                                                 reasonMalformed,
		`{"resource":"/a","token":"5","tree":"yes"}`:                                  reasonMalformed,
		`{"resource":"/a","token":"5","ownr":"S3cret"}`:                               reasonMalformed,
		`{"resource":"/a","token":"5","token":"6"}`:                                   reasonMalformed,
		`{"resource":"/a","resource":"/b","token":"5"}`:                               reasonMalformed,
		`{"resource":"/a","Token":"5"}`:                                               reasonMalformed,
		`{"reſource":"/a","token":"5"}`:                                               reasonMalformed, // folds to "resource"
		"{\"resource\":\"/\xff\",\"token\":\"5\"}":                                    reasonMalformed,
		`{"resource":"/a","token":"5",}`:                                              reasonMalformed,
		`{"resource":"/a","token":"5"}}`:                                              reasonMalformed,
		`{"resource":"/a","token":"5"} {}`:                                            reasonMalformed,
		`{"resource":"/a","token":"5"}]`:                                              reasonMalformed,
		`{"resource":"/a","token":"5"`:                                                reasonMalformed,
		`{"resource":"/a"}`:                                                           fence.TokenMissing,
		`{"resource":"/a","token":""}`:                                                fence.TokenMissing,
		`{"resource":"/a","token":"05"}`:                                              reasonTokenMalformed,
		`{"resource":"/a","token":"0"}`:                                               reasonTokenMalformed,
		`{"resource":"/a","token":" 5"}`:                                              reasonTokenMalformed,
		`{"resource":"/a","token":"-5"}`:                                              reasonTokenMalformed,
		`{"resource":"/a","token":"5,6"}`:                                             reasonTokenMalformed,
		`{"resource":"/a","token":"9007199254740992"}`:                                reasonTokenMalformed,
		`{"resource":"/a","token":"5","owner":""}`:                                    reasonOwnerMalformed,
		`{"resource":"/a","token":"5","owner":"S3cret 2"}`:                            reasonOwnerMalformed,
		`{"resource":"/a","token":"5","owner":"S3cret` + strings.Repeat("x", fence.MaxOwnerLen) + `"}`: reasonOwnerMalformed,
		`{"resource":"a","token":"5"}`:                                              reasonPath,
		`{"resource":"","token":"5"}`:                                               reasonPath,
		`{"resource":"/a/../b","token":"5"}`:                                        reasonPath,
		`{"resource":"/a?x","token":"5"}`:                                           reasonPath,
		`{"resources":["/a","/b//c"],"token":"5"}`:                                  reasonPath,
		`{"resource":"/` + strings.Repeat("a", fence.MaxPathLen) + `","token":"5"}`: reasonPathLong,
	} {
		token := ""
		if reason == reasonOwnerMalformed || reason == reasonPath || reason == reasonPathLong {
			token = "5"
		}
		w.says("POST "+claimsPath+"\n\n"+body, want{status: answers[reason].status, reason: reason, token: token})
	}
	w.says("POST "+claimsPath+"\nX-Fencing-Token: x\n\n{}", want{status: 400, reason: reasonTokenMalformed})
	w.says("POST "+claimsPath+"\nContent-Length: 1048577", want{status: 413, reason: reasonBodyLarge, closes: true})
	long := `{"resource":"/a","token":"5","client":"` + strings.Repeat("x", maxClaim) + `"}`
	w.says("POST "+claimsPath+"\nTransfer-Encoding: chunked\n\n"+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long),
		want{status: 413, reason: reasonBodyLarge}) // little of it was left unread
	w.says("PUT /a\nX-Fencing-Token: 1\n\nv", stored) // nothing was raised
	w.saw("PUT /a")
}

// Any web page can have a browser post a form or plain text, but no JSON.
func TestClaimsOfWebPages(t *testing.T) {
	w := open(t)
	claim := func(headers string, want want) {
		t.Helper()
		w.says("POST "+claimsPath+"\n"+headers+`

{"resource":"/a","token":"5"}`, want)
	}
	refused := want{status: 400, reason: reasonMalformed}
	for _, headers := range []string{
		"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Type: ",
		"Content-Type: text/plain; application/json", "Content-Type: application/jsonx", "Content-Type: application/json,text/plain",
		"Content-Type: application/json\nContent-Type: text/plain",
		"Origin: http://page.test", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
	} {
		claim(headers, refused)
	}
	w.recorded("/a", 0)
	for _, headers := range []string{
		"Content-Type: application/json", "content-type: Application/JSON ; charset=utf-8", "Sec-Fetch-Site: none", "Sec-Fetch-Site: same-origin",
	} {
		claim(headers, want{status: 200})
	}
	w.recorded("/a", 5)
	c := w.dial() // without a type at all
	c.raw("POST " + claimsPath + " HTTP/1.1\r\nHost: fence.test\r\nContent-Length: 2\r\n\r\n{}")
	if a := c.gets("POST "+claimsPath, refused); !strings.Contains(a.text, "-H 'Content-Type: application/json'") {
		t.Errorf("it does not say what to do:\n%s", a.text)
	}
}

func TestMarks(t *testing.T) {
	w := open(t, func(p *plan) { p.ledger = memoryWithGlobal(3) })
	mark := func(resource, answer string) {
		t.Helper()
		a := w.says("GET "+marksPath+"?resource="+resource, want{status: 200})
		got := compact(a.text)
		if i := strings.Index(got, `"since":"`); i >= 0 { // a time, which is checked for being one
			end := i + len(`"since":"`) + strings.Index(got[i+len(`"since":"`):], `"`)
			got = got[:i] + got[end+2:]
		}
		if got != answer {
			t.Errorf("the mark of %s is %s, want %s", resource, got, answer)
		}
	}
	mark("/a", `{"resource":"/a","token":"3","via":"global"}`)
	w.says("PUT /a\nX-Fencing-Token: 5\nX-Fencing-Owner: S3cret\nX-Fencing-Client: host/1\n\nv", stored)
	mark("/a", `{"resource":"/a","token":"5","client":"host/1","owner_sha256":"`+fence.Owner("S3cret").Digest()+`","via":"mark"}`)
	mark("/%61%2F"[:4], `{"resource":"/a","token":"5","client":"host/1","owner_sha256":"`+fence.Owner("S3cret").Digest()+`","via":"mark"}`)
	w.says("DELETE /d\nX-Fencing-Token: 7", stored)
	mark("/d/x", `{"resource":"/d/x","token":"7","via":"floor"}`)
	w.says("HEAD "+marksPath+"?resource=/a", want{status: 200})
	for _, query := range []string{"", "?resource", "?resource=/a&resource=/b", "?resource=/a&x=y", "?name=/a"} {
		reason := reasonMalformed
		if query == "?resource" {
			reason = reasonPath
		}
		w.says("GET "+marksPath+query, want{status: 400, reason: reason})
	}
	w.says("GET "+marksPath+"?resource=/a%2F..", want{status: 400, reason: reasonPath})
	w.says("GET "+marksPath+"?resource=/"+strings.Repeat("a", fence.MaxPathLen), want{status: 414, reason: reasonPathLong})
	w = open(t)
	mark("/none", `{"resource":"/none","token":"0"}`)
}
