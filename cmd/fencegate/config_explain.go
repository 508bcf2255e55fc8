package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"fencegate/fence"
	"fencegate/proxy"
	"fencegate/proxy/protocol"
)

type configExplainCmd struct {
	Method string      `arg:"" help:"Such as PUT."`
	URL    string      `arg:"" name:"url" help:"A URL, or the path and query of one, as a client sends it."`
	JSON   bool        `name:"json" env:"-" help:"Print JSON."`
	Config configFlags `embed:""`
}

// explained is what is told of a request, as JSON.
type explained struct {
	Method   string           `json:"method"`
	Target   string           `json:"target"`
	Route    *explainedRoute  `json:"route,omitempty"`
	Resource string           `json:"resource,omitempty"`
	Touches  []explainedTouch `json:"touches,omitempty"`
	Owner    string           `json:"owner,omitempty"`
	Meaning  string           `json:"meaning"`
	Means    string           `json:"means"`
	Status   int              `json:"status,omitempty"`
	Reason   fence.Reason     `json:"reason,omitempty"`
}

type explainedRoute struct {
	Name  string `json:"name"`
	Index *int   `json:"index,omitempty"`
	Path  string `json:"path"`
}

type explainedTouch struct {
	Object string `json:"object"`
	Tree   bool   `json:"tree"`
	Fence  string `json:"fence"`
	Covers string `json:"covers"`
	Policy string `json:"policy"`
}

// Run explains one request.
func (c *configExplainCmd) Run(std streams, ctx *kong.Context) error {
	config, err := c.Config.load(ctx)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(c.URL, "/") && !strings.Contains(c.URL, "://") {
		return &exitError{exitUsage, fmt.Errorf("%q: expected a URL, or a path such as /reports/q3.csv", c.URL)}
	}
	routes, rest := config.proxyRoutes()
	e, err := proxy.Explain(protocol.Plain{}, proxy.Options{Routes: routes, Rest: rest}, c.Method, c.URL)
	if err != nil {
		return err
	}
	x := explain(c.Method, c.URL, e)
	if !c.JSON {
		return x.print(std.out)
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, string(text))
	return err
}

func explain(method, target string, e *proxy.Explanation) *explained {
	x := &explained{Method: method, Target: target, Resource: e.Resource.String()}
	if e.Route != "" {
		x.Route = &explainedRoute{Name: e.Route, Path: e.Pattern}
		if e.Index >= 0 {
			x.Route.Index = &e.Index
		}
	}
	for _, t := range e.Touches {
		covers := "object"
		if t.FenceTree {
			covers = "tree"
		}
		x.Touches = append(x.Touches, explainedTouch{t.Object.String(), t.Tree, t.Fence.String(), covers, t.Policy.String()})
	}
	x.means(e)
	return x
}

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
		x.Meaning, x.Means = "ask", "Reads. Without a token it passes; with one it is judged like a write, and cuts off older holders."
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
