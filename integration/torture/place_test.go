package torture

import (
	"path"
	"strings"
)

// A place is what a holder locks, and the objects it then writes.
type place struct {
	lock    string
	tree    bool // claimed as a tree, though its route does not say so
	objects []string
}

// places meet one another: /dir is locked as a whole and its parts one by one.
var places = []place{
	{lock: "/files/a", objects: []string{"/files/a"}},
	{lock: "/files/b", objects: []string{"/files/b"}},
	{lock: "/files/c", objects: []string{"/files/c"}},
	{lock: "/files/d", objects: []string{"/files/d"}},
	{lock: "/files/e", objects: []string{"/files/e"}},
	{lock: "/files/f", objects: []string{"/files/f"}},
	{lock: "/streams/a", objects: []string{"/streams/a"}},
	{lock: "/streams/b", objects: []string{"/streams/b"}},
	{lock: "/blocks/t1", objects: []string{"/blocks/t1/0", "/blocks/t1/1", "/blocks/t1/2"}},
	{lock: "/blocks/t2", objects: []string{"/blocks/t2/0", "/blocks/t2/1"}},
	{lock: "/blocks/t3", objects: []string{"/blocks/t3/0", "/blocks/t3/1"}},
	{lock: "/dir/x", objects: []string{"/dir/x"}},
	{lock: "/dir/y", objects: []string{"/dir/y"}},
	{lock: "/dir", tree: true, objects: []string{"/dir", "/dir/x", "/dir/y"}},
}

// routes is the configuration that makes these places.
const routes = `
routes:
  - {name: blocks, path: "/blocks/*", fence: tree}
  - {name: streams, path: "/streams/*", body: stream}
  - {name: rest, path: /}
`

// resourceOf is what a token for object is for, and whether that is a tree by
// its route.
func resourceOf(object string) (resource string, tree bool) {
	if strings.HasPrefix(object, "/blocks/") {
		return path.Dir(object), true
	}
	return object, false
}
