package proxy

import (
	"strings"
	"testing"

	"fencegate/fence"
)

func TestMalformedTokens(t *testing.T) {
	w := open(t)
	for _, headers := range []string{
		"X-Fencing-Token: 5\nX-Fencing-Token: 5",
		"X-Fencing-Token: 5\nx-fencing-token: 6",
		"X-Fencing-Token: 5, 6",
		"X-Fencing-Token: 5,",
		"X-Fencing-Token:",
		"X-Fencing-Token: +5",
		"X-Fencing-Token: -5",
		"X-Fencing-Token: 05",
		"X-Fencing-Token: 0",
		"X-Fencing-Token: 5 6",
		"X-Fencing-Token: 0x5",
		"X-Fencing-Token: 5.0",
		"X-Fencing-Token: 5e3",
		"X-Fencing-Token: \"5\"",
		"X-Fencing-Token: 9007199254740992", // above 2^53−1
		"X-Fencing-Token: 9223372036854775808",
		"X-Fencing-Token: 18446744073709551617", // 1 modulo 2^64
		"X-Fencing-Token: 99999999999999999999999999999999999999999999999999",
		"X-Fencing-Token: ٥",      // Arabic-Indic
		"X-Fencing-Token: \uff15", // full width
		"X-Fencing-Token: 5\xa0",
		"X_Fencing_Token: 5",
		"X-Fencing_Token: 5",
		"x_fencing-token: 5",
		"X-Fencing-Token: 5\nX_Fencing_Token: 6",
		"X-Fencing-Token: 5\nConnection: X-Fencing-Token",
		"X-Fencing-Token: 5\nConnection: close, x-fencing-token",
		"X-Fencing-Token: 5\nConnection: X_Fencing_Token",
		"X-Fencing-Token: 5\nConnection: x-fencing-client",
		"X-Fencing-Token: 5\nTrailer: X-Fencing-Token",
		"X-Fencing-Token: 5\nTrailer: etag, x-fencing-token",
		"X-Fencing-Token: 5\nTransfer-Encoding: chunked\nTrailer: X-Fencing-Token",
		"X-Fencing-Token: 5\nTransfer-Encoding: chunked\nTrailer: X_Fencing_Token",
		"X-Fencing-Token-Destination: 5",
	} {
		body := "v"
		if strings.Contains(headers, "chunked") {
			body = "1\r\nv\r\n0\r\n\r\n"
		}
		w.says("PUT /a\n"+headers+"\n\n"+body, want{
			status: 400, reason: reasonTokenMalformed, resource: "/a",
			closes: strings.Contains(headers, "Connection: close"),
		})
	}
	w.saw()
	w.says("PUT /a\nX-Fencing-Token: 9007199254740991\n\nv", stored)
	w.saw("PUT /a")
}

func TestMalformedOwners(t *testing.T) {
	w := open(t)
	for _, header := range []string{
		"X-Fencing-Owner: S3cret\nX-Fencing-Owner: S3cret",
		"X-Fencing-Owner:",
		"X-Fencing-Owner: S3cret two",
		"X-Fencing-Owner: S3crét",
		"X-Fencing-Owner: S3cret" + strings.Repeat("x", fence.MaxOwnerLen),
		"X_Fencing_Owner: S3cret",
		"X-Fencing-Owner: S3cret\nConnection: X-Fencing-Owner",
		"X-Fencing-Owner: S3cret\nTrailer: X-Fencing-Owner",
		"X-Fencing-Owner-Destination: S3cret",
	} {
		malformed := want{status: 400, reason: reasonOwnerMalformed, resource: "/a"}
		if !strings.Contains(header, "Connection") && !strings.Contains(header, "Trailer") && !strings.Contains(header, "_") {
			malformed.token = "5" // which had been read before
		}
		w.says("PUT /a\nX-Fencing-Token: 5\n"+header+"\n\nv", malformed)
	}
	w.saw()
}

// A trailer that nobody announced is found only when the body has ended. The
// mark stays, nothing reaches the store.
func TestUnannouncedTrailer(t *testing.T) {
	w := open(t)
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n1\r\nv\r\n0\r\nX-Fencing-Token: 6\r\n\r\n",
		want{status: 400, reason: reasonTokenMalformed, resource: "/a", token: "5"})
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n1\r\nv\r\n0\r\nx_fencing_owner: S3cret\r\n\r\n",
		want{status: 400, reason: reasonOwnerMalformed, resource: "/a", token: "5"})
	w.saw()
	w.says("PUT /a\nX-Fencing-Token: 5\nTransfer-Encoding: chunked\n\n1\r\nv\r\n0\r\nEtag: x\r\n\r\n", stored)
	w.saw("PUT /a")
}

func TestMalformedRequests(t *testing.T) {
	w := open(t)
	for _, headers := range []string{
		"X-HTTP-Method-Override: DELETE",
		"x-http-method-override: PUT",
		"X-HTTP-Method: MERGE",
		"X-Method-Override: DELETE",
		"X_HTTP_Method_Override: DELETE",
		"X_Method-Override: DELETE",
		"Connection: If-Match",
		"Connection: keep-alive, if-none-match",
		"Connection: Content-Type",
		"Connection: Host",
		"Connection: Authorization",
		"Connection: Range",
	} {
		for _, method := range []string{"PUT", "GET", "DELETE"} {
			w.says(method+" /a\nX-Fencing-Token: 5\n"+headers, want{status: 400, reason: reasonMalformed, resource: "/a"})
		}
	}
	w.says("PUT /a\nX-Fencing-Token: 5\nContent-Range: bytes 0-0/9\n\nv", want{status: 400, reason: reasonMalformed, resource: "/a", token: "5"})
	for _, target := range []string{"nonsense:a", "x:/://a", "ftp://fence.test/a"} {
		w.says("GET "+target, want{status: 400, reason: reasonMalformed})
	}
	w.saw()
}

func TestBrokenBodies(t *testing.T) {
	broken := want{status: 400, reason: reasonMalformed, resource: "/a", token: "5", closes: true}
	for _, c := range []struct{ name, head, body string }{
		{"shorter than declared", "Content-Length: 10", "short"},
		{"nothing of what was declared", "Content-Length: 10", ""},
		{"a chunk ends early", "Transfer-Encoding: chunked", "a\r\nshort"},
		{"the last chunk is missing", "Transfer-Encoding: chunked", "5\r\nshort\r\n"},
		{"no chunk", "Transfer-Encoding: chunked", "not a chunk\r\n\r\n"},
		{"a chunk without its end", "Transfer-Encoding: chunked", "2\r\nabc\r\n0\r\n\r\n"},
		{"a negative chunk", "Transfer-Encoding: chunked", "-1\r\nabc\r\n0\r\n\r\n"},
		{"a chunk too large for a number", "Transfer-Encoding: chunked", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"},
	} {
		for _, stages := range []bool{false, true} {
			var s *fakeStager
			var changes []func(*plan)
			name := c.name
			if stages {
				name, changes = name+", store stages", append(changes, staging(&s))
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := open(t, changes...)
				conn := w.dial()
				request := "PUT /a\nX-Fencing-Token: 5\n" + c.head
				conn.raw(message(request) + c.body)
				conn.endSending()
				conn.gets(request, broken)
				w.ended()
				w.saw()
				w.says("PUT /a\nX-Fencing-Token: 4\n\nv", want{status: 412, reason: fence.StaleToken, resource: "/a", token: "4", highest: "5"})
				if stages {
					s.wants(t, 0, 0, 0)
				}
			})
		}
	}
}
