package dav

import (
	"bytes"
	"encoding/xml"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

var shop = Map{
	Public: Space{Origin: "https://pub.example:8443", Prefix: "/dav"},
	Store:  Space{Origin: "http://127.0.0.1:6065", Prefix: "/store"},
}

func TestHrefs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"no xml at all", "no xml at all"},
		{"<D:href>/store/a</D:href>", "<D:href>/dav/a</D:href>"},
		{"<href>/store</href>", "<href>/dav</href>"},
		{"<href>/store/</href>", "<href>/dav/</href>"},
		{"<href>http://127.0.0.1:6065/store/a%20b</href>", "<href>https://pub.example:8443/dav/a%20b</href>"},
		{"<href>http://elsewhere/store/a</href>", "<href>http://elsewhere/store/a</href>"},
		{"<href>/storehouse/a</href>", "<href>/storehouse/a</href>"},
		{"<href>/other</href>", "<href>/other</href>"},
		{"<href> \n/store/a\n</href>", "<href>/dav/a</href>"},
		{"<href>/store/a&amp;b&lt;</href>", "<href>/dav/a&amp;b&lt;</href>"},
		{"<lp1:href x='>' y=\">\">/store/a</lp1:href>", "<lp1:href x='>' y=\">\">/dav/a</lp1:href>"},
		{"<href\n>/store/a</href>", "<href\n>/dav/a</href>"},
		{"<href/>/store/a", "<href/>/store/a"},
		{"<hrefs>/store/a</hrefs>", "<hrefs>/store/a</hrefs>"},
		{"<!-- <href>/store/a</href> -->", "<!-- <href>/store/a</href> -->"},
		{"<!----->/<href>/store/a</href>", "<!----->/<href>/dav/a</href>"},
		{"<![CDATA[<href>/store/a]]]></href>]]><href>/store/b</href>", "<![CDATA[<href>/store/a]]]></href>]]><href>/dav/b</href>"},
		{"<!DOCTYPE x><href>/store/b</href>", "<!DOCTYPE x><href>/dav/b</href>"},
		{"<?xml version='1.0'?><href>/store/b</href>", "<?xml version='1.0'?><href>/dav/b</href>"},
		{"<href>/store/unfinished", "<href>/store/unfinished"},
		{"<href>/store/a<", "<href>/dav/a<"},
		{"<href></href>", "<href></href>"},
		{"\xff\xfe<\x00h\x00r\x00e\x00f\x00>\x00/\x00s", "\xff\xfe<\x00h\x00r\x00e\x00f\x00>\x00/\x00s"},
		{"<href>" + strings.Repeat("/store", maxHeld) + "</href>", "<href>" + strings.Repeat("/store", maxHeld) + "</href>"},
		{"<a b='" + strings.Repeat("x", 2*maxHeld) + "'><href>/store/b</href>", "<a b='" + strings.Repeat("x", 2*maxHeld) + "'><href>/dav/b</href>"},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
			var out bytes.Buffer
			h := NewHrefs(&out, shop)
			if _, err := io.Copy(struct{ io.Writer }{h}, r); err != nil {
				t.Fatal(err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("%s: %.80q became %.80q, want %.80q", name, c.in, out.String(), c.want)
			}
		}
	}
}

// However a body is cut into writes, it comes out the same, and as encoding/xml
// would have it.
func TestHrefsInPieces(t *testing.T) {
	body := `<?xml version="1.0"?><!-- c --><D:multistatus xmlns:D="DAV:">` +
		strings.Repeat(`<D:response><D:href>/store/a%20b&amp;c/</D:href><D:propstat a="x>y"/><![CDATA[ <D:href>]]></D:response>`, 20) + `</D:multistatus>`
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var out bytes.Buffer
		h := NewHrefs(&out, shop)
		for rest := body; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 40))
			if _, err := io.WriteString(h, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		var parsed struct {
			Hrefs []string `xml:"response>href"`
		}
		if err := xml.Unmarshal(out.Bytes(), &parsed); err != nil {
			t.Fatal(err)
		}
		if len(parsed.Hrefs) != 20 || parsed.Hrefs[19] != "/dav/a%20b&c/" {
			t.Fatalf("hrefs are %q", parsed.Hrefs)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestHrefsReportsErrors(t *testing.T) {
	for _, body := range []string{"text", "<a>", "<href>/store/a<", "<!-- x"} {
		h := NewHrefs(failing{}, shop)
		_, err := io.WriteString(h, body)
		if closing := h.Close(); err == nil && closing == nil {
			t.Errorf("%q: no error from a writer that fails", body)
		}
	}
}

func BenchmarkHrefs(b *testing.B) {
	body := []byte(strings.Repeat(`<D:response><D:href>/store/some/file-name.txt</D:href><D:propstat><D:prop><D:getcontentlength>1024</D:getcontentlength><D:getlastmodified>Mon, 30 Nov 2026 12:00:00 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`, 1000))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		h := NewHrefs(io.Discard, shop)
		_, _ = h.Write(body)
	}
}
