package main

import (
	"fmt"
	"io"
	"strings"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/protocol"
)

// means says what the request does.
func (x *explained) means(e *proxy.Explanation) {
	switch {
	case e.Refusal != nil:
		x.Meaning, x.Means = "refused", e.Refusal.Detail
		x.Status, x.Reason = e.Status, e.Refusal.Reason
		return
	case e.Own:
		x.Meaning, x.Means = "own", "For fencegate itself; the store does not see it."
		return
	case e.Tokened == protocol.Read:
		x.Meaning, x.Means = "read", "Reads. It passes with or without a token, which is not looked at."
		return
	case e.Tokened == protocol.Ask:
		x.Meaning, x.Means = "ask", "Reads. "+asks[e.Touches[0].Policy]
	case e.Touches[0].Tree:
		x.Meaning, x.Means = "tree write", "Changes "+e.Touches[0].Object.String()+" and everything below. "+needs[e.Touches[0].Policy]
	default:
		x.Meaning, x.Means = "write", "Changes "+e.Touches[0].Object.String()+". "+needs[e.Touches[0].Policy]
	}
	x.Owner = "optional"
	if e.OwnerRequired {
		x.Owner = "required"
	}
}

// asks says what a read with a token does under each policy.
var asks = map[fence.Policy]string{
	fence.Open:    "It passes with any token or none.",
	fence.Observe: "It passes with any token or none; one that is newer is recorded, and what require would refuse is logged.",
	fence.Adopt:   "Without a token it passes; with one it is judged like a write, and cuts off older holders.",
	fence.Require: "Without a token it passes; with one it is judged like a write, and cuts off older holders.",
}

// needs says what a write needs under each policy.
var needs = map[fence.Policy]string{
	fence.Open:    "It passes with any token or none.",
	fence.Observe: "It passes with any token or none; what require would refuse is logged.",
	fence.Adopt:   "It needs a token as soon as one has been seen there, which must not be an older one.",
	fence.Require: "It needs a token, which must not be older than one seen there.",
}

// print writes plain lines.
func (x *explained) print(w io.Writer) error {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-9s %s\n", name, value) }
	line("request", x.Method+" "+x.Target)
	if x.Route != nil {
		at := "for all paths that no other route matches"
		if x.Route.Index != nil {
			at = fmt.Sprintf("routes[%d], path %s", *x.Route.Index, x.Route.Path)
		}
		line("route", x.Route.Name+" ("+at+")")
	}
	if x.Resource != "" {
		line("resource", x.Resource)
	}
	for _, t := range x.Touches {
		if t.Covers == "tree" {
			line("fence", t.Fence+" and everything below (lock and claim that)")
		} else {
			line("fence", t.Fence)
		}
		line("policy", t.Policy)
	}
	if x.Owner != "" {
		line("owner", x.Owner)
	}
	if x.Meaning == "refused" {
		line("refused", fmt.Sprintf("%d %s: %s", x.Status, x.Reason, x.Means))
	} else {
		line("means", x.Meaning+": "+x.Means)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
