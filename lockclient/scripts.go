package lockclient

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed acquire.lua
	acquireLua string
	//go:embed renew.lua
	renewLua string
	//go:embed release.lua
	releaseLua string
	//go:embed remint.lua
	remintLua string
	//go:embed writeback.lua
	writebackLua string

	acquireScript   = redis.NewScript(acquireLua)
	renewScript     = redis.NewScript(renewLua)
	releaseScript   = redis.NewScript(releaseLua)
	remintScript    = redis.NewScript(remintLua)
	writebackScript = redis.NewScript(writebackLua)
)

// The first element of a script's answer.
const (
	statusOK        = "ok"
	statusHeld      = "held"
	statusMissing   = "missing"
	statusOther     = "other"
	statusBounded   = "bounded"
	statusExhausted = "exhausted"
	statusCounter   = "counter"
)

// noteExpired is the third element of acquire's "ok" when an earlier lease had
// run out.
const noteExpired = "expired"
