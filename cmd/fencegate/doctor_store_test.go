package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
)

// patient is a store in memory that does everything right, but for its
// complaints: what the doctor has to find.
type patient struct {
	complaints
	url string
	end func()

	mu       sync.Mutex
	objects  map[string]string // by key
	folders  map[string]bool
	pending  map[string]func() // effects that come after the next GET
	paths    []string          // of all requests
	arrivals func(method, path string)
}

type complaints struct {
	truncates         bool          // keeps what came of a broken upload
	truncatesReset    bool          // only of one that was reset
	inPlace           bool          // empties an object before its body has come
	lateBy            time.Duration // after which names with late- take effect
	answersFirst      bool          // PUT is answered before its effect
	accepts           bool          // with 202
	neverStores       bool
	keepsDeleted      bool
	key               func(string) string // of an escaped path
	putKey            func(string) string // the same for PUT only
	ignoresNoneMatch  bool
	ignoresMatch      bool
	createsTwice      bool
	noETag, oneETag   bool
	wrongRange        bool
	obeysOverride     bool
	obeysRerouting    bool
	ignoresOverwrite  bool
	losesDestination  bool
	copiesNothing     bool
	mkcolEmpties      bool
	needsParents      bool
	redirects         bool
	needsHeader       string
	largest           int64 // accepted body
	hiddenClose       int   // after so many requests
	idle              time.Duration
	http10            bool
	refusesExpect     bool
	refusesPUT        bool
	keepsFolderObject string // a name in the folder that cannot be deleted
	fenced            bool   // answers as a fencegate does
}

type served struct{}

func newPatient(t testing.TB, c complaints) *patient {
	t.Helper()
	p := &patient{
		complaints: c, objects: map[string]string{"/others": "theirs"}, folders: map[string]bool{}, pending: map[string]func(){},
	}
	if p.key == nil {
		p.key = func(s string) string { return s }
	}
	s := httptest.NewUnstartedServer(p)
	s.Config.IdleTimeout = c.idle
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, served{}, new(atomic.Int64))
	}
	s.Start()
	t.Cleanup(s.Close)
	p.url, p.end = s.URL, s.Close
	return p
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.EscapedPath()
	p.mu.Lock()
	p.paths = append(p.paths, name)
	arrived := p.arrivals
	p.mu.Unlock()
	if arrived != nil {
		arrived(r.Method, name)
	}
	if r.Method == http.MethodPut && p.largest > 0 && r.ContentLength > p.largest {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if p.refusesExpect && r.Header.Get("Expect") != "" {
		w.WriteHeader(http.StatusExpectationFailed)
		return
	}
	a := p.answer(r, name)
	count, _ := r.Context().Value(served{}).(*atomic.Int64)
	if p.http10 || p.hiddenClose > 0 && count.Add(1) >= int64(p.hiddenClose) {
		p.raw(w, a)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	io.WriteString(w, a.content)
}

// raw answers without what net/http would say of the connection, and ends it.
func (p *patient) raw(w http.ResponseWriter, a reply) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	version := "1.1"
	if p.http10 {
		version = "1.0"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/%s %d Status\r\n", version, a.status)
	if a.status != http.StatusNoContent {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(a.content))
	}
	_ = a.header.Write(&b)
	b.WriteString("\r\n" + a.content)
	_, _ = conn.Write(b.Bytes())
}

func (p *patient) answer(r *http.Request, name string) reply {
	key := p.key(name)
	no := func(status int) reply { return reply{status: status, header: http.Header{}} }
	if p.fenced {
		return reply{status: http.StatusPreconditionRequired, header: http.Header{"X-Fencing-Reason": {"token_missing"}}}
	}
	if p.needsHeader != "" && r.Header.Get("Authorization") != p.needsHeader {
		return no(http.StatusUnauthorized)
	}
	if p.redirects {
		return reply{status: http.StatusTemporaryRedirect, header: http.Header{"Location": {"http://" + r.Host + "/others/" + strings.ReplaceAll(r.Header.Get("Authorization"), " ", "%20") + "?key=" + r.Header.Get("Authorization")}}}
	}
	if p.obeysOverride {
		for _, h := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			if m := r.Header.Get(h); m != "" {
				r.Method = m
			}
		}
	}
	if other := r.Header.Get("X-Original-URL"); other != "" && p.obeysRerouting {
		key = p.key(other)
	}
	switch r.Method {
	case http.MethodPut:
		if p.putKey != nil {
			key = p.putKey(key)
		}
		return p.put(r, key)
	case http.MethodGet:
		return p.get(r, key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Method {
	case http.MethodDelete:
		found := false
		for _, k := range slices.Collect(maps.Keys(p.objects)) {
			if k == key || strings.HasPrefix(k, strings.TrimSuffix(key, "/")+"/") {
				found = true
				if !p.keepsDeleted && !(p.keepsFolderObject != "" && strings.HasSuffix(k, p.keepsFolderObject)) {
					delete(p.objects, k)
				}
			}
		}
		for k := range p.folders {
			if strings.HasPrefix(k+"/", strings.TrimSuffix(key, "/")+"/") {
				delete(p.folders, k)
				found = true
			}
		}
		if !found {
			return no(http.StatusNotFound)
		}
		return no(http.StatusNoContent)
	case "MKCOL":
		folder := strings.TrimSuffix(key, "/")
		if p.mkcolEmpties {
			maps.DeleteFunc(p.objects, func(k, _ string) bool { return strings.HasPrefix(k, folder+"/") })
		}
		if p.folders[folder] {
			return no(http.StatusMethodNotAllowed)
		}
		p.folders[folder] = true
		return no(http.StatusCreated)
	case "MOVE", "COPY":
		u, err := url.Parse(r.Header.Get("Destination"))
		if err != nil {
			return no(http.StatusBadRequest)
		}
		to := p.key(u.EscapedPath())
		content, there := p.objects[key]
		_, taken := p.objects[to]
		if p.losesDestination {
			delete(p.objects, to)
		}
		switch {
		case !there || key == to:
			return no(http.StatusForbidden)
		case taken && r.Header.Get("Overwrite") == "F" && !p.ignoresOverwrite:
			return no(http.StatusPreconditionFailed)
		}
		if !p.copiesNothing {
			p.objects[to] = content
		}
		if r.Method == "MOVE" {
			delete(p.objects, key)
		}
		return no(http.StatusCreated)
	}
	return no(http.StatusMethodNotAllowed)
}

func etag(content string) string {
	return fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content)))[:20] + `"`
}

