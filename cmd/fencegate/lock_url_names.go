package main

import (
	"net/http"
	"net/url"
	"strings"
)

// toFence makes headers that name what is behind FENCEGATE_URL name the fence:
// Destination, If, Referer. The secret is not for the store.
func (h *helper) toFence(in *http.Request, header http.Header) {
	for name, values := range header {
		for i, v := range values {
			if !strings.Contains(v, h.secret) {
				continue
			}
			v = strings.ReplaceAll(v, h.url(), h.fence.String())
			v = strings.ReplaceAll(v, "http://"+in.Host+"/"+h.secret, h.fence.String())
			if name == "Destination" {
				if rest, ok := h.cutSecret(v); ok {
					v = h.fence.String() + rest
				}
			}
			header[name][i] = v
		}
	}
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
