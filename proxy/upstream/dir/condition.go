package dir

import (
	"net/http"
	"strings"
	"time"
)

// conditions are the preconditions of a write (RFC 9110 section 13.1).
type conditions struct {
	match, noneMatch *tagList  // nil when the field is absent
	unmodifiedSince  time.Time // zero when absent, invalid or overruled
}

// tagList is the value of If-Match or If-None-Match.
type tagList struct {
	any  bool // "*"
	tags []string
}

// parseConditions reads the preconditions of a request. A list of entity tags
// that cannot be read is refused: a write must not go ahead because its
// condition was misspelt.
func parseConditions(h http.Header) (c conditions, err error) {
	if c.match, err = parseTagList(h, "If-Match"); err != nil {
		return c, err
	}
	if c.noneMatch, err = parseTagList(h, "If-None-Match"); err != nil {
		return c, err
	}
	// RFC 9110 section 13.1.4: ignored beside If-Match, and when it is not a date.
	if since := h.Get("If-Unmodified-Since"); since != "" && c.match == nil {
		c.unmodifiedSince, _ = http.ParseTime(since)
	}
	return c, nil
}

func parseTagList(h http.Header, field string) (*tagList, error) {
	lines := h.Values(field)
	if len(lines) == 0 {
		return nil, nil
	}
	rest := strings.Join(lines, ",")
	if strings.Trim(rest, " \t") == "*" {
		return &tagList{any: true}, nil
	}
	list := &tagList{}
	for {
		// Empty elements are allowed in lists (RFC 9110 section 5.6.1).
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			break
		}
		tag, after, ok := cutTag(rest)
		after = strings.TrimLeft(after, " \t")
		if !ok || after != "" && after[0] != ',' {
			return nil, refuse(http.StatusBadRequest, field+` is not "*" or a list of entity tags in double quotes`)
		}
		list.tags, rest = append(list.tags, tag), after
	}
	if len(list.tags) == 0 {
		return nil, refuse(http.StatusBadRequest, field+" is empty")
	}
	return list, nil
}

// cutTag cuts one entity tag, W/ and quotes included, off the start of s.
func cutTag(s string) (tag, rest string, ok bool) {
	start := 0
	if strings.HasPrefix(s, "W/") {
		start = 2
	}
	if len(s) <= start || s[start] != '"' {
		return "", "", false
	}
	for i := start + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[:i+1], s[i+1:], true
		case c < 0x21 || c == 0x7f:
			return "", "", false
		}
	}
	return "", "", false
}

// matchesStrong is the comparison for If-Match: weak tags match nothing.
func (l *tagList) matchesStrong(etag string) bool {
	for _, t := range l.tags {
		if t == etag {
			return true
		}
	}
	return l.any
}

// matchesWeak is the comparison for If-None-Match: W/ makes no difference.
func (l *tagList) matchesWeak(etag string) bool {
	for _, t := range l.tags {
		if strings.TrimPrefix(t, "W/") == etag {
			return true
		}
	}
	return l.any
}

// judge returns a 412 with the current entity tag if the conditions do not
// hold for what is there now, nil meaning nothing. Directories have neither an
// entity tag nor a time of their own, so only "*" says something about them.
func (c conditions) judge(now *info) error {
	var etag string
	if now != nil && now.regular() {
		etag = now.etag()
	}
	switch {
	case c.match != nil && (now == nil || !c.match.matchesStrong(etag)):
	case c.noneMatch != nil && now != nil && c.noneMatch.matchesWeak(etag):
	case !c.unmodifiedSince.IsZero() && etag != "" && now.mtime.Truncate(time.Second).After(c.unmodifiedSince):
	default:
		return nil
	}
	failed := refuse(http.StatusPreconditionFailed, "a precondition of the request does not hold: there is nothing at this path")
	switch {
	case etag != "":
		failed.Text = "a precondition of the request does not hold: the object's entity tag is " + etag
		failed.Header = http.Header{}
		now.describe(failed.Header)
	case now != nil:
		failed.Text = "a precondition of the request does not hold: " + textIsDirectory
	}
	return failed
}