func (p *patient) get(r *http.Request, key string) reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	content, there := p.objects[key]
	if effect := p.pending[key]; effect != nil {
		delete(p.pending, key)
		defer effect()
	}
	a := reply{status: http.StatusNotFound, header: http.Header{}}
	if !there {
		return a
	}
	a.status, a.content = http.StatusOK, content
	switch {
	case p.oneETag:
		a.header.Set("ETag", `"always"`)
	case !p.noETag:
		a.header.Set("ETag", etag(content))
	}
	if r.Header.Get("Range") == "bytes=2-4" {
		a.status, a.content = http.StatusPartialContent, content[2:5]
		if p.wrongRange {
			a.content = content[:3]
		}
	}
	return a
}

func (p *patient) put(r *http.Request, key string) reply {
	no := func(status int) reply { return reply{status: status, header: http.Header{}} }
	if p.refusesPUT {
		return no(http.StatusMethodNotAllowed)
	}
	if p.inPlace {
		p.set(key, "")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if p.truncates || p.truncatesReset && errors.Is(err, syscall.ECONNRESET) {
			p.set(key, string(body))
		}
		return no(http.StatusBadRequest)
	}
	p.mu.Lock()
	old, there := p.objects[key]
	switch {
	case r.Header.Get("If-None-Match") == "*" && there && !p.ignoresNoneMatch,
		r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag(old) && !p.ignoresMatch:
		p.mu.Unlock()
		return no(http.StatusPreconditionFailed)
	case p.needsParents && !p.folders[path.Dir(key)]:
		p.mu.Unlock()
		return no(http.StatusConflict)
	}
	effect := func() { p.objects[key] = string(body) }
	switch {
	case p.neverStores:
	case p.createsTwice && r.Header.Get("If-None-Match") == "*":
		p.mu.Unlock()
		time.Sleep(50 * time.Millisecond) // between looking and doing
		p.mu.Lock()
		effect()
	case p.lateBy > 0 && strings.Contains(key, "/late-"):
		p.mu.Unlock()
		time.Sleep(p.lateBy)
		p.mu.Lock()
		effect()
	case p.answersFirst && p.accepts:
		time.AfterFunc(20*time.Millisecond, func() { p.set(key, string(body)) })
	case p.answersFirst:
		p.pending[key] = effect
	default:
		effect()
	}
	p.mu.Unlock()
	switch {
	case p.accepts:
		return no(http.StatusAccepted)
	case there:
		return no(http.StatusNoContent)
	}
	return no(http.StatusCreated)
}

func (p *patient) set(key, content string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects[key] = content
}

// has lists what is stored, objects and folders.
func (p *patient) has() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(slices.Sorted(maps.Keys(p.objects)), slices.Sorted(maps.Keys(p.folders))...)
}

// Keys under which some stores find objects.
func collapsed(s string) string {
	for strings.Contains(s, "//") {
		s = strings.ReplaceAll(s, "//", "/")
	}
	return s
}

func decoded(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}

func decodedTwice(s string) string { return decoded(decoded(s)) }

func composed(s string) string   { return norm.NFC.String(decoded(s)) }
func compatible(s string) string { return norm.NFKC.String(decoded(s)) }

func cutAt(mark string) func(string) string {
	return func(s string) string { s, _, _ = strings.Cut(decoded(s), mark); return s }
}

func withoutEnd(end string) func(string) string {
	return func(s string) string { return strings.TrimRight(decoded(s), end) }
}
