package harness

import "os"

// soakEnv, when it is set and not empty, asks for full counts: make soak.
const soakEnv = "FENCEGATE_SOAK"

// Scale returns how often a random test repeats what it would do full times
// in a soak: a tenth of it, at least once.
func Scale(full int) int {
	if os.Getenv(soakEnv) != "" {
		return full
	}
	return max(full/10, 1)
}
