package dav

import (
	"fmt"
	"net/http"
)

// Compared returns the URLs before the lists of a request's If header, if it has
// one: what must be in a certain state for the request to be carried out.
func Compared(h http.Header) ([]Ref, error) {
	lists, err := RequestIf(h)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for i, l := range lists {
		if l.Resource == "" || i > 0 && lists[i-1].Resource == l.Resource {
			continue
		}
		ref, err := ParseRef(l.Resource)
		if err != nil {
			return nil, fmt.Errorf("in If: %w", err)
		}
		refs = append(refs, ref)
	}
	return refs, nil
}
