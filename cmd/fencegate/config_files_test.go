package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
)

// writePair writes files that hold one certificate and its key.
func writePair(t testing.TB, paths ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for kind, content := range map[string][]byte{"CERTIFICATE": cert, "PRIVATE KEY": secret} {
		if err := pem.Encode(&text, &pem.Block{Type: kind, Bytes: content}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A good certificate with another one's key is a fault of the key.
func TestKeyOfAnotherCertificate(t *testing.T) {
	t.Chdir(t.TempDir())
	writePair(t, "one.pem")
	writePair(t, "other.pem")
	_, stderr, code := fencegate(t, "config", "print", "--upstream", "https://h", "--tls-cert", "one.pem", "--tls-key", "other.pem")
	if code != exitConfig || !strings.HasPrefix(stderr, `fencegate: --tls-key "other.pem": `) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%d %s", code, stderr)
	}
}
