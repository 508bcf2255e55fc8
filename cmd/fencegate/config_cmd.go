package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

type configCmd struct {
	Check   configCheckCmd   `cmd:"" help:"Tell everything that is wrong with a configuration file, or ok."`
	Print   configPrintCmd   `cmd:"" help:"Print the configuration that serve would run with, and where each value comes from."`
	Explain configExplainCmd `cmd:"" help:"Tell what a request means: its route, its fence, and what it needs."`
}

type configCheckCmd struct {
	File string `arg:"" help:"The file."`
}

// Run looks at the file, without flags and environment, and at where its
// directories lead.
func (c *configCheckCmd) Run(std streams) error {
	if _, err := loadConfig(c.File, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, "ok")
	return err
}

type configPrintCmd struct {
	Config configFlags `embed:""`
}

func (c *configPrintCmd) Run(std streams, ctx *kong.Context) error {
	config, err := c.Config.load(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(std.out, config.yaml())
	return err
}
