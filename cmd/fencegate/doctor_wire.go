package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// A peer is a store that is looked at, by raw connections: what is sent, and
// where it ends, is known to the byte, and no redirect is followed. Safe for
// concurrent use.
type peer struct {
	url      string
	scheme   string
	name     string // of the host
	addr     string // host and port
	host     string // as a Host header
	prefix   string
	tls      *tls.Config // nil for http
	lines    []string    // headers
	patience time.Duration
}

// unreachableError: nobody answers, or not as an HTTP server that is trusted.
type unreachableError struct {
	url string
	err error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.url, e.err)
}
func (e *unreachableError) Unwrap() error { return e.err }

// newPeer takes a URL that setUpstream has accepted.
func newPeer(raw, ca string, lines []string, patience time.Duration) (*peer, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the URL cannot be read")
	}
	p := &peer{
		url: raw, scheme: u.Scheme, name: u.Hostname(), host: u.Host, lines: lines, patience: patience,
		prefix: strings.TrimSuffix(u.EscapedPath(), "/"),
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	p.addr = net.JoinHostPort(p.name, port)
	if u.Scheme != "https" {
		return p, nil
	}
	p.tls = &tls.Config{ServerName: p.name, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if ca == "" {
		return p, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	p.tls.RootCAs = x509.NewCertPool()
	if !p.tls.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca %s: expected certificates in PEM", ca)
	}
	return p, nil
}

// A wire is one connection. Whoever dialled it ends it, by close or reset. It
// does not end by itself with the examination: what was sent whole must be seen
// to its answer, or it would take effect after all has been cleared up.
type wire struct {
	peer *peer
	conn net.Conn // TLS or tcp
	tcp  *net.TCPConn
	in   *bufio.Reader
}

// dial connects. The error is an *unreachableError.
func (p *peer) dial(ctx context.Context) (*wire, error) {
	dialer := net.Dialer{Timeout: p.patience}
	conn, err := dialer.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, &unreachableError{p.url, err}
	}
	w := &wire{peer: p, conn: conn, tcp: conn.(*net.TCPConn)}
	if p.tls != nil {
		secure := tls.Client(conn, p.tls)
		w.allow(p.patience)
		if err := secure.HandshakeContext(ctx); err != nil {
			w.close()
			return nil, &unreachableError{p.url, err}
		}
		w.conn = secure
	}
	w.in = bufio.NewReader(w.conn)
	return w, nil
}

// close ends the connection in order (FIN), reset as a killed sender's (RST).
func (w *wire) close() { w.tcp.Close() }

func (w *wire) reset() {
	_ = w.tcp.SetLinger(0)
	w.close()
}

// allow gives what follows on the wire some time.
func (w *wire) allow(d time.Duration) {
	_ = w.tcp.SetDeadline(time.Now().Add(d))
}

// endWith ends a wire on which nothing is written with ctx.
func (w *wire) endWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, w.close)
}

// What a head says of the body, instead of its length.
const (
	noBody  = -1
	chunked = -2
)

// head is the head of a request for an escaped path below the store's URL.
func (p *peer) head(method, path string, size int64, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: fencegate-doctor\r\n", method, p.prefix, path, p.host)
	switch {
	case size >= 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", size)
	case size == chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	for _, line := range append(append([]string{}, p.lines...), more...) {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// chunk is s as one chunk of a body.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// send writes text, which may be the head of a request and more.
func (w *wire) send(text string) error {
	w.allow(w.peer.patience)
	_, err := io.WriteString(w.conn, text)
	return err
}

// reply is an answer with its body, of which it has as much as is looked at.
type reply struct {
	status  int
	http10  bool
	closes  bool // it says that the connection ends with it
	header  http.Header
	content string
}

// stored reports whether a write has succeeded, or will.
func (r reply) stored() bool { return r.status >= 200 && r.status < 300 }

// is reports whether it is the content that was asked for.
func (r reply) is(content string) bool { return r.status == http.StatusOK && r.content == content }

func (r reply) String() string {
	if location := r.header.Get("Location"); r.status/100 == 3 && location != "" {
		return fmt.Sprintf("%d to %s", r.status, withoutQuery(location))
	}
	return fmt.Sprint(r.status)
}

// mostContent is how much of an answer is read.
const mostContent = 4 << 20

// receive reads the final answer to a request, within d.
func (w *wire) receive(method string, d time.Duration) (reply, error) {
	w.allow(d)
	for {
		a, err := http.ReadResponse(w.in, &http.Request{Method: method})
		if err != nil {
			return reply{}, err
		}
		if a.StatusCode < 200 && a.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		r := reply{status: a.StatusCode, http10: !a.ProtoAtLeast(1, 1), closes: a.Close, header: a.Header}
		content, err := io.ReadAll(io.LimitReader(a.Body, mostContent))
		r.content = string(content)
		return r, err
	}
}

// ask sends one request on a connection of its own and returns its answer. Only
// a GET ends with ctx; other requests do not begin after it.
func (p *peer) ask(ctx context.Context, method, path string, body *string, more ...string) (reply, error) {
	w, err := p.dial(ctx)
	if err != nil {
		return reply{}, err
	}
	defer w.close()
	if method == http.MethodGet {
		defer w.endWith(ctx)()
	}
	size, text := int64(noBody), ""
	if body != nil {
		size, text = int64(len(*body)), *body
	}
	sent := w.send(p.head(method, path, size, append(more, "Connection: close")...) + text)
	r, err := w.receive(method, p.patience)
	if err != nil && sent != nil {
		err = sent // an early answer counts, though
	}
	if err != nil {
		return r, fmt.Errorf("%s is not answered: %w", method, err)
	}
	return r, nil
}
