package main

import (
	"fencegate/proxy/protocol"
	"fencegate/proxy/protocol/dav"
)

// protocol returns what gives requests their meaning.
func (c *serveConfig) protocol() protocol.Protocol {
	if c.WebDAV {
		return protocol.WebDAV{Public: c.Public}
	}
	return protocol.Plain{}
}

// names leads from the names that clients use for objects to the store's.
func (c *serveConfig) names() dav.Map {
	m := dav.Map{Public: c.Public}
	if c.scheme() != "dir" {
		m.Store, _ = dav.ParseSpace(c.Upstream) // the upstream has been opened with it
	}
	return m
}
