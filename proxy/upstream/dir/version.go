package dir

import (
	"io/fs"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// info is what the store needs to know of a file.
type info struct {
	mode     fs.FileMode // type bits only
	size     int64       // bytes
	mtime    time.Time
	dev, ino uint64
}

func (i info) regular() bool        { return i.mode.IsRegular() }
func (i info) same(other info) bool { return i.dev == other.dev && i.ino == other.ino }

// etag is the strong entity tag of this version.
func (i info) etag() string {
	b := make([]byte, 0, 48)
	b = append(b, '"')
	b = strconv.AppendInt(b, i.mtime.UnixNano(), 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, i.size, 36)
	b = append(b, '-')
	b = strconv.AppendUint(b, i.ino, 36)
	return string(append(b, '"'))
}

// describe sets the validators of this version.
func (i info) describe(h http.Header) {
	h.Set("ETag", i.etag())
	h.Set("Last-Modified", i.mtime.UTC().Format(http.TimeFormat))
}

// clock gives out modification times. They strictly rise, in steps that the
// file system can store: a replaced file's inode number is soon used again, so
// two versions of one size written within a tick of the kernel's clock could
// otherwise have the same entity tag. Where the steps are coarse, times run
// ahead of the day's under load.
type clock struct {
	last atomic.Int64 // Unix nanoseconds
	step int64        // what the file system rounds to, nanoseconds
}

// next returns a time after every earlier one and after above (Unix
// nanoseconds).
func (c *clock) next(above int64) time.Time {
	for {
		last := c.last.Load()
		t := max(time.Now().UnixNano(), last+1, above+1)
		t = (t + c.step - 1) / c.step * c.step
		if c.last.CompareAndSwap(last, t) {
			return time.Unix(0, t)
		}
	}
}

// granularities are what file systems are known to round times down to.
var granularities = []time.Duration{1, 100, time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, 2 * time.Second}

// granularity tells from one time, as set and as read back, how finely the
// file system stores times.
func granularity(set, got time.Time) int64 {
	for _, g := range granularities {
		if set.Truncate(g).Equal(got) {
			return int64(g)
		}
	}
	return int64(2 * time.Second)
}
