package lockclient

import (
	"errors"
	"strings"

	"fencegate/fence"
)

// keyspace names everything in Redis that belongs to one namespace. The braces
// put all of it into one Redis Cluster slot, which a script that reads the
// counter and writes the lock needs.
type keyspace struct{ prefix string }

func newKeyspace(namespace string) (keyspace, error) {
	if namespace == "" || strings.ContainsAny(namespace, "{}") {
		return keyspace{}, errors.New("namespace: must not be empty or contain braces: they mark the cluster slot")
	}
	return keyspace{"{" + namespace + "}:"}, nil
}

func (k keyspace) lock(r fence.Resource) string    { return k.prefix + "lock:" + r.Key() }
func (k keyspace) channel(r fence.Resource) string { return k.prefix + "free:" + r.Key() }
func (k keyspace) counter() string                 { return k.prefix + "token" }
