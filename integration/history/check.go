package history

import (
	"slices"
	"time"
)

// A Verdict is what all checks of a history found.
type Verdict struct {
	Violations []Violation
	Undecided  []string // register checks that ran out of time
}

// Check runs all checks. Each of the two searches for an order gets the
// patience.
func Check(h History, patience time.Duration) Verdict {
	var v Verdict
	for _, check := range []func(History) []Violation{CheckOrder, CheckClaims, CheckOwners, CheckAnswers} {
		v.Violations = append(v.Violations, check(h)...)
	}
	for _, by := range []Evidence{ByLog, ByClients} {
		found, undecided := CheckRegisters(h, by, patience)
		v.Violations = append(v.Violations, found...)
		for _, object := range undecided {
			v.Undecided = append(v.Undecided, object+" "+string(by))
		}
	}
	return v
}

// Of counts the violations of some promises.
func (v Verdict) Of(promises ...Promise) int {
	n := 0
	for _, found := range v.Violations {
		if slices.Contains(promises, found.Promise) {
			n++
		}
	}
	return n
}
