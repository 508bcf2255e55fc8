package dav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// Propfind is what a PROPFIND asks for.
type Propfind struct {
	// Names: only the names of all properties.
	Names bool
	// All: all properties, and those of Props.
	All bool
	// Props by name.
	Props []xml.Name
}

// ReadPropfind reads the body of a PROPFIND; an empty one asks for all
// (RFC 4918 section 9.1).
func ReadPropfind(body io.Reader) (p Propfind, err error) {
	r := newReader(body)
	start, ok, err := r.root("propfind")
	if err != nil || !ok {
		return Propfind{All: true}, err
	}
	named, include := false, false
	err = r.children(func(e xml.StartElement) error {
		switch {
		case isDAV(e, "allprop"):
			p.All = true
		case isDAV(e, "propname"):
			p.Names = true
		case isDAV(e, "prop"), isDAV(e, "include"):
			named, include = named || isDAV(e, "prop"), include || isDAV(e, "include")
			return r.properties(language(start, ""), func(prop Property) error {
				p.Props = append(p.Props, prop.Name)
				return nil
			})
		}
		return r.skip(e)
	})
	if err == nil {
		err = r.end()
	}
	kinds := 0
	for _, asked := range []bool{p.All, p.Names, named} {
		if asked {
			kinds++
		}
	}
	if err == nil && (kinds != 1 || include && !p.All || named && len(p.Props) == 0) {
		err = errors.New("propfind: one of allprop, propname and prop, which names at least one")
	}
	return p, err
}

// Change is one step of a PROPPATCH.
type Change struct {
	Remove bool
	Property
}

// ReadPropertyUpdate reads the body of a PROPPATCH (RFC 4918 section 9.2).
func ReadPropertyUpdate(body io.Reader) (changes []Change, err error) {
	r := newReader(body)
	start, ok, err := r.root("propertyupdate")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("there is no body")
	}
	lang := language(start, "")
	err = r.children(func(e xml.StartElement) error {
		remove := isDAV(e, "remove")
		if !remove && !isDAV(e, "set") {
			return r.skip(e)
		}
		lang := language(e, lang)
		return r.children(func(e xml.StartElement) error {
			if !isDAV(e, "prop") {
				return r.skip(e)
			}
			return r.properties(language(e, lang), func(p Property) error {
				if len(changes) >= maxNamed {
					return fmt.Errorf("more than %d properties are named", maxNamed)
				}
				changes = append(changes, Change{remove, p})
				return nil
			})
		})
	})
	if err == nil {
		err = r.end()
	}
	if err == nil && len(changes) == 0 {
		err = errors.New("propertyupdate: no property is set or removed")
	}
	return changes, err
}

// LockInfo is the lock that a LOCK asks for: always a write lock.
type LockInfo struct {
	Shared bool
	// Owner is the element owner as the client gave it, whole; nil for none.
	Owner []byte
}

// ReadLockInfo reads the body of a LOCK; ok is false for an empty one, which
// refreshes a lock (RFC 4918 section 9.10.2).
func ReadLockInfo(body io.Reader) (l LockInfo, ok bool, err error) {
	r := newReader(body)
	start, ok, err := r.root("lockinfo")
	if err != nil || !ok {
		return l, false, err
	}
	var exclusive, write bool
	err = r.children(func(e xml.StartElement) error {
		switch {
		case isDAV(e, "lockscope"):
			return r.children(func(e xml.StartElement) error {
				l.Shared = l.Shared || isDAV(e, "shared")
				exclusive = exclusive || isDAV(e, "exclusive")
				return r.skip(e)
			})
		case isDAV(e, "locktype"):
			return r.children(func(e xml.StartElement) error {
				write = write || isDAV(e, "write")
				return r.skip(e)
			})
		case isDAV(e, "owner"):
			var b bytes.Buffer
			if err := r.copy(&b, e, nil, language(start, "")); err != nil {
				return err
			}
			l.Owner = b.Bytes()
			return nil
		}
		return r.skip(e)
	})
	if err == nil {
		err = r.end()
	}
	if err == nil && (exclusive == l.Shared || !write) {
		err = errors.New("lockinfo: want a lockscope, exclusive or shared, and the locktype write")
	}
	return l, err == nil, err
}
