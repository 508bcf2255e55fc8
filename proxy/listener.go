package proxy

import (
	"net"
	"sync"
)

// LimitConnections returns l with at most n connections accepted and not
// closed; more wait in the kernel's queue. Without a limit the last file
// descriptor would go to a stranger's connection instead of the ledger.
func LimitConnections(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	free := sync.OnceFunc(func() { <-l.slots })
	if tcp, ok := c.(*net.TCPConn); ok {
		return &limitedTCP{tcp, free}, nil
	}
	return &limitedConn{c, free}, nil
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedTCP keeps CloseWrite, and ReadFrom for sendfile.
type limitedTCP struct {
	*net.TCPConn
	free func()
}

func (c *limitedTCP) Close() error {
	err := c.TCPConn.Close()
	c.free()
	return err
}

type limitedConn struct {
	net.Conn
	free func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.free()
	return err
}
