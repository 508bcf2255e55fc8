package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxConfig is the largest configuration file. The time that the parser takes
// rises with the square of how deep a text is nested.
const maxConfig = 256 << 10

// yamlFile reads the parts of YAML that a configuration is made of: mappings
// with plain keys, sequences, and scalars on one line. Everything that would
// make a value stand somewhere else than where it is used, or be read in more
// than one way, is a fault.
type yamlFile struct {
	name   string
	faults *faults
}

// readConfigFile returns the text of a file.
func readConfigFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s is larger than %d KiB", path, maxConfig>>10)
	}
	return text, err
}

// root returns the file's one value, nil if it has none or cannot be read.
func (f *yamlFile) root(text []byte) ast.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			f.faults.add(place{file: f.name, line: i + 1, col: 1}, "expected UTF-8")
			return nil
		}
	}
	parsed, err := parse(text)
	if err != nil {
		at, message := place{file: f.name}, err.Error()
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			at, message = f.at(syntax.GetToken(), ""), syntax.GetMessage()
		}
		f.faults.add(at, "this is no YAML: %s", message)
		return nil
	}
	var root ast.Node
	for i, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case doc.Body.Type() == ast.DirectiveType:
			f.faults.add(f.at(doc.Body.GetToken(), ""), "expected no directive")
		case root != nil:
			f.faults.add(f.at(doc.Start, ""), "document %d of the file: expected one", i+1)
			return nil
		default:
			root = doc.Body
		}
	}
	return root
}

// parse is the parser's, made to return whatever happens in it.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser fails with %v", r)
		}
	}()
	return parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
}

func (f *yamlFile) at(t *token.Token, name string) place {
	p := place{file: f.name, name: name}
	if t != nil && t.Position != nil {
		p.line, p.col = t.Position.Line, t.Position.Column
	}
	return p
}

// members calls member for each key of a mapping that is one of known; all
// others are faults. within stands before the keys' names.
func (f *yamlFile) members(n ast.Node, at place, within string, known []string, member func(key string, at place, value ast.Node)) {
	mapping, ok := n.(*ast.MappingNode)
	if !ok {
		f.unexpected(n, at, "keys such as "+known[0]+":")
		return
	}
	first := map[string]place{}
	for _, m := range mapping.Values {
		key, isText := m.Key.(*ast.StringNode)
		if !isText {
			what := "a key"
			if m.Key.Type() == ast.MergeKeyType {
				what = "no merge key; write out what it stands for"
			}
			f.faults.add(f.at(m.Key.GetToken(), ""), "%s: expected %s", m.Key.GetToken().Value, what)
			continue
		}
		name := key.Value
		at := f.at(key.GetToken(), within+name)
		earlier, again := first[name]
		switch {
		case !slices.Contains(known, name):
			at.name = ""
			f.faults.add(at, "unknown key %s%s", quoted(within+name), didYouMean(name, known))
		case again:
			f.faults.add(at, "expected once, is in line %d already", earlier.line)
		default:
			first[name] = at
			member(name, at, m.Value)
		}
	}
}

// elements calls element for each one of a sequence.
func (f *yamlFile) elements(n ast.Node, at place, what string, element func(i int, at place, value ast.Node)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		f.unexpected(n, at, what)
		return
	}
	for i, v := range list.Values {
		one := f.at(v.GetToken(), fmt.Sprintf("%s[%d]", at.name, i))
		if _, ok := v.(*ast.MappingNode); ok {
			one.line, one.col = f.begin(v)
		}
		element(i, one, v)
	}
}

// begin is where a mapping begins: at its first key, not at that one's colon.
func (f *yamlFile) begin(n ast.Node) (line, col int) {
	t := n.GetToken()
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		t = m.Values[0].Key.GetToken()
	}
	at := f.at(t, "")
	return at.line, at.col
}
