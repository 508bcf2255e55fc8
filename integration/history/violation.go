package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Promise is what a violation breaks.
type Promise string

const (
	Order     Promise = "S1 order"
	Cut       Promise = "S2 claim"
	OneOwner  Promise = "S3 one owner"
	Honest    Promise = "S4 honest answers"
	Once      Promise = "one effect for a write"
	Linear    Promise = "register" // no order explains what the clients saw
	Truthful  Promise = "the record"
	evidenced         = 12 // operations and effects shown of what led to a violation
)

// A Violation is a broken promise, with the operations and effects that show it.
type Violation struct {
	Promise    Promise     `json:"promise"`
	Object     string      `json:"object"`
	What       string      `json:"what"`
	Operations []Operation `json:"operations"`
	Effects    []Effect    `json:"effects"`
}

// String tells it in the order of events, times in ms since the first of them.
func (v Violation) String() string {
	type event struct {
		at   int64
		text string
	}
	var events []event
	for _, o := range v.Operations {
		asked := fmt.Sprintf("%s %s %s%s token %d owner %.8s by %s", o.ID, o.Kind, o.Resource, at(o), o.Token, o.Owner, o.Client)
		events = append(events, event{o.Call, "call    " + asked})
		if o.Return != 0 {
			events = append(events, event{o.Return, fmt.Sprintf("return  %s: %d %s %s", o.ID, o.Status, o.Reason, o.Value)})
		}
	}
	for _, e := range v.Effects {
		text := "effect  " + e.ID + " on " + e.Object
		if e.Delete {
			text += ", removed"
		}
		events = append(events, event{e.At, text})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s broken at %s: %s", v.Promise, v.Object, v.What)
	for _, e := range events {
		fmt.Fprintf(&b, "\n  %12.3f ms  %s", float64(e.at-events[0].at)/1e6, e.text)
	}
	return b.String()
}

func at(o Operation) string {
	if o.Object == "" || o.Object == o.Resource {
		return ""
	}
	return " at " + o.Object
}
