package proxy

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fencegate/fence"
)

// A refusal is one record that tells who is fenced, by whom, and since when.
func TestRefusalIsLogged(t *testing.T) {
	w := open(t)
	w.says("PUT /a\nX-Fencing-Token: 34\nX-Fencing-Owner: S3cretA\nX-Fencing-Client: new/2\n\nv", stored)
	a := w.says("PUT /a\nX-Fencing-Token: 33\nX-Fencing-Owner: S3cretB\nX-Fencing-Client: old/1\nX-Request-Id: trace-7\n\nv",
		want{status: 412, reason: fence.StaleToken, resource: "/a", token: "33", highest: "34"})
	if got := a.Header.Get("X-Request-Id"); got != "trace-7" {
		t.Errorf("X-Request-Id is %q, want the client's", got)
	}
	records := w.log.refused("refused", "stale_token")
	if len(records) != 1 {
		t.Fatalf("%d records, want 1:\n%s", len(records), w.log.text())
	}
	record := records[0]
	for key, want := range map[string]any{
		"level": "WARN", "reason": "stale_token", "resource": "/a", "token": "33", "highest": "34", "route": "default", "status": 412.0,
		"holder": "new/2", "holder_owner_sha256": fence.Owner("S3cretA").Digest(), "client": "old/1", "request_id": "trace-7",
	} {
		if record[key] != want {
			t.Errorf("%s is %v, want %v", key, record[key], want)
		}
	}
	since, err := time.Parse(time.RFC3339Nano, fmt.Sprint(record["since"]))
	if age := time.Since(since); err != nil || age < 0 || age > time.Minute {
		t.Errorf("since is %v (%v), want just now", record["since"], err)
	}
	if remote := fmt.Sprint(record["remote"]); !strings.HasPrefix(remote, "127.0.0.1:") {
		t.Errorf("remote is %q", remote)
	}
}

// A claim's client is in its body.
func TestRefusedClaimIsLogged(t *testing.T) {
	w := open(t)
	w.claims(`{"resource":"/a","token":"5","client":"new/2"}`, `{"resources":[{"resource":"/a","covers":"object"}],"token":"5","ledger":"ledger-1"}`)
	w.says("POST "+claimsPath+"\n\n"+`{"resource":"/a","token":"4","client":"old/1"}`,
		want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
	records := w.log.refused("refused", "stale_token")
	if len(records) != 1 || records[0]["client"] != "old/1" || records[0]["holder"] != "new/2" || records[0]["route"] != "default" {
		t.Errorf("records %v", records)
	}
}

// What a client names itself cannot break the log, and an id that is not fit
// for it is replaced.
func TestClientsTextIsTamed(t *testing.T) {
	w := open(t)
	w.says("PUT /a\nX-Fencing-Client: a\tb"+strings.Repeat("é", 200)+"\nX-Request-Id: "+strings.Repeat("x", 65)+"\n\nv", missing)
	w.says("PUT /b\nX-Request-Id: two words\n\nv", want{status: 428, reason: fence.TokenMissing, resource: "/b"})
	for _, record := range w.log.refused("refused", "token_missing") {
		if client, ok := record["client"].(string); ok && (len(client) > fence.MaxClientLen || !strings.HasPrefix(client, "a?b")) {
			t.Errorf("client is %q", client)
		}
		if id := fmt.Sprint(record["request_id"]); len(id) != 16 {
			t.Errorf("request_id is %q, want one of ours", id)
		}
	}
}

// Repeats are counted, and told at the end of each window.
func TestRepeatsAreSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := new(logbook)
		l := newRefusals(slog.New(slog.NewJSONHandler(book, nil)))
		refuse := func(resource string) {
			l.add(cause{"stale_token", resource, "old/1"}, []slog.Attr{slog.String("reason", "stale_token"), slog.String("resource", resource)})
		}
		wants := func(first, again int, repeats ...float64) {
			t.Helper()
			synctest.Wait()
			firsts, agains := book.refused("refused", "stale_token"), book.refused("refused again", "stale_token")
			if len(firsts) != first || len(agains) != again {
				t.Fatalf("%d records and %d summaries, want %d and %d:\n%s", len(firsts), len(agains), first, again, book.text())
			}
			for i, n := range repeats {
				if agains[i]["repeats"] != n {
					t.Errorf("summary %d tells %v repeats, want %v", i, agains[i]["repeats"], n)
				}
			}
		}
		for range 100 {
			refuse("/a")
		}
		refuse("/b")
		wants(2, 0)
		time.Sleep(l.window)
		wants(2, 1, 99)
		refuse("/a") // the next window has begun
		refuse("/b") // that of /b has passed without a repeat
		wants(3, 1)
		time.Sleep(l.window)
		wants(3, 2, 99, 1)
		time.Sleep(l.window)
		wants(3, 2)
		refuse("/a")
		refuse("/a")
		wants(4, 2)
		l.close() // tells the rest
		wants(4, 3, 99, 1, 1)
		refuse("/a")
		refuse("/a") // nobody will come to sum up
		wants(6, 3)
	})
}

