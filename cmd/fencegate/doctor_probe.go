package main

import "fmt"

// probe is one thing that is looked at. It writes under names of its own.
type probe struct {
	name  string
	means string // why it matters
	// fault is what a fault means, and what it means that nothing can be told.
	fault  verdict
	webdav bool // only under that protocol
	aside  bool // it takes long, and runs beside the others
	run    func(x *exam, f *found) error
}

// probes are all that need the groundwork, in the order of the table.
var probes = []probe{
	{name: "missing parent", means: "whether clients have to make folders", fault: verdictNote, run: missingParent},
	{name: "broken upload", means: "a store that keeps part of an object makes body: stream unsafe", fault: verdictNote, aside: true, run: brokenUpload},
	{name: "late effect", means: "the next holder waits for settle, and no longer", fault: verdictUnsafe, aside: true, run: lateEffect},
	{name: "slow upload overtaken", means: "what happens without a fence", fault: verdictNote, run: slowUpload},
	{name: "If-None-Match", means: "fencegate does not need it; clients may rely on it", fault: verdictNote, run: ifNoneMatch},
	{name: "If-Match", means: "fencegate does not need it; clients may rely on it", fault: verdictNote, run: ifMatch},
	{name: "names", means: "two names of one object need one fence", fault: verdictUnsafe, run: nameAliases},
	{name: "method override", means: "a header that makes a PUT or POST something else", fault: verdictNote, run: methodOverride},
	{name: "rerouting headers", means: "a header that names another object than the request does", fault: verdictNote, run: rerouting},
	{name: "MKCOL", means: "folders of clients", fault: verdictNote, webdav: true, run: mkcol},
	{name: "MOVE", means: "it replaces its destination, and fencegate fences both ends", fault: verdictUnsafe, webdav: true, run: move},
	{name: "COPY", means: "it replaces its destination, and fencegate fences that", fault: verdictUnsafe, webdav: true, run: copying},
	{name: "Overwrite: F", means: "fencegate does not need it; clients may rely on it", fault: verdictNote, webdav: true, run: overwrite},
	{name: "failed MOVE", means: "what was at the destination must survive it", fault: verdictUnsafe, webdav: true, run: failedMove},
	{name: "idle connections", means: "a write sent as the store closes has an unknown outcome", fault: verdictNote, aside: true, run: idleConnection},
	{name: "many requests", means: "a write sent as the store closes has an unknown outcome", fault: verdictNote, run: manyRequests},
	{name: "large bodies", means: "an answer before the whole body came is no definite outcome", fault: verdictNote, run: largeBodies},
	{name: "Expect: 100-continue", means: "fencegate does not send it", fault: verdictNote, run: expectContinue},
	{name: "ETag, Range", means: "for clients; fencegate passes them on", fault: verdictNote, run: versions},
	{name: "access", means: "every write has to come through fencegate", fault: verdictUnsafe, run: access},
}

// groundwork comes first. If something is unsafe there, nothing else can be told.
var groundwork = []probe{
	{name: "PUT, GET, DELETE", means: "an answer has to come after the effect, and to tell it", fault: verdictUnsafe, run: basics},
}

func (p probe) wanted(x *exam) bool { return !p.webdav || x.webdav }

// found collects what a probe has seen.
type found struct {
	probe probe
	lines []finding
}

func (f *found) add(v verdict, do, format string, args ...any) *finding {
	f.lines = append(f.lines, finding{Result: fmt.Sprintf(format, args...), Verdict: v, Do: do, Means: f.probe.means})
	return &f.lines[len(f.lines)-1]
}

// fine, know and fault add a line: all is well, something to know, a fault as
// serious as the probe says.
func (f *found) fine(format string, args ...any) { f.add(verdictOK, "", format, args...) }
func (f *found) know(do, format string, args ...any) {
	f.add(verdictNote, do, format, args...)
}
func (f *found) wrong(do, format string, args ...any) {
	f.add(f.probe.fault, do, format, args...)
}

// look runs a probe. What cannot be told is no better than a fault.
func (p probe) look(x *exam) []finding {
	f := &found{probe: p}
	if err := p.run(x, f); err != nil && x.ctx.Err() == nil {
		f.wrong("find out why, and try again", "cannot be told: %v", inOneLine(err))
	}
	return f.lines
}

// apply runs a probe whose results are told at once, and reports whether to go on.
func (p probe) apply(x *exam) bool {
	lines := p.look(x)
	x.report.add(p.name, lines)
	for _, l := range lines {
		if l.Verdict == verdictUnsafe {
			return false
		}
	}
	return x.ctx.Err() == nil
}
