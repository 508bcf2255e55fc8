package main

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"fencegate/fence"
)

// checkFiles tries the files of TLS, each for itself.
func (l *loader) checkFiles() {
	keys := map[string]string{"CAFile": "tls.ca", "CertFile": "tls.cert", "KeyFile": "tls.key"}
	for _, key := range keys {
		if l.broken[key] {
			return
		}
	}
	for _, f := range l.c.remoteOptions(0, nil).CheckFiles() {
		key := keys[f.Option]
		l.faults.value(l.c.where(key), l.c.origins[key].text, f.Err)
	}
}

// checkOther keeps the store from being fencegate itself, which would ask
// itself until it has no connections left.
func (l *loader) checkOther() {
	u, err := url.Parse(l.c.Upstream)
	if err != nil {
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for key, address := range map[string]string{"listen": l.c.Listen, "admin": l.c.Admin} {
		host, p, _ := net.SplitHostPort(address)
		if p == port && isSameHost(host, u.Hostname()) && !l.broken[key] {
			l.faults.value(l.c.where("upstream"), l.c.Upstream, errors.New("expected another address than that of "+key+", where fencegate itself is"))
		}
	}
}

// isSameHost reports whether what listens at ours is reached at theirs. Names
// are not looked up.
func isSameHost(ours, theirs string) bool {
	one, other := net.ParseIP(ours), net.ParseIP(theirs)
	switch {
	case strings.EqualFold(ours, theirs):
		return true
	case ours == "" || one != nil && one.IsUnspecified():
		return isLoopback(theirs) || other != nil && other.IsUnspecified()
	case ours == "localhost" || theirs == "localhost":
		first := net.IPv4(127, 0, 0, 1)
		return first.Equal(one) || first.Equal(other) || net.IPv6loopback.Equal(one) || net.IPv6loopback.Equal(other)
	}
	return one != nil && one.Equal(other)
}

// checkLimits compares limits with what they are beside.
func (l *loader) checkLimits() {
	if l.c.MaxBody > l.c.SpoolQuota && !l.c.streams() && !l.broken["max_body"] && !l.broken["spool_quota"] {
		l.faults.value(l.c.where("max_body"), l.c.origins["max_body"].text, errors.New("expected no more than spool_quota, in which a body has to fit"))
	}
	if !l.broken["tokens"] && !l.broken["max_token"] {
		l.c.checkMaxToken(&l.faults, l.c.Tokens)
	}
}

// checkMaxToken tells of a limit that refuses every token of a kind.
func (c *serveConfig) checkMaxToken(f *faults, kind fence.TokenKind) {
	if kind == fence.TimeTokens && c.MaxToken < uint64(time.Now().UnixMicro()) {
		f.value(c.where("max_token"), c.origins["max_token"].text, errors.New("expected more than the present time in microseconds since 1970: tokens are times"))
	}
}

const ownPath = "/.well-known/fencegate"

// checkOwnPaths tells of routes that would protect what is not the store's.
func (l *loader) checkOwnPaths() {
	for _, r := range l.c.Routes {
		name, err := fence.Canonical(r.Path, fence.NameOptions{LiteralSemicolons: true})
		if err != nil || !strings.HasPrefix(name.Key()+"/", ownPath+"/") {
			continue
		}
		l.faults.value(r.given["path"].at, r.Path, errors.New("expected a path outside "+ownPath+", which is fencegate's own"))
	}
}
