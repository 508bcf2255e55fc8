package remote

import (
	"crypto/tls"
	"errors"
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
		// Without, many connections that serve one request would be dear.
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if o.ServerName != "" {
		config.ServerName = o.ServerName
	}
	var faults []error
	for _, f := range o.loadFiles(config) {
		faults = append(faults, f)
	}
	switch {
	case o.CertFile == "" && o.KeyFile != "":
		faults = append(faults, errors.New("a key file is given without its certificate file"))
	case o.CertFile != "" && o.KeyFile == "":
		faults = append(faults, errors.New("a certificate file is given without its key file"))
	}
	return config, errors.Join(faults...)
}
