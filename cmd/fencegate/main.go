// Command fencegate protects storage that cannot check fencing tokens itself.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// cli is the command line: one field per subcommand, one file each.
type cli struct {
	Serve       serveCmd       `cmd:"" help:"Run the proxy in front of a store."`
	Lock        lockCmd        `cmd:"" help:"Run a command while holding a lock."`
	Put         putCmd         `cmd:"" help:"Write files through the fence, with the lock's token."`
	Claim       claimCmd       `cmd:"" help:"Cut off earlier holders of a path, within fencegate lock."`
	Ledger      ledgerCmd      `cmd:"" help:"Make the ledger, verify it, look into it."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask a running fencegate whether it is ready."`
	Doctor      doctorCmd      `cmd:"" help:"Try out whether a store is safe to put fencegate in front of."`
	Demo        demoCmd        `cmd:"" help:"Show a paused lock holder overwriting newer data, and the fence refusing it."`
	Config      configCmd      `cmd:"" help:"Check, print or explain the configuration of serve."`
	Version     versionCmd     `cmd:"" help:"Print the version."`

	DemoWriter demoWriterCmd `cmd:"" hidden:""`
}

// streams are what commands print to.
type streams struct{ out, err io.Writer }

func main() { os.Exit(run(os.Args[1:], streams{os.Stdout, os.Stderr})) }

// run executes one command line and returns its exit code.
func run(args []string, std streams) int {
	c := cli{
		Serve: serveCmd{Config: newConfigFlags()},
		Config: configCmd{
			Print:   configPrintCmd{Config: newConfigFlags()},
			Explain: configExplainCmd{Config: newConfigFlags()},
		},
	}
	parser, err := kong.New(&c,
		kong.Name("fencegate"),
		kong.Description("Refuses stale writes to storage that cannot check fencing tokens itself."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.DefaultEnvars("FENCEGATE"),
		kong.Writers(std.out, std.err),
	)
	if err != nil {
		fmt.Fprintln(std.err, "fencegate:", err)
		return exitBug
	}
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run(std)
	} else {
		err = &exitError{exitUsage, fmt.Errorf("%w (fencegate --help lists commands and flags)", err)}
	}
	if err != nil && err.Error() != "" {
		writeWithin(std.err, logPatience, fmt.Sprintln("fencegate:", err))
	}
	return exitCode(err)
}
