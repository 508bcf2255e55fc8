package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// stalled are clients that have sent the head of a PUT and a few bytes of its
// body, and then nothing more, on resources of their own.
type stalled []*stalledClient

type stalledClient struct {
	conn net.Conn
	rest int // bytes that it still owes
}

// promised and delivered are the bytes of a stalled client's body.
const (
	promised  = 1 << 10
	delivered = 10
)

// stall connects n clients and waits until fencegate has what they have sent.
func stall(ctx context.Context, s *server, n int) (all stalled, err error) {
	defer func() {
		if err != nil {
			all.close()
		}
	}()
	before, err := idle(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range n {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return all, err
		}
		all = append(all, &stalledClient{conn, promised - delivered})
		if _, err := fmt.Fprintf(conn, "PUT /stalled/%d HTTP/1.1\r\nHost: %s\r\nX-Fencing-Token: %d\r\nContent-Length: %d\r\n\r\n%s",
			i, s.addr, token, promised, strings.Repeat("x", delivered)); err != nil {
			return all, err
		}
	}
	often := time.NewTicker(10 * time.Millisecond)
	defer often.Stop()
	late := time.After(patience)
	for {
		now, err := askMetrics(ctx, s)
		if err != nil {
			return all, err
		}
		rise := func(name string) int { return int(now[name] - before[name]) }
		if rise("fencegate_spool_bytes") >= n*delivered || rise("fencegate_inflight_writes") >= n {
			return all, nil
		}
		select {
		case <-often.C:
		case <-late:
			return all, fmt.Errorf("of %d stalled clients fencegate has %d bytes and %d writes in flight", n, rise("fencegate_spool_bytes"), rise("fencegate_inflight_writes"))
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

// idle waits until fencegate has no body and no write any more, such as the last
// ones of an earlier load, and returns its metrics.
func idle(ctx context.Context, s *server) (metrics, error) {
	often := time.NewTicker(10 * time.Millisecond)
	defer often.Stop()
	late := time.After(patience)
	for {
		m, err := askMetrics(ctx, s)
		if err != nil || m["fencegate_spool_bytes"] == 0 && m["fencegate_inflight_writes"] == 0 {
			return m, err
		}
		select {
		case <-often.C:
		case <-late:
			return nil, fmt.Errorf("fencegate still has %v bytes and %v writes of an earlier load", m["fencegate_spool_bytes"], m["fencegate_inflight_writes"])
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// finish shows that all are still connected: none has an answer yet, and each
// gets one by sending what it owes. It closes them.
func (all stalled) finish() error {
	defer all.close()
	for i, c := range all {
		if err := c.silent(); err != nil {
			return fmt.Errorf("stalled client %d: %w", i, err)
		}
	}
	for i, c := range all {
		if err := c.deliver(); err != nil {
			return fmt.Errorf("stalled client %d: %w", i, err)
		}
	}
	return nil
}

// silent reports an answer, or an end of the connection, that came too early.
func (c *stalledClient) silent() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	b := make([]byte, 200)
	switch n, err := c.conn.Read(b); {
	case n > 0:
		return fmt.Errorf("it got an answer while it was stalled: %q", b[:n])
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it lost its connection: %w", err)
	}
	return nil
}

func (c *stalledClient) deliver() error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.conn.Write([]byte(strings.Repeat("x", c.rest))); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(c.conn), nil)
	if err != nil {
		return fmt.Errorf("no answer to the whole body: %w", err)
	}
	res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the whole body was answered %s %s", res.Status, res.Header.Get("X-Fencing-Reason"))
	}
	return nil
}

func (all stalled) close() {
	for _, c := range all {
		c.conn.Close()
	}
}
