package fence

import "fmt"

// Policy says how strictly touches under a route are judged; the steps of a
// roll-out, from none to all.
type Policy uint8

const (
	// Open: neither judged nor lifted.
	Open Policy = iota
	// Observe: judged, lifted and reported, never refused.
	Observe
	// Adopt: writes without a token pass until a token has been seen there.
	Adopt
	// Require: every write needs a token. The default.
	Require
)

var policyNames = [...]string{"open", "observe", "adopt", "require"}

func (p Policy) String() string { return policyNames[p] }

// Enforced reports whether a request under p can be refused or made to wait.
// Under the others a request begins as soon as it is ready, beside whatever is
// in flight; enforced ones still wait for it. The promises on order and owners
// hold for enforced policies only.
func (p Policy) Enforced() bool { return p >= Adopt }

// ParsePolicy reads a policy's name.
func ParsePolicy(s string) (Policy, error) {
	for i, name := range policyNames {
		if s == name {
			return Policy(i), nil
		}
	}
	return Require, fmt.Errorf("unknown policy %q: use open, observe, adopt or require", s)
}

// UnmarshalText is ParsePolicy, for flags and configuration.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}
