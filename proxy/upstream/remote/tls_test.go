package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fencegate/fence"
)

// authority is a CA of a test's own.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}}
	pair := sign(t, a.cert, nil)
	a.key, a.cert = pair.PrivateKey.(*ecdsa.PrivateKey), pair.Leaf
	a.file, _ = save(t, pair)
	return a
}

// issue makes a certificate for a server or client.
func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	return sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
}

// sign returns template signed by a, or by itself.
func sign(t *testing.T, template *x509.Certificate, a *authority) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		a = &authority{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// save writes a certificate and its key to files.
func save(t *testing.T, pair tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", key)
}

func TestTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			ca := newAuthority(t)
			pool := x509.NewCertPool()
			pool.AddCert(ca.cert)
			config := &tls.Config{
				Certificates: []tls.Certificate{ca.issue(t, "store.example")}, MaxVersion: version,
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, NextProtos: []string{"h2", "http/1.1"},
			}
			s := listen(t, config, func(p *peer) {
				_, body := p.request()
				state := p.Conn.(*tls.Conn).ConnectionState()
				if state.ServerName != "store.example" || state.PeerCertificates[0].Subject.CommonName != "fencegate" || state.NegotiatedProtocol != "http/1.1" {
					t.Errorf("server name %q, client %v, protocol %q", state.ServerName, state.PeerCertificates[0].Subject, state.NegotiatedProtocol)
				}
				p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf(body) + "0\r\n\r\n")
				p.rest()
			})
			s.wants = 50 // resumed sessions among them
			certFile, keyFile := save(t, ca.issue(t, "fencegate"))
			u := open(t, "https://"+s.Addr().String(), Options{CAFile: ca.file, ServerName: "store.example", CertFile: certFile, KeyFile: keyFile})
			for range s.wants {
				body := large[:300_000]
				if got := u.try(t, request("POST", "/a"), body); got.outcome != fence.Definite || got.body != body {
					t.Fatalf("%.200s", got)
				}
			}
		})
	}
}

// Behind TLS, too, it is known what was sent before the answer came.
func TestTLSEarlyAndLost(t *testing.T) {
	ca := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "store.example")}}
	for name, c := range map[string]struct {
		script  func(*peer)
		status  int
		outcome fence.Outcome
	}{
		"early": {func(p *peer) { p.head(); p.say("HTTP/1.1 413 No\r\n" + whole); p.rest() }, 413, fence.Uncertain},
		"lost":  {func(p *peer) { p.request() }, 0, fence.Uncertain},
		"late":  {func(p *peer) { p.request(); p.say("HTTP/1.1 412 No\r\n" + whole); p.rest() }, 412, fence.Definite},
		// crypto/tls takes an end without TLS's own for one; anybody on the line
		// can make it.
		"cut": {func(p *peer) {
			p.request()
			p.say("HTTP/1.1 207 Multi-Status\r\n\r\ndone")
			p.Conn.(*tls.Conn).NetConn().Close()
		}, 207, fence.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, config, c.script)
			u := open(t, "https://"+s.Addr().String(), Options{CAFile: ca.file, ServerName: "store.example"})
			got := u.try(t, request("PUT", "/a"), large)
			status := 0
			if got.res != nil {
				status = got.res.StatusCode
			}
			if status != c.status || got.outcome != c.outcome {
				t.Errorf("%v; want %d, %v", got, c.status, c.outcome)
			}
		})
	}
}
