package fence

// Touch is one thing that a request needs to pass: the fence that judges it
// and the object that it changes. A request may have several, judged as one.
type Touch struct {
	// Fence is the resource whose rows judge the touch.
	Fence Resource
	// Object is the path that is changed; Fence itself, or below it when the
	// fence is a tree.
	Object Resource
	// Tree: everything below Object is changed too (a DELETE, a MOVE).
	Tree bool
	// FenceTree: the fence guards everything below it, so its mark is a floor.
	FenceTree bool
	// Passive: destroys nothing (MKCOL). Judged by floors only, raises
	// nothing, and needs a token only where the fence is a tree.
	Passive bool
	// Policy of the strictest route concerned.
	Policy Policy
	Stamp
}

// floors reports whether the row that the touch raises is a floor.
func (t *Touch) floors() bool { return t.Tree || t.FenceTree }

// key names the row that the touch raises.
func (t *Touch) key() Key {
	if t.floors() {
		return Key{Floor, t.Fence}
	}
	return Key{Mark, t.Fence}
}

// region is a path, alone or with everything below it.
type region struct {
	path Resource
	tree bool
}

func (t *Touch) fenceRegion() region  { return region{t.Fence, t.floors()} }
func (t *Touch) objectRegion() region { return region{t.Object, t.Tree} }

func (a region) overlaps(b region) bool {
	return a.path == b.path || a.tree && a.path.Covers(b.path) || b.tree && b.path.Covers(a.path)
}
