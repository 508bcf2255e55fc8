package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The cases here have no rate but a figure: memory, or allocations.

// measurePasses counts the allocations of a pass of the gate.
func measurePasses(ctx context.Context, c scene, s *server) (*measured, error) {
	n, err := tellToPass(ctx, s.addr, c.passes)
	return &measured{Figure: n}, err
}

// measureIdle tells the memory of a server beside clients that have each made a
// PUT, and have then been idle for as long as a run takes. In the end each makes
// another PUT over its connection: all have been there.
func measureIdle(ctx context.Context, c scene, s *server, l load) (*measured, error) {
	clients := make([]*idleClient, c.idle)
	defer func() {
		for _, client := range clients {
			if client != nil {
				client.conn.Close()
			}
		}
	}()
	err := atOnce(seeders, c.idle, func(i int) (err error) {
		if clients[i], err = connect(s.addr); err != nil {
			return err
		}
		return clients[i].put(l.pathOf(0, i), l.size)
	})
	if err != nil {
		return nil, wrongError{err}
	}
	select {
	case <-time.After(l.duration):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m, err := memory(s)
	if err != nil {
		return nil, err
	}
	if err := atOnce(seeders, c.idle, func(i int) error { return clients[i].put(l.pathOf(0, i), l.size) }); err != nil {
		return nil, wrongError{fmt.Errorf("after being idle: %w", err)}
	}
	return m, nil
}

// idleClient is a client with a connection of its own.
type idleClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func connect(addr string) (*idleClient, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &idleClient{conn, bufio.NewReaderSize(conn, 1<<10)}, nil
}

// put writes once, and keeps the connection.
func (c *idleClient) put(path string, size int) error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	request := fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: bench\r\nX-Fencing-Token: %d\r\nContent-Length: %d\r\n\r\n", path, token, size)
	if _, err := c.conn.Write(append(request, make([]byte, size)...)); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode/100 != 2 || res.Close {
		return fmt.Errorf("PUT %s is answered %s, and the connection closed: %v", path, res.Status, res.Close)
	}
	return nil
}

// measureMarks tells the memory of a server on a large ledger, after PUTs that raise
// its marks at random.
func measureMarks(ctx context.Context, c scene, s *server, l load) (*measured, error) {
	begin := time.Now().UnixMicro()
	var order atomic.Int64 // tokens rise: all PUTs are accepted
	err := atOnce(seeders, c.raises, func(i int) error {
		// Each has marks of its own, so that none comes too late.
		mark := i + c.raises*rand.IntN(c.marks/c.raises)
		status, reason, err := put(ctx, s.addr, markOf(mark).Key(), l.size, begin+order.Add(1))
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("a PUT of mark %d is answered %d %s", mark, status, reason)
		}
		return err
	})
	if err != nil {
		return nil, wrongError{err}
	}
	// It is the ledger with all those marks that the server has.
	last := markOf(c.marks - 1).Key()
	if status, reason, err := put(ctx, s.addr, last, l.size, firstMark-1); err != nil || status != http.StatusPreconditionFailed {
		return nil, wrongError{fmt.Errorf("a late write of a mark is answered %d %s, want 412: %v", status, reason, err)}
	}
	return memory(s)
}

func memory(s *server) (*measured, error) {
	bytes, err := anonymous(s.cmd.Process.Pid)
	return &measured{Figure: float64(bytes) / (1 << 20)}, err
}

// atOnce calls f with 0 to n-1, some at a time, and returns the errors.
func atOnce(some, n int, f func(i int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	var next atomic.Int64
	for range some {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(errs) > 0 {
		return fmt.Errorf("%d of %d have failed, such as %w", len(errs), n, errs[0])
	}
	return nil
}
