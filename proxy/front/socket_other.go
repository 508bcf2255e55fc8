//go:build !unix || aix

package front

// reading is not needed here: net reads.
type reading struct{ once func(fd uintptr) bool }

func (c *conn) readOnce(uintptr) bool { return true }

func (c *conn) readRaw(b []byte) (int, error) { return c.readPlain(b) }

// writing is not needed either.
type writing struct{ all func(fd uintptr) bool }

func (c *conn) writeAllOf(uintptr) bool { return true }

func (c *conn) writeRaw(b []byte) (int, error) { return c.socket.Write(b) }
