package dav

import (
	"fmt"
	"net/http"
	"time"
)

// MaxTimeout is how long a lock may be asked for. Those who crash leave it
// behind, and the next one to be let in finds the object locked.
const MaxTimeout = time.Hour

// CapTimeout returns the Timeout header that asks for what h asks for, but for no
// more than MaxTimeout. Without one servers lock for ever.
func CapTimeout(h http.Header) string {
	t := ParseTimeout(h, MaxTimeout)
	if t == 0 {
		t = MaxTimeout
	}
	return fmt.Sprintf("Second-%d", t/time.Second)
}
