package dir

import (
	"encoding/xml"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"fencegate/proxy/protocol/dav"
)

// entry is an object or directory as properties tell of it.
type entry struct {
	path  string // decoded, from the root; ends in a slash if it is a directory
	now   info
	locks []davLock
}

// liveProps are the properties that the store knows by itself, and that nobody
// can set. A value is nil where the entry has no such property.
var liveProps = []struct {
	local string
	value func(entry) []byte
}{
	{"resourcetype", func(e entry) []byte {
		if e.now.mode.IsDir() {
			return []byte("<D:resourcetype><D:collection/></D:resourcetype>")
		}
		return []byte("<D:resourcetype/>")
	}},
	{"getcontentlength", func(e entry) []byte {
		if !e.now.regular() {
			return nil
		}
		return dav.Text("getcontentlength", strconv.FormatInt(e.now.size, 10))
	}},
	{"getlastmodified", func(e entry) []byte {
		h := http.Header{}
		e.now.describe(h)
		return dav.Text("getlastmodified", h.Get("Last-Modified"))
	}},
	{"getetag", func(e entry) []byte {
		if !e.now.regular() {
			return nil
		}
		return dav.Text("getetag", e.now.etag())
	}},
	// As GET sends it where the name tells; elsewhere GET looks into the content.
	{"getcontenttype", func(e entry) []byte {
		kind := mime.TypeByExtension(path.Ext(e.path))
		if !e.now.regular() || kind == "" {
			return nil
		}
		return dav.Text("getcontenttype", kind)
	}},
	{"supportedlock", func(entry) []byte { return []byte(supportedLocks) }},
	{"lockdiscovery", func(e entry) []byte { return discovery(e.locks, time.Now()) }},
}

const supportedLocks = "<D:supportedlock>" +
	"<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>" +
	"<D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>" +
	"</D:supportedlock>"

// live returns the value of a live property; ok is false for a name that is none.
func (e entry) live(name xml.Name) (value []byte, ok bool) {
	if name.Space != dav.Namespace {
		return nil, false
	}
	for _, p := range liveProps {
		if p.local == name.Local {
			return p.value(e), true
		}
	}
	return nil, false
}

func isLive(name xml.Name) bool {
	for _, p := range liveProps {
		if name.Space == dav.Namespace && name.Local == p.local {
			return true
		}
	}
	return false
}

// discovery is the property lockdiscovery.
func discovery(found []davLock, now time.Time) []byte {
	b := []byte("<D:lockdiscovery>")
	for _, l := range found {
		scope, depth := "exclusive", "0"
		if l.shared {
			scope = "shared"
		}
		if l.infinite {
			depth = "infinity"
		}
		b = append(b, "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:"+scope+"/></D:lockscope><D:depth>"+depth+"</D:depth>"...)
		b = append(b, l.owner...)
		b = append(b, dav.Text("timeout", "Second-"+strconv.Itoa(int(l.end.Sub(now).Round(time.Second)/time.Second)))...)
		b = append(b, "<D:locktoken>"...)
		b = append(b, dav.Text("href", l.token)...)
		b = append(b, "</D:locktoken><D:lockroot>"...)
		b = append(b, dav.Text("href", dav.EscapePath(l.path))...)
		b = append(b, "</D:lockroot></D:activelock>"...)
	}
	return append(b, "</D:lockdiscovery>"...)
}
