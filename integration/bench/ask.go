package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is for everything but the load.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: seeders}}

func get(ctx context.Context, url string) (status int, body string, err error) {
	return ask(ctx, http.MethodGet, url, nil)
}

func post(ctx context.Context, url string, body []byte) (status int, answer string, err error) {
	return ask(ctx, http.MethodPost, url, body)
}

func ask(ctx context.Context, method, url string, body []byte) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// put writes size bytes and returns the status and fencegate's reason.
func put(ctx context.Context, addr, path string, size int, token int64) (status int, reason string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+path, bytes.NewReader(make([]byte, size)))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("X-Fencing-Token", strconv.FormatInt(token, 10))
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("X-Fencing-Reason"), err
}

// seeders is how many connections, at most, write the first token of each path.
const seeders = 32

// seed writes every path of the load once, so that the measured writes find
// their marks made.
func seed(ctx context.Context, s *server, l load, token int64) error {
	each := l.paths / l.threads
	err := atOnce(min(seeders, l.conns), each*l.threads, func(i int) error {
		path := l.pathOf(i/each, i%each)
		status, reason, err := put(ctx, s.addr, path, l.size, token)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("PUT %s is answered %d %s", path, status, reason)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("before any load: %w", err)
	}
	return nil
}

// prefix is what the paths of a load begin with. Loads of several sizes on one
// server do not share paths, since they may be read.
func (l load) prefix() string { return fmt.Sprintf("/bench/%d", l.size) }

// pathOf is how load.lua names paths.
func (l load) pathOf(thread, i int) string { return fmt.Sprintf("%s/t%d/%d", l.prefix(), thread, i) }

// stock is what the sink has stored.
type stock struct{ writes, bytes int64 }

func askSink(ctx context.Context, addr string) (s stock, err error) {
	status, body, err := get(ctx, "http://"+addr+countPath)
	if err != nil {
		return s, err
	}
	if _, err := fmt.Sscanf(body, "%d %d", &s.writes, &s.bytes); err != nil || status != http.StatusOK {
		return s, fmt.Errorf("the sink does not tell its counts: %d %q %w", status, body, err)
	}
	return s, nil
}

// quietSink waits until nothing is stored any more for a while: wrk leaves
// without its last answers, and those requests go on for a moment.
func quietSink(ctx context.Context, addr string, while time.Duration) (stock, error) {
	often := time.NewTicker(while)
	defer often.Stop()
	last, err := askSink(ctx, addr)
	for err == nil {
		select {
		case <-often.C:
		case <-ctx.Done():
			return last, ctx.Err()
		}
		before := last
		if last, err = askSink(ctx, addr); last == before {
			break
		}
	}
	return last, err
}

// metrics are the values of fencegate's counters and gauges, by name and labels
// as they are printed.
type metrics map[string]float64

func askMetrics(ctx context.Context, s *server) (metrics, error) {
	status, body, err := get(ctx, "http://"+s.admin+"/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the metrics answer %d", status)
	}
	if err != nil {
		return nil, err
	}
	return parseMetrics(body)
}

func parseMetrics(text string) (metrics, error) {
	m := metrics{}
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		line := in.Text()
		if !strings.HasPrefix(line, "fencegate_") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if at < 0 || err != nil {
			return nil, fmt.Errorf("a metric without a value: %q", line)
		}
		m[line[:at]] = value
	}
	if len(m) == 0 {
		return nil, errors.New("no metrics of fencegate's")
	}
	return m, in.Err()
}

// sum adds up the metrics with all these in their names or labels.
func (m metrics) sum(parts ...string) (total float64) {
	for name, value := range m {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(name, part)
		}
		if has {
			total += value
		}
	}
	return total
}
