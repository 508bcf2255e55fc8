package dir

import (
	"encoding/xml"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fencegate/proxy/protocol/dav"
)

// propfind answers PROPFIND, entry by entry as the directory is read, so that
// its size does not matter.
func (d *Dir) propfind(w http.ResponseWriter, r *http.Request) error {
	n, err := readable(r.URL.Path)
	if err != nil {
		return err
	}
	depth, err := dav.ParseDepth(r.Header, dav.Infinity)
	if err != nil {
		return badRequest(err)
	}
	var body io.Reader = http.NoBody
	if r.Body != nil {
		body = r.Body
	}
	asked, err := dav.ReadPropfind(body)
	if err != nil {
		return badRequest(err)
	}
	o, now, err := d.reach(n)
	if err != nil {
		return err
	}
	defer o.close()
	if now.mode.IsDir() && depth == dav.Infinity {
		return &StatusError{Status: http.StatusForbidden, Condition: "propfind-finite-depth",
			Text: "PROPFIND of a whole tree is not served: send Depth: 0 or 1"}
	}
	w.Header().Set("Content-Type", dav.ContentType)
	w.WriteHeader(http.StatusMultiStatus)
	answer := &answerer{d: d, asked: asked, out: dav.NewMultistatus(w)}
	if err := answer.write(n.path(), now, o.props); err != nil {
		return broken(err)
	}
	if now.mode.IsDir() && depth == dav.One {
		if err := answer.writeChildren(n, o); err != nil {
			return broken(err)
		}
	}
	return broken(answer.out.Close())
}

// answerer writes the properties that were asked for.
type answerer struct {
	d     *Dir
	asked dav.Propfind
	out   *dav.Multistatus
}

func (a *answerer) writeChildren(n name, o *opened) error {
	at := a.d.root.of(o, n.rel())
	return a.d.children(n, at, func(base string, now info) error {
		return a.write(path.Join(n.path(), base), now, func() ([]dav.Property, error) { return at.propsAt(base) })
	})
}

// write writes the response about one entry; dead gets its dead properties.
func (a *answerer) write(path string, now info, dead func() ([]dav.Property, error)) error {
	if now.mode.IsDir() && path != "/" {
		path += "/"
	}
	e := entry{path: path, now: now, locks: a.d.locks.on(path)}
	var own []dav.Property
	if a.asked.All || a.asked.Names || slices.ContainsFunc(a.asked.Props, func(n xml.Name) bool { return !isLive(n) }) {
		var err error
		if own, err = dead(); err != nil {
			return err
		}
	}
	found := dav.Propstat{Status: http.StatusOK}
	lacking := dav.Propstat{Status: http.StatusNotFound}
	if a.asked.All || a.asked.Names {
		for _, p := range liveProps {
			switch value := p.value(e); {
			case value == nil:
			case a.asked.Names:
				found.Props = append(found.Props, []byte("<D:"+p.local+"/>"))
			default:
				found.Props = append(found.Props, value)
			}
		}
		for _, p := range own {
			if a.asked.Names {
				p.Element = dav.Empty(p.Name)
			}
			found.Props = append(found.Props, p.Element)
		}
	}
	for _, name := range a.asked.Props {
		value, live := e.live(name)
		i := slices.IndexFunc(own, func(p dav.Property) bool { return p.Name == name })
		switch {
		case value == nil && i < 0:
			lacking.Props = append(lacking.Props, dav.Empty(name))
		case a.asked.All: // written already
		case live:
			found.Props = append(found.Props, value)
		default:
			found.Props = append(found.Props, own[i].Element)
		}
	}
	stats := []dav.Propstat{found}
	if lacking.Props != nil {
		stats = append(stats, lacking)
		if found.Props == nil {
			stats = stats[1:]
		}
	}
	return a.out.Response(path, stats)
}

// children calls yield for what clients see in the directory n, in no order,
// until an error.
func (d *Dir) children(n name, at *folder, yield func(base string, now info) error) error {
	home, err := at.stat(".")
	if err != nil {
		return err
	}
	var failed error
	err = at.each(func(base string) {
		if failed != nil || n.base == "" && strings.EqualFold(base, area) || !addressable(base) {
			return
		}
		now, err := at.stat(base)
		switch {
		case notExist(err): // gone meanwhile
		case err != nil:
			failed = err
		case !now.regular() && !now.mode.IsDir():
		// A mount point. Of files this does not tell: in an overlay theirs differs.
		case now.mode.IsDir() && now.dev != home.dev:
		case now.same(d.self):
		default:
			failed = yield(base, now)
		}
	})
	if failed == nil && !notExist(err) { // the directory has been removed meanwhile
		failed = err
	}
	return failed
}

// addressable reports whether a request can name the file: the proxy takes only
// paths in UTF-8 without control characters, and XML has room for no others.
func addressable(base string) bool {
	return utf8.ValidString(base) && !strings.ContainsFunc(base, unicode.IsControl)
}

// brokenError is the failure of a read whose answer has begun.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "the answer broke off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func broken(err error) error {
	if err == nil {
		return nil
	}
	return &brokenError{err}
}
