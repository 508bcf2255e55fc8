package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

// demoWriterCmd is one lock holder of the demonstration, a process of its own so
// that it can really be paused. It obeys lines on standard input:
//
//	lock RESOURCE    → locked TOKEN
//	write TEXT       → STATUS REASON
//
// Its writes are what any HTTP client sends that looked at its lease a moment
// ago: the token goes along, and nothing on this side stops a late one.
type demoWriterCmd struct {
	Redis  string        `required:"" name:"lock-redis"`
	Fence  string        `required:"" name:"lock-fence"`
	Client string        `required:""`
	TTL    time.Duration `required:""`
}

func (c *demoWriterCmd) Run(std streams) error {
	redis.SetLogger(quiet{})
	rdb := redis.NewClient(&redis.Options{Addr: c.Redis})
	defer rdb.Close()
	locks, err := lockclient.New(rdb, lockclient.WithFence(c.Fence), lockclient.WithTTL(c.TTL), lockclient.WithClient(c.Client))
	if err != nil {
		return err
	}
	defer locks.Close()
	var lock *lockclient.Lock
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		var answer string
		switch {
		case verb == "lock" && lock == nil:
			if lock, err = locks.Lock(context.Background(), rest); err != nil {
				return err
			}
			answer = "locked " + lock.Token().String()
		case verb == "write" && lock != nil:
			if answer, err = putStamped(c.Fence, lock, rest); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown line %q", lines.Text())
		}
		if _, err := fmt.Fprintln(std.out, answer); err != nil {
			return err
		}
	}
	if lock != nil {
		_ = lock.Unlock(context.Background()) // a holder that was overtaken no longer has it
	}
	return lines.Err()
}

// putStamped writes text to the lock's resource.
func putStamped(fence string, lock *lockclient.Lock, text string) (string, error) {
	r, err := http.NewRequest(http.MethodPut, fence+lock.Resource().String(), strings.NewReader(text+"\n"))
	if err != nil {
		return "", err
	}
	stamp := lock.Stamp()
	r.Header.Set("X-Fencing-Token", stamp.Token.String())
	r.Header.Set("X-Fencing-Owner", string(stamp.Owner))
	r.Header.Set("X-Fencing-Client", stamp.Client)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "", err
	}
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", res.Header.Get("X-Fencing-Reason"))), nil
}
