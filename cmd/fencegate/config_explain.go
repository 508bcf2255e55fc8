package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"fencegate/fence"
	"fencegate/proxy"
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
	e, err := proxy.Explain(config.protocol(), proxy.Options{Routes: routes, Rest: rest, Names: config.names()}, c.Method, c.URL)
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
