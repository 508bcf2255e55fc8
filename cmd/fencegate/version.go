package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

type versionCmd struct{}

func (versionCmd) Run(std streams) error {
	_, err := fmt.Fprintln(std.out, "fencegate", version(), runtime.Version())
	return err
}

// version is the module's version, or the commit that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}

// registerBuildInfo tells the version as a metric.
func registerBuildInfo(reg prometheus.Registerer) {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fencegate_build_info", Help: "1, with the version that is running.",
	}, []string{"version", "go"})
	reg.MustRegister(g)
	g.WithLabelValues(version(), runtime.Version()).Set(1)
}
