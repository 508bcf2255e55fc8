package main

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// shape is what a value looks like in YAML.
type shape uint8

const (
	shapeText shape = iota
	shapeNumber
	shapeSize // a number, or a text with a unit
	shapeBool
)

var shapeNames = [...]string{"a text", "a number", "a number of bytes, or one with a unit: 64KiB, 500MiB, 10GiB, 1TiB", "true or false"}

// scalar returns the text of a value of the given shape. What would do, or what
// would not, if it were a text, is told in the words of set.
func (f *yamlFile) scalar(n ast.Node, at place, s shape, set func(text string) error) (text string, _ place, ok bool) {
	t := n.GetToken()
	here := f.at(t, at.name)
	switch n := n.(type) {
	case *ast.StringNode:
		if s == shapeText || s == shapeSize {
			return n.Value, here, true
		}
	case *ast.IntegerNode:
		if s == shapeNumber || s == shapeSize {
			return t.Value, here, true
		}
	case *ast.BoolNode:
		if s == shapeBool {
			return t.Value, here, true
		}
	}
	switch n.Type() {
	case ast.IntegerType, ast.FloatType, ast.BoolType:
		if s != shapeText {
			break
		}
		if err := set(t.Value); err != nil {
			f.faults.value(here, t.Value, err)
		} else {
			f.faults.add(here, "found %s, expected a text: write %q", t.Value, t.Value)
		}
		return "", at, false
	case ast.NullType:
		if strings.HasSuffix(at.name, "]") { // an element
			break
		}
		f.faults.add(at, "found nothing; leave the key out for the default")
		return "", at, false
	}
	f.unexpected(n, at, shapeNames[s])
	return "", at, false
}

// unexpected notes that a value has another form than it should.
func (f *yamlFile) unexpected(n ast.Node, at place, expected string) {
	t := n.GetToken()
	here := f.at(t, at.name)
	found := quoted(t.Value)
	switch n.Type() {
	case ast.AnchorType, ast.AliasType:
		f.faults.add(here, "found an anchor or alias, which is not supported: write the value out")
		return
	case ast.TagType:
		f.faults.add(here, "found the tag %s, which is not supported: leave it out", t.Value)
		return
	case ast.MappingType, ast.MappingValueType:
		here.line, here.col = f.begin(n)
		found = "keys"
	case ast.SequenceType:
		found = "a list"
	case ast.NullType:
		here, found = at, "nothing"
	case ast.LiteralType:
		found = "a text of several lines"
	case ast.StringType:
		found = "the text " + quoted(t.Value)
	case ast.IntegerType, ast.FloatType:
		found = "the number " + t.Value
	}
	f.faults.add(here, "found %s, expected %s", found, expected)
}
