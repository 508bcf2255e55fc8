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

// ahead reports whether the modification time is, in whole seconds, still to
// come.
func (i info) ahead(now time.Time) bool { return i.mtime.Unix() > now.Unix() }

// lastModified is the time for the field of that name, in whole seconds.
func (i info) lastModified(now time.Time) string {
	if i.ahead(now) { // RFC 9110 section 8.8.2.1
		return httpDate(now.Unix())
	}
	return httpDate(i.mtime.Unix())
}

// describe sets the validators of this version.
func (i info) describe(h http.Header) {
	h.Set("ETag", i.etag())
	h.Set("Last-Modified", i.lastModified(time.Now()))
}

// dates are some of those that were asked for, each in the place of its second:
// many files are of few seconds, or read often.
var dates [64]atomic.Pointer[date]

type date struct {
	second int64 // Unix
	text   string
}

func httpDate(second int64) string {
	place := &dates[uint64(second)%uint64(len(dates))]
	if known := place.Load(); known != nil && known.second == second {
		return known.text
	}
	fresh := &date{second, time.Unix(second, 0).UTC().Format(http.TimeFormat)}
	place.Store(fresh)
	return fresh.text
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

// next returns a time after every earlier one.
func (c *clock) next() time.Time {
	for {
		last := c.last.Load()
		t := c.storable(max(time.Now().UnixNano(), last+1))
		if c.last.CompareAndSwap(last, t) {
			return time.Unix(0, t)
		}
	}
}

// after returns a time for what replaces a version of that time. Where that
// version is ahead of the clock, only its object is: one file from the future
// must not date everything that is written afterwards.
func (c *clock) after(replaced time.Time) time.Time {
	if t := c.next(); t.After(replaced) {
		return t
	}
	return time.Unix(0, c.storable(replaced.UnixNano()+1))
}

// storable rounds a time up to what the file system can store.
func (c *clock) storable(t int64) int64 { return (t + c.step - 1) / c.step * c.step }

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
