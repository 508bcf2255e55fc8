package main

import (
	"net/http"
	"net/url"
	"strings"

	"fencegate/proxy/protocol/dav"
)

// toFence makes headers that name what is behind FENCEGATE_URL name the fence:
// Destination, If, Referer. The secret is not for the store.
func (h *helper) toFence(in *http.Request, header http.Header) {
	for name, values := range header {
		for i, v := range values {
			switch name {
			case "Destination":
				if v = h.refToFence(v, in.Host); strings.HasPrefix(v, "/") { // what is no name is for the fence to refuse
					if rest, ok := h.cutSecret(v); ok {
						v = h.fence.String() + rest
					}
				}
			case "If":
				v = h.ifToFence(v, in.Host)
			}
			if strings.Contains(v, h.secret) {
				v = strings.ReplaceAll(v, h.url(), h.fence.String())
				v = strings.ReplaceAll(v, "http://"+in.Host+"/"+h.secret, h.fence.String())
			}
			header[name][i] = v
		}
	}
}

// refToFence returns where the fence has what a URL, or a path as in the hrefs of
// a listing, names behind FENCEGATE_URL. Anything else stays as it is.
func (h *helper) refToFence(s, host string) string {
	ref, err := dav.ParseRef(s)
	if err != nil || ref.Origin != "" && !isOrigin(ref.Origin, h.addr) && !isOrigin(ref.Origin, host) {
		return s
	}
	if rest, ok := (dav.Space{Prefix: "/" + h.secret}).Cut(ref.Path); ok {
		return h.fence.String() + rest
	}
	return s
}

func isOrigin(origin, host string) bool {
	named, err := dav.ParseRef("http://" + host)
	return err == nil && named.Origin == origin
}

// ifToFence is refToFence for what is named in If (RFC 4918 section 10.4).
func (h *helper) ifToFence(s, host string) string {
	lists, err := dav.ParseIf(s)
	if err != nil {
		return s // for the fence to refuse
	}
	changed := false
	for i, l := range lists {
		if to := h.refToFence(l.Resource, host); to != l.Resource {
			lists[i].Resource, changed = to, true
		}
	}
	if !changed {
		return s
	}
	return dav.FormatIf(lists)
}

// fromFence makes an answer that names something at the fence name it behind
// FENCEGATE_URL, where a client that follows gets the token again.
func (h *helper) fromFence(header http.Header) {
	for _, name := range []string{"Location", "Content-Location"} {
		to := header.Get(name)
		u, err := url.Parse(to)
		if err != nil || to == "" {
			continue
		}
		if u.Host != "" {
			if at := h.fence.ResolveReference(u); !sameOrigin(at, h.fence) {
				continue
			}
			_, rest, _ := strings.Cut(to, "//")
			to = pathOf("://" + rest)
		}
		if strings.HasPrefix(to, "/") {
			header.Set(name, h.url()+to)
		}
	}
}
