package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// configFlags are the flags of commands that read the configuration: the file's
// place, and one flag for each setting. Their values are read later, so that
// all faults are told at once.
type configFlags struct {
	File string `name:"config" placeholder:"FILE" help:"Read settings and routes from this YAML file; flags and the environment take precedence."`
	kong.Plugins
}

// newConfigFlags makes the flags of the settings. A nil pointer is one that was
// not given.
func newConfigFlags() configFlags {
	var fields []reflect.StructField
	for _, s := range settings {
		help := s.help
		if s.def != "" {
			help += " (default " + s.def + ")"
		} else {
			help += " (default: " + s.note + ")"
		}
		fields = append(fields, reflect.StructField{
			Name: "F" + strings.NewReplacer(".", "_").Replace(s.key),
			Type: reflect.TypeFor[*string](),
			Tag:  reflect.StructTag(fmt.Sprintf(`name:%q placeholder:%q help:%q`, flagName(s.key)[2:], s.hint, help)),
		})
	}
	return configFlags{Plugins: kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// flagName returns a setting's flag.
func flagName(key string) string {
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(key)
}

// load returns the configuration that file, environment and flags make.
func (f *configFlags) load(ctx *kong.Context) (*serveConfig, error) {
	typed := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil {
			typed[p.Flag] = true
		}
	}
	var values []given
	for _, flag := range ctx.Flags() {
		i := slices.IndexFunc(settings, func(s setting) bool { return flagName(s.key) == "--"+flag.Name })
		if i < 0 {
			continue
		}
		if text, ok := flag.Target.Interface().(*string); ok && text != nil && typed[flag] {
			values = append(values, given{settings[i].key, *text, place{from: fromFlag, name: "--" + flag.Name}})
		}
		for _, variable := range flag.Envs {
			if text, ok := os.LookupEnv(variable); ok { // a flag that was typed does not hide its faults
				values = append(values, given{settings[i].key, text, place{from: fromEnv, name: variable}})
			}
		}
	}
	return loadConfig(f.File, values)
}
