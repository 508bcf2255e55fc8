//go:build !unix

package front

// reading is not needed here: net reads.
type reading struct{ once func(fd uintptr) bool }

func (c *conn) readOnce(uintptr) bool { return true }

func (c *conn) readRaw(b []byte) (int, error) { return c.readPlain(b) }
