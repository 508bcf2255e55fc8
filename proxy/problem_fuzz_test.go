package proxy

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fencegate/fence"
)

// Whatever a refusal is about, it is JSON that reads back as it was meant
// (RFC 9457), and no header of it can be made to hold another.
func FuzzProblem(f *testing.F) {
	f.Add(uint8(0), "Nothing was sent.", "/reports/q3.csv", "/reports", uint64(33), uint64(34), int64(0), "id-1", true)
	f.Add(uint8(1), "\"\\\x00\xff\u2028<&>", "/%22%0A%5C", "", uint64(0), uint64(1<<63-1), int64(time.Millisecond), "a\r\nX-Fencing-Reason: none", false)
	f.Add(uint8(9), "", "/\u202e/é\xff", "/%F0%9F%92%A9", uint64(1), uint64(0), int64(-1), strings.Repeat("x", 65), true)
	reasons := slices.Sorted(maps.Keys(answers))
	f.Fuzz(func(t *testing.T, reason uint8, detail, path, root string, token, highest uint64, wait int64, id string, http11 bool) {
		ref := &Refusal{
			Reason: reasons[int(reason)%len(reasons)], Detail: detail, RetryAfter: time.Duration(wait),
			Token: fence.Token(token & uint64(fence.MaxToken)), Highest: fence.Token(highest & uint64(fence.MaxToken)),
		}
		ref.Resource, _ = fence.Canonical(path, fence.NameOptions{LiteralSemicolons: true}) // as of any path that is let in
		ref.FenceRoot, _ = fence.Canonical(root, fence.NameOptions{FoldCase: true})
		r := httptest.NewRequest("PUT", "/", nil)
		if !http11 {
			r.ProtoMinor = 0
		}
		r.Header["X-Request-Id"] = []string{id}
		w := httptest.NewRecorder()
		p := &Proxy{limits: BodyLimits{}.withDefaults()}
		p.newExchange(w, r).refuse(ref)

		var got problem
		d := json.NewDecoder(strings.NewReader(w.Body.String()))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil || !utf8.Valid(w.Body.Bytes()) {
			t.Fatalf("%v:\n%s", err, w.Body)
		}
		number := func(n fence.Token) string {
			if n == fence.NoToken {
				return ""
			}
			return strconv.FormatUint(uint64(n), 10)
		}
		want := problem{
			Type: "urn:fencegate:problem:" + string(ref.Reason), Title: answers[ref.Reason].title, Status: answers[ref.Reason].status,
			Detail: strings.ToValidUTF8(got.Detail, "x"), Reason: ref.Reason, Resource: ref.Resource.String(), FenceRoot: ref.FenceRoot.String(),
			Token: number(ref.Token), Highest: number(ref.Highest), RequestID: w.Header().Get("X-Request-Id"),
		}
		if utf8.ValidString(detail) {
			want.Detail = detail
		}
		if got != want || w.Code != want.Status || want.RequestID == "" {
			t.Fatalf("it reads %+v, status %d, want %+v", got, w.Code, want)
		}
		if h := w.Header(); h.Get(headerReason) != string(ref.Reason) || h.Get(headerHighest) != want.Highest || h.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("the header is %v", h)
		}
		if n, err := strconv.Atoi(w.Header().Get("Retry-After")); wait > 0 != (err == nil) || err == nil && (n < 1 || time.Duration(n)*time.Second < ref.RetryAfter) {
			t.Fatalf("Retry-After is %q for %v", w.Header().Get("Retry-After"), ref.RetryAfter)
		}
		for name, lines := range w.Header() {
			for _, line := range lines {
				if strings.ContainsAny(name+line, "\r\n\x00") {
					t.Fatalf("the header %q is %q", name, line)
				}
			}
		}
	})
}
