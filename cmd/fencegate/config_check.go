package main

import (
	"errors"
	"net"
	"strings"
	"time"

	"fencegate/proxy"
)

// networkSettle is the settle time of storage on another machine, unless told
// otherwise, and leastSettle the least that makes sense there.
const (
	networkSettle = 30 * time.Second
	leastSettle   = 100 * time.Millisecond
)

// finish completes what depends on several settings, and checks it.
func (l *loader) finish() {
	if !l.c.given("protocol") {
		l.c.WebDAV = l.c.scheme() == "dir"
	}
	l.checkListeners()
	if !l.broken["upstream"] {
		l.checkUpstream()
	}
	for i := range l.c.Routes {
		r := &l.c.Routes[i]
		if !r.has("policy") {
			r.Policy = l.c.Policy
		}
		if !r.has("body") {
			r.Stream = l.c.Stream
		}
	}
	l.checkLimits()
	l.checkRoutes()
	l.checkOwnPaths()
}

func (l *loader) checkListeners() {
	for _, key := range []string{"listen", "admin"} {
		address := map[string]string{"listen": l.c.Listen, "admin": l.c.Admin}[key]
		host, _, _ := net.SplitHostPort(address)
		if !isLoopback(host) && l.c.Auth != "none" && !l.broken["auth"] {
			l.faults.value(l.c.where(key), address, errors.New("this is reachable from other machines and nothing authenticates clients: "+
				"listen on 127.0.0.1, or write out --auth none (auth: none) if the network is trusted"))
		}
	}
	if _, port, _ := net.SplitHostPort(l.c.Listen); l.c.Listen == l.c.Admin && port != "0" {
		one, other := "admin", "listen"
		if !l.c.given(one) {
			one, other = other, one
		}
		l.faults.value(l.c.where(one), l.c.Listen, errors.New("expected another address than that of "+other))
	}
}

// isLoopback reports whether only this machine can connect to host. Names are
// not looked up: what they mean can change.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *loader) checkUpstream() {
	if l.c.scheme() == "dir" {
		for _, s := range settings {
			if o, ok := l.c.origins[s.key]; ok && s.remote && o.text != s.def {
				l.faults.value(o.at, o.text, errors.New("is for a store behind HTTP, but upstream is "+l.c.Upstream))
			}
		}
		l.c.checkSeparate(func(key, path string, err error) { l.faults.value(l.c.where(key), path, err) })
		return
	}
	if o, ok := l.c.origins["settle"]; ok && l.c.Settle < leastSettle {
		l.faults.value(o.at, o.text, errors.New("expected 100ms or more for a store on another machine: it may still apply what it was sent"))
	}
	for _, s := range settings {
		if o, ok := l.c.origins[s.key]; ok && strings.HasPrefix(s.key, "tls.") && l.c.scheme() != "https" {
			l.faults.value(o.at, o.text, errors.New("is for a store behind https, but upstream is "+l.c.Upstream))
		}
	}
	for _, pair := range [][2]string{{"tls.cert", "tls.key"}, {"tls.key", "tls.cert"}} {
		if l.c.given(pair[0]) && !l.c.given(pair[1]) && !l.broken[pair[1]] {
			l.faults.value(l.c.where(pair[0]), l.c.origins[pair[0]].text, errors.New("expected "+pair[1]+" too"))
		}
	}
	if l.c.scheme() == "https" {
		l.checkFiles()
	}
	l.checkOther()
}

// checkRoutes checks the routes beside one another.
func (l *loader) checkRoutes() {
	given, _ := l.c.proxyRoutes()
	for i := range given {
		if given[i].Path == "" {
			given[i].Path = "told already" // as a path that matches nothing
		}
	}
	for _, f := range proxy.CheckRoutes(given) {
		r := &l.c.Routes[f.Index]
		switch w := r.given[f.Field]; {
		case len(w.texts) > 0:
			l.faults.value(w.at, w.texts[0], f.Err)
		case f.Field == "name":
			l.faults.add(r.at, "expected a name: %v", f.Err)
		}
	}
	if l.c.scheme() != "dir" || l.broken["upstream"] {
		return
	}
	for _, r := range l.c.Routes {
		for _, s := range routeSettings {
			w := r.given[s.key]
			switch {
			case !s.remote || len(w.texts) == 0 || w.texts[0] == s.local:
			case s.list:
				l.faults.add(w.at, "is for a store behind HTTP, but upstream is %s", l.c.Upstream)
			default:
				l.faults.value(w.at, w.texts[0], errors.New("is for a store behind HTTP, but upstream is "+l.c.Upstream))
			}
		}
	}
}
