package dir

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
)

// proppatch sets and removes dead properties, all or none.
func (d *Dir) proppatch(r *http.Request, body io.Reader) (*http.Response, fence.Outcome, error) {
	n, err := writable(r.URL.Path)
	if err != nil {
		return nil, fence.NotSent, err
	}
	when, err := d.demandsOf(r.Header)
	if err != nil {
		return nil, fence.NotSent, err
	}
	changes, err := dav.ReadPropertyUpdate(body)
	if err != nil {
		return nil, fence.NotSent, badRequest(err)
	}
	d.tree.RLock()
	defer d.tree.RUnlock()
	defer d.turns.take(n.rel())()
	file, now, err := d.openAny(n)
	if err != nil {
		return nil, fence.NotSent, err
	}
	defer file.Close() // nothing is written through it but the attribute, which is fsync'd
	if err := d.judge(when, n, &now, change{}); err != nil {
		return nil, fence.NotSent, err
	}
	stats, o, err := d.patch(file, changes)
	if err != nil {
		return nil, o, err
	}
	path := n.path()
	if now.mode.IsDir() && path != "/" {
		path += "/"
	}
	return multistatus(path, stats), fence.Definite, nil
}

// patch makes the changes to the properties of an open file durable, or returns
// which of them cannot be made; then none is.
func (d *Dir) patch(file *os.File, changes []dav.Change) ([]dav.Propstat, fence.Outcome, error) {
	if slices.ContainsFunc(changes, func(c dav.Change) bool { return isLive(c.Name) }) {
		protected := dav.Propstat{Status: http.StatusForbidden, Condition: "cannot-modify-protected-property"}
		others := dav.Propstat{Status: http.StatusFailedDependency}
		for _, c := range changes {
			if isLive(c.Name) {
				protected.Props = append(protected.Props, dav.Empty(c.Name))
			} else {
				others.Props = append(others.Props, dav.Empty(c.Name))
			}
		}
		return []dav.Propstat{protected, others}, fence.NotSent, nil
	}
	props, err := propsOf(file)
	if err != nil {
		return nil, fence.NotSent, err
	}
	all := dav.Propstat{Status: http.StatusOK}
	for _, c := range changes {
		all.Props = append(all.Props, dav.Empty(c.Name))
		i := slices.IndexFunc(props, func(p dav.Property) bool { return p.Name == c.Name })
		switch {
		case c.Remove && i >= 0:
			props = slices.Delete(props, i, i+1)
		case c.Remove: // RFC 4918 section 14.23: no error
		case i >= 0:
			props[i] = c.Property
		default:
			props = append(props, c.Property)
		}
	}
	var text []byte
	if len(props) > 0 {
		text = dav.JoinProperties(props)
	}
	err = syscall.E2BIG
	if len(text) <= maxProps {
		err = setAttribute(file, propsAttribute, text)
	}
	if noRoom(err) {
		all.Status = http.StatusInsufficientStorage
		return []dav.Propstat{all}, fence.NotSent, nil
	}
	if err != nil {
		o, err := moved(err)
		return nil, o, err
	}
	if err := file.Sync(); err != nil {
		return nil, fence.Uncertain, fmt.Errorf("the properties were changed, perhaps not durably: %w", err)
	}
	return []dav.Propstat{all}, fence.Definite, nil
}

// noRoom reports whether a file system will not keep so much beside a file, or
// nothing at all.
func noRoom(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.E2BIG, syscall.ERANGE, syscall.ENOTSUP} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// multistatus is a whole answer about one path.
func multistatus(path string, stats []dav.Propstat) *http.Response {
	var b strings.Builder
	m := dav.NewMultistatus(&b)
	_ = errors.Join(m.Response(path, stats), m.Close()) // a Builder takes everything
	return response(http.StatusMultiStatus, http.Header{"Content-Type": {dav.ContentType}}, b.String())
}
