package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile limits a file of certificates, in bytes.
const maxFile = 8 << 20

// FileFault is what is wrong with the file that an option names.
type FileFault struct {
	Option string // CAFile, CertFile or KeyFile
	Err    error
}

func (f FileFault) Error() string {
	what := map[string]string{"CAFile": "CA file", "CertFile": "certificate file", "KeyFile": "key file"}
	return what[f.Option] + ": " + f.Err.Error()
}

// CheckFiles tells which of the files that o names Open could not use now. A
// certificate is looked at only beside its key.
func (o Options) CheckFiles() []FileFault { return o.loadFiles(new(tls.Config)) }

// loadFiles reads the files into config.
func (o Options) loadFiles(config *tls.Config) (faults []FileFault) {
	if o.CAFile != "" {
		text, err := readFile(o.CAFile)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s holds no certificate in PEM", o.CAFile)
		}
		if err != nil {
			faults = append(faults, FileFault{"CAFile", err})
		}
	}
	if o.CertFile == "" || o.KeyFile == "" {
		return faults
	}
	cert, certErr := readFile(o.CertFile)
	if certErr == nil {
		certErr = checkCert(o.CertFile, cert)
	}
	if certErr != nil {
		faults = append(faults, FileFault{"CertFile", certErr})
	}
	key, keyErr := readFile(o.KeyFile)
	if keyErr == nil && certErr == nil {
		var pair tls.Certificate
		if pair, keyErr = tls.X509KeyPair(cert, key); keyErr == nil {
			config.Certificates = []tls.Certificate{pair}
		}
	}
	if keyErr != nil {
		faults = append(faults, FileFault{"KeyFile", keyErr})
	}
	return faults
}

// checkCert looks for what a pair needs of its certificate, so that all other
// faults are those of the key.
func checkCert(path string, text []byte) error {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			if _, err := x509.ParseCertificate(block.Bytes); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s holds no certificate in PEM", path)
}

// readFile reads a regular file: a pipe could keep it waiting, and gives what
// it holds only once.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New(path + " is too large")
	}
	return text, err
}
