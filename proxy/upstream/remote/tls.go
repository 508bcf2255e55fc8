package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsConfig reads the files that o names. It returns nil for http, and all
// faults together.
func (o Options) tlsConfig(p place) (*tls.Config, error) {
	if !p.secure {
		if o.CAFile != "" || o.ServerName != "" || o.CertFile != "" || o.KeyFile != "" {
			return nil, errors.New("certificates or a server name are given, but the store's URL is not https")
		}
		return nil, nil
	}
	config := &tls.Config{
		ServerName: p.name,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		// A connection serves one request, so full handshakes would be many.
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if o.ServerName != "" {
		config.ServerName = o.ServerName
	}
	var faults []error
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		config.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("CA file: %w", err))
		case !config.RootCAs.AppendCertsFromPEM(pem):
			faults = append(faults, fmt.Errorf("CA file %s holds no certificate in PEM", o.CAFile))
		}
	}
	switch {
	case o.CertFile == "" && o.KeyFile == "":
	case o.CertFile == "":
		faults = append(faults, fmt.Errorf("key file %s is given without its certificate file", o.KeyFile))
	case o.KeyFile == "":
		faults = append(faults, fmt.Errorf("certificate file %s is given without its key file", o.CertFile))
	default:
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			faults = append(faults, fmt.Errorf("certificate file %s with key file %s: %w", o.CertFile, o.KeyFile, err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, errors.Join(faults...)
}
