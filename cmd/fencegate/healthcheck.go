package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

type healthcheckCmd struct {
	Admin string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where serve's /readyz and /livez are (default ${default})."`
	Live  bool   `env:"-" help:"Ask only whether the process answers (/livez), not whether it takes requests (/readyz)."`
}

// healthTimeout is shorter than what container runtimes give by default.
const healthTimeout = 2 * time.Second

// Run asks once: 0 is healthy, 1 is not. Containers need no curl for it.
func (c *healthcheckCmd) Run(std streams) error {
	host, port, err := net.SplitHostPort(c.Admin)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--admin %q: expected HOST:PORT such as 127.0.0.1:8081", c.Admin)}
	}
	switch host { // where serve listens on all addresses, the loopback one is among them
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	url := "http://" + net.JoinHostPort(host, port) + "/readyz"
	if c.Live {
		url = strings.TrimSuffix(url, "readyz") + "livez"
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--admin %q: expected HOST:PORT such as 127.0.0.1:8081", c.Admin)}
	}
	res, err := (&http.Transport{}).RoundTrip(r) // past any proxy in the environment
	if err != nil {
		return &exitError{exitFailed, inOneLine(fmt.Errorf("%s does not answer: %w", url, err))}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("%s does not answer: %w", url, err)}
	}
	said := strings.Join(strings.Fields(string(text)), " ")
	if res.StatusCode != http.StatusOK {
		return &exitError{exitFailed, fmt.Errorf("%s: %s: %s", url, res.Status, said)}
	}
	_, err = fmt.Fprintln(std.out, said)
	return err
}
