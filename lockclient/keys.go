package lockclient

import (
	"errors"
	"strings"

	"fencegate/fence"
)

// keyspace names everything in Redis that belongs to one namespace. The braces
// put all of it into one Redis Cluster slot, which a script that reads the
// counter and writes locks needs.
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

// lockKeys are the keys of one lock, in the order of its resources.
type lockKeys struct {
	locks    []string
	counted  []string // the first lock key, the counter, the other lock keys
	channels []string
}

func (k keyspace) of(resources []fence.Resource) lockKeys {
	n := len(resources)
	all := make([]string, 3*n+1)
	keys := lockKeys{all[:n:n], all[n : 2*n+1 : 2*n+1], all[2*n+1:]}
	for i, r := range resources {
		keys.locks[i] = k.lock(r)
		keys.channels[i] = k.channel(r)
	}
	keys.counted[0], keys.counted[1] = keys.locks[0], k.counter()
	copy(keys.counted[2:], keys.locks[1:])
	return keys
}

// index returns which of the lock keys a script named; the first if it named
// none, as scripts do where there is one.
func (k lockKeys) index(key string) int {
	for i, l := range k.locks {
		if l == key {
			return i
		}
	}
	return 0
}
