package main

import (
	"fmt"
	"net/http"
	"strings"

	"fencegate/fence"
)

// alias is a second spelling that some stores take for the first. Both are
// escaped, below the scratch folder; none can lead out of it.
type alias struct{ what, one, other string }

var aliases = []alias{
	{"case", "name-case", "NAME-CASE"},
	{"case beyond ASCII", "name-%C3%A9t%C3%A9", "name-%C3%89T%C3%89"},
	{"composed and decomposed (NFC, NFD)", "name-%C3%A0", "name-a%CC%80"},
	{"full width letters", "name-wide", "name-%EF%BD%97ide"},
	{"ignored characters", "name-ignored", "name-ig%E2%80%8Cnored"},
	{"double slash", "name-slash", "/name-slash"},
	{"double slash inside", "names/inside", "names//inside"},
	{"escaped slash", "names/escaped", "names%2Fescaped"},
	{"backslash", "names/back", "names%5Cback"},
	{"dot segment", "name-dots", "%2E/name-dots"},
	{"semicolon", "name-semi", "name-semi;v=1"},
	{"escaped semicolon", "name-esemi", "name-esemi%3Bv=1"},
	{"final slash", "name-final", "name-final/"},
	{"final dot", "name-dot", "name-dot."},
	{"final blank", "name-blank", "name-blank%20"},
	{"plus for a blank", "name-a%20b", "name-a+b"},
	{"NUL", "name-nul", "name-nul%00more"},
	{"escaped twice", "name-twice", "name-%2574wice"},
	{"stream of a file", "name-data", "name-data::$DATA"},
	{"short form of a long name", "name-longer-than-8.text", "NAME-L~1.TEX"},
	{"long names", "name-" + strings.Repeat("l", 300), "name-" + strings.Repeat("l", 300) + "-other"},
}

// nameAliases stores under one spelling and looks under the other, both ways.
func nameAliases(x *exam, f *found) error {
	if err := x.folder("names/"); err != nil {
		return err
	}
	for _, a := range aliases {
		same, err := x.same(a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		if same {
			f.judge(x.report, x.names, a)
		}
	}
	if f.lines == nil {
		f.fine("%d pairs of spellings tried: none names one object", len(aliases))
	}
	return nil
}

// same reports whether both spellings name one object, for reading or writing.
func (x *exam) same(a alias) (bool, error) {
	one, other := "one: "+a.what, "other: "+a.what
	r, err := x.put(a.one, one)
	if err != nil {
		return false, err
	}
	if !r.stored() {
		return false, nil // such a name cannot be used
	}
	if r, err = x.get(a.other); err != nil || r.is(one) {
		return err == nil, err
	}
	if r, err = x.put(a.other, other); err != nil || !r.stored() {
		return false, err
	}
	r, err = x.get(a.one)
	return err == nil && r.is(other), err
}

// judge says what an alias means for fences that are named under options.
func (f *found) judge(r *diagnosis, options fence.NameOptions, a alias) {
	one, other := "/folder/"+a.one, "/folder/"+a.other
	apart := func(options fence.NameOptions) (apart bool, refused error) {
		first, _ := fence.Canonical(one, options)
		second, err := fence.Canonical(other, options)
		return err == nil && first != second, err
	}
	isApart, refused := apart(options)
	folded, _ := apart(fence.NameOptions{FoldCase: true})
	result := fmt.Sprintf("%s and %s name one object", shortened(a.one), shortened(a.other))
	var l *finding
	switch {
	case refused != nil:
		l = f.add(verdictOK, "", "%s; fencegate refuses the second", result)
	case !isApart:
		l = f.add(verdictOK, "", "%s; to fencegate, too", result)
	case !folded:
		r.advise(func(a *advice) { a.FoldCase = true })
		l = f.add(verdictUnsafe, "set fold_case: true on all routes (try again with --fold-case)", "%s, with two fences", result)
	default:
		l = f.add(verdictUnsafe, "no setting helps: let the store tell such names apart, or refuse one of them", "%s, with two fences", result)
	}
	l.Check = "names: " + a.what
}

// shortened is a name for the table.
func shortened(name string) string {
	if len(name) > 40 {
		return fmt.Sprintf("%s... (%d bytes)", name[:20], len(name))
	}
	return name
}

// methodOverride sends what would delete an object if a header were obeyed.
func methodOverride(x *exam, f *found) error {
	var obeyed []string
	for i, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		name := fmt.Sprint("override-", i)
		for _, method := range []string{http.MethodPut, http.MethodPost} {
			if err := x.have(name, oldContent); err != nil {
				return err
			}
			content := oldContent
			if _, err := x.store.ask(x.ctx, method, x.scratch.path(name), &content, header+": DELETE"); err != nil {
				return err
			}
			r, err := x.get(name)
			if err != nil {
				return err
			}
			if r.status != http.StatusOK {
				obeyed = append(obeyed, method+" with "+header)
			}
		}
	}
	if obeyed == nil {
		f.fine("no such header is obeyed")
		return nil
	}
	f.wrong("nothing, as long as all go through fencegate, which refuses such requests", "obeyed: %s", strings.Join(obeyed, ", "))
	return nil
}

// rerouting sends headers that name another object than the request line.
func rerouting(x *exam, f *found) error {
	var obeyed []string
	for i, header := range []string{"X-Original-URL", "X-Rewrite-URL"} {
		one, other := fmt.Sprint("route-", i), fmt.Sprintf("route-%d-other", i)
		if err := x.have(other, oldContent); err != nil {
			return err
		}
		if _, err := x.put(one, "rerouted", header+": "+x.store.prefix+x.scratch.path(other)); err != nil {
			return err
		}
		if r, err := x.get(other); err != nil {
			return err
		} else if !r.is(oldContent) {
			obeyed = append(obeyed, header)
		}
	}
	if obeyed == nil {
		f.fine("no such header is obeyed")
		return nil
	}
	f.wrong("nothing, as long as all go through fencegate, which drops these headers", "obeyed: %s", strings.Join(obeyed, ", "))
	return nil
}
