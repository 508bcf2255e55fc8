package fence

// Outcome is what became of a write at the upstream.
type Outcome uint8

const (
	// NotSent: not one byte of the request was sent; it can never take effect.
	NotSent Outcome = iota
	// Definite: the upstream has answered; if the write takes effect at all,
	// it already has.
	Definite
	// Uncertain: everything else. The write may still take effect until the
	// settle time has passed.
	Uncertain
)

func (o Outcome) String() string {
	switch o {
	case NotSent:
		return "not_sent"
	case Definite:
		return "definite"
	default:
		return "uncertain"
	}
}
