package front

import "strings"

// get and put are the beginnings of most seeds.
const (
	get = "GET / HTTP/1.1\r\nHost: h\r\n"
	put = "PUT /a HTTP/1.1\r\nHost: h\r\n"
	te  = put + "Transfer-Encoding: chunked\r\n"
)

// seeds are what attackers, old clients and the authors of RFC 9112 think of.
var seeds = []string{
	get + "\r\n", put + "Content-Length: 5\r\n\r\nhello", te + "\r\n5\r\nhello\r\n0\r\n\r\n",
	// Request lines.
	"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", " GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\r\n\r\n", "GET / http/1.1\r\nHost: h\r\n\r\n",
	"GET / HTTP/1.2\r\nHost: h\r\n\r\n", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "GET / HTTP/01.1\r\nHost: h\r\n\r\n",
	"GET / HTTP/1.1\nHost: h\n\n", "\r\n\r\n" + get + "\r\n", "\n\n\n\n\n" + get + "\r\n", "\r" + get + "\r\n", "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n",
	"G@T / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n",
	"GET //a/../b?x=;# HTTP/1.1\r\nHost: h\r\n\r\n", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n",
	"GET http://other/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://u:p@other:1/a?b HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://a\"b/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET http:a HTTP/1.1\r\nHost: h\r\n\r\n",
	"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT /a HTTP/1.1\r\nHost: h\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00",
	// Host.
	"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
	// Header lines.
	get + "A: b\r\n c\r\n\r\n", get + "A : b\r\n\r\n", get + " A: b\r\n\r\n", get + "A\r\n\r\n", get + ": b\r\n\r\n", get + "A:b\r\nA: c\r\na:\td \t\r\n\r\n",
	get + "A: b\rc\r\n\r\n", get + "A: b\r\r\n\r\n", get + "A:\rb\r\n\r\n", get + "A: \x00\r\n\r\n", get + "A: \x0b\r\n\r\n", get + "A: \x7f\r\n\r\n", get + "A: \xff\xfe\r\n\r\n",
	get + "Pragma: no-cache\r\n\r\n", get + "A(b): c\r\n\r\n", get + "Ä: c\r\n\r\n", get + "A: b\n\r\n", get + "A: b\n\n",
	// Connection.
	get + "Connection: close\r\n\r\n", get + "Connection: a, CLOSE\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
	// Content-Length.
	put + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", put + "Content-Length: 5, 5\r\n\r\nhello", put + "Content-Length: +5\r\n\r\nhello", put + "Content-Length: -5\r\n\r\n",
	put + "Content-Length: 0x5\r\n\r\nhello", put + "Content-Length: 1_0\r\n\r\nhello", put + "Content-Length: 05\r\n\r\nhello", put + "Content-Length:\r\n\r\n", put + "Content-Length: 5 5\r\n\r\nhello",
	put + "Content-Length: 9223372036854775808\r\n\r\n", put + "Content-Length: 18446744073709551621\r\n\r\nhello", put + "Content-Length : 5\r\n\r\nhello", put + "Content_Length: 5\r\n\r\nhello",
	put + "Content-Length: 5\r\r\n\r\nhello", put + "Content-Length: 9\r\n\r\nhello",
	// Transfer-Encoding.
	put + "transfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: chun\u212aed\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: chunked \t\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	put + "Transfer-Encoding: chunked\r\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding:\rchunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: xchunked\r\n\r\n",
	put + "Transfer-Encoding: identity\r\n\r\n", put + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding:\r\n\r\n",
	put + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
	put + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", te + "Content-Length: 5\r\n\r\n0\r\n\r\n", te + "Content-Length: x\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
	"PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
	// Chunks.
	te + "\r\n5;a=b\r\nhello\r\n0;c\r\n\r\n", te + "\r\n5 ;a\r\nhello\r\n0\r\n\r\n", te + "\r\n5 \t\r\nhello\r\n0\r\n\r\n", te + "\r\n 5\r\nhello\r\n0\r\n\r\n", te + "\r\n0x5\r\nhello\r\n0\r\n\r\n",
	te + "\r\n5\nhello\r\n0\r\n\r\n", te + "\r\n5\r\nhello\n0\r\n\r\n", te + "\r\n5;a\rb\r\nhello\r\n0\r\n\r\n", te + "\r\n5\r\r\nhello\r\n0\r\n\r\n", te + "\r\n5;a\n0\r\n\r\n", te + "\r\n4\r\nhello\r\n0\r\n\r\n",
	te + "\r\n6\r\nhello\r\n0\r\n\r\n", te + "\r\n\r\n", te + "\r\n;a\r\n\r\n", te + "\r\n-1\r\n\r\n", te + "\r\n5", te + "\r\n5\r\nhel", te + "\r\n5\r\nhello", te + "\r\n0\r\n", te + "\r\n00000000000000000\r\n\r\n", te + "\r\n00\r\n\r\n",
	te + "\r\n7fffffffffffffff\r\nx", te + "\r\nffffffffffffffff\r\nx", te + "\r\n10000000000000005\r\nhello\r\n0\r\n\r\n", te + "\r\n5\r\nhello\r\n0\r\n\r\n\r\n",
	te + "\r\n5;" + strings.Repeat("a", 4089) + "\r\nhello\r\n0\r\n\r\n", te + "\r\n5;" + strings.Repeat("a", 5000) + "\r\nhello\r\n0\r\n\r\n", te + "\r\n" + strings.Repeat("1;"+strings.Repeat("a", 900)+"\r\nx\r\n", 30) + "0\r\n\r\n",
	te + "\r\n" + strings.Repeat("1\r\nx\r\n", 3000) + "0\r\n\r\n",
	// Trailers.
	te + "Trailer: A, b,,\r\n\r\n0\r\nA: b\r\nB: c\r\nX: y\r\n\r\n", te + "Trailer:\r\n\r\n0\r\n\r\n", te + "Trailer: content-length\r\n\r\n0\r\n\r\n", te + "\r\n0\r\nA: b\r\n c\r\n\r\n", te + "\r\n0\r\nA : b\r\n\r\n", te + "\r\n0\r\nA: b\n\r\n",
	te + "\r\n0\r\nA: b\rc\r\n\r\n", te + "\r\n0\r\n" + strings.Repeat("A: b\r\n", 4000) + "\r\n", put + "Trailer: A\r\n\r\n",
	// Expect.
	put + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", put + "Expect: 100-CONTINUE\r\n\r\n", put + "Expect: x\r\n\r\n", put + "Expect:\r\n\r\n", "PUT / HTTP/1.0\r\nExpect: x\r\n\r\n",
	// Large heads.
	get + "A: " + strings.Repeat("b", 20000) + "\r\n\r\n", get + "A: " + strings.Repeat("b", 64<<10) + "\r\n\r\n", get + strings.Repeat("A: b\r\n", 300) + "\r\n",
}
