package fence

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// All mutants are compiled into one test binary, since to compile one after
// another takes minutes. Each function that has mutants is replaced by one that
// calls, as mutantEnv says, the original or one of its mutants:
//
//	func covered(t *Touch, s *sight) bool {
//		switch mutantOn {
//		case 19: return covered_19(t, s)
//		}
//		return covered_0(t, s)
//	}

// mutantEnv chooses the mutant, counted from 1, in a binary that has them.
const mutantEnv = "FENCE_EXPLORER_MUTANT"

const mutantSwitch = `package fence

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("` + mutantEnv + `"))
`

// explorerFiles are the tests that mutants are compiled with.
var explorerFiles = regexp.MustCompile(`^(explorer(_bend|_life|_promise|_ruling|_scene|_scenes|_search|_state|_step)?|decide)_test\.go$`)

// compileMutants returns the path of the binary.
func compileMutants(t *testing.T) string {
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	put := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = file
	}
	put("explorer_switch.go", mutantSwitch)
	for _, file := range []string{"decide.go", "ledger.go", "row.go", "owner.go", "touch.go"} {
		put(file, withMutants(t, file))
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tests {
		if !explorerFiles.MatchString(f) {
			replace[filepath.Join(here, f)] = "" // as if it were not there
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("the mutants do not compile: %v\n%s", err, out)
	}
	return binary
}

// withMutants returns the source of a file with all mutants in it.
func withMutants(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }

	placed := 0
	var out, more strings.Builder
	done := 0 // of source
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		head, body := source[at(f.Pos()):at(f.Body.Pos())], source[at(f.Body.Pos()):at(f.End())]
		named := func(suffix int) string {
			n := at(f.Name.End()) - at(f.Pos())
			return fmt.Sprintf("%s_%d%s", head[:n], suffix, head[n:])
		}
		var cases strings.Builder
		for i, m := range mutants {
			if m.in() != file || strings.Count(source, m.old) != 1 || strings.Count(body, m.old) != 1 {
				continue
			}
			placed++
			fmt.Fprintf(&cases, "\tcase %d:\n\t\t%s\n", i+1, call(f, i+1))
			fmt.Fprintf(&more, "\n%s%s\n", named(i+1), strings.Replace(body, m.old, m.new, 1))
		}
		if cases.Len() == 0 {
			continue
		}
		out.WriteString(source[done:at(f.Pos())])
		fmt.Fprintf(&out, "%s{\n\tswitch mutantOn {\n%s\tdefault:\n\t\t%s\n\t}\n}\n\n%s%s", head, &cases, call(f, 0), named(0), body)
		done = at(f.End())
	}
	for _, m := range mutants {
		if m.in() == file {
			placed--
			if n := strings.Count(source, m.old); n != 1 {
				t.Errorf("%s: %q occurs %d times in %s, want once", m.name, m.old, n, file)
			}
		}
	}
	if placed != 0 {
		t.Fatalf("%s: not all mutants are within functions", file)
	}
	return out.String() + source[done:] + more.String()
}

// call is the statement that hands a call of f on to one of its variants.
func call(f *ast.FuncDecl, suffix int) string {
	name := fmt.Sprintf("%s_%d", f.Name.Name, suffix)
	if f.Recv != nil {
		name = f.Recv.List[0].Names[0].Name + "." + name
	}
	var args []string
	for _, field := range f.Type.Params.List {
		for _, n := range field.Names {
			args = append(args, n.Name)
		}
	}
	name += "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results != nil {
		name = "return " + name
	}
	return name
}

// in is the file of a mutant.
func (m *mutant) in() string {
	if m.file == "" {
		return "decide.go"
	}
	return m.file
}