// However many causes there are, the memory for them is bounded.
func TestCausesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := new(logbook)
		l := newRefusals(slog.New(slog.NewJSONHandler(book, nil)))
		causes := 0
		for range 3 * maxCauses / 2 / maxTold {
			for range maxTold {
				c := cause{"stale_token", fmt.Sprint("/", causes), ""}
				for range 2 { // what repeats itself is kept for a second window
					l.add(c, []slog.Attr{slog.String("reason", "stale_token")})
				}
				causes++
			}
			time.Sleep(time.Second)
		}
		n := len(book.refused("refused", "stale_token"))
		if n != causes || len(l.repeats) != maxCauses {
			t.Errorf("%d records and %d causes, want %d and %d", n, len(l.repeats), causes, maxCauses)
		}
		l.close()
	})
}

// More than the log can take is counted by reason.
func TestFastRefusalsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := new(logbook)
		l := newRefusals(slog.New(slog.NewJSONHandler(book, nil)))
		sums := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for line := range strings.Lines(book.text()) {
				if _, counts, ok := strings.Cut(line, `"counts":`); ok {
					got = append(got, strings.TrimSuffix(counts, "}\n"))
				}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("summed up as %q, want %q", got, want)
			}
		}
		flood := func(reason string, n int) {
			for i := range n {
				l.add(cause{reason, fmt.Sprint(reason, time.Now(), i), ""}, []slog.Attr{slog.String("reason", reason)})
			}
		}
		flood("stale_token", maxTold-1)
		flood("token_missing", 1)
		time.Sleep(time.Second)
		sums()
		flood("stale_token", maxTold+7)
		flood("token_missing", 5)
		sums()
		time.Sleep(time.Second)
		sums(`{"stale_token":7,"token_missing":5}`)
		if n := len(book.refused("refused", "stale_token")); n != 2*maxTold-1 {
			t.Errorf("%d records, want %d", n, 2*maxTold-1)
		}
		flood("stale_token", maxTold+1)
		l.close()
		sums(`{"stale_token":7,"token_missing":5}`, `{"stale_token":1}`)
	})
}

// What clients make up is cut for the log.
func TestLongTextIsCut(t *testing.T) {
	w := open(t)
	long := "/" + strings.Repeat("é", 1000)
	w.says("PUT "+long+"\n\nv", want{status: 428, reason: fence.TokenMissing, resource: long})
	w.says("PUT /a//\nX-Fencing-Token: "+strings.Repeat("5", 5000)+"\n\nv", want{status: 400, reason: reasonPath})
	for record := range strings.Lines(w.log.text()) {
		if len(record) > 1000 {
			t.Errorf("a record of %d bytes: %s", len(record), record)
		}
	}
	record := w.log.refused("refused", "token_missing")[0]
	if got := fmt.Sprint(record["resource"]); len(got) > maxLogged || !strings.HasPrefix(got, "/éé") || !strings.HasSuffix(got, "é…") {
		t.Errorf("the resource is %q", got)
	}
}

// What the log remembers of a request keeps no more of it in memory: its strings
// are pieces of one head, which strangers can make long.
func TestLogKeepsNoHead(t *testing.T) {
	const requests, length = 64, 60 << 10
	w := open(t)
	w.says("PUT /a\nX-Fencing-Token: 34\n\nv", stored)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have goes with the second one
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range 2 { // refused, and again
		for i := range requests {
			w.says(fmt.Sprintf("PUT /a\nX-Fencing-Token: 33\nX-Fencing-Client: old/%d\nX-Request-Id: trace-7\nLong: %s\n\nv", i, strings.Repeat("x", length)),
				want{status: 412, reason: fence.StaleToken, resource: "/a", token: "33", highest: "34"})
		}
		if kept := heap() - before; kept > requests*length/4 {
			t.Errorf("after %d requests with a head of %d bytes each %d bytes are kept", requests, length, kept)
		}
	}
}
