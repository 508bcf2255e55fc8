package proxy

import "fencegate/fence"

// Route says how the paths that it matches are protected.
type Route struct {
	// Name labels metrics and logs. It comes from the configuration, so there
	// are few.
	Name string
	// Policy of the route.
	Policy fence.Policy
	// OwnerRequired: a token is not enough, the owner must be told too.
	OwnerRequired bool
	// Names says how the store compares names.
	Names fence.NameOptions
}

// routes finds the route of a resource. There is one for all paths as yet.
type routes struct{ all Route }

func (r routes) match(fence.Resource) *Route { return &r.all }

// touch returns how a route protects one object.
func (r *Route) touch(object fence.Resource, tree bool, stamp fence.Stamp) fence.Touch {
	return fence.Touch{Fence: object, Object: object, Tree: tree, Policy: r.Policy, Stamp: stamp}
}
