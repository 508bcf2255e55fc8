package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/lockclient"
)

// runHolder is a lock holder as a process of its own. Its arguments are the
// address of Redis, the URL of the fence, its name, the TTL, and "time" or
// "plain" for the kind of tokens. It obeys lines on standard input:
//
//	lock PATH   → locked TOKEN OWNER
//	put TEXT    → STATUS REASON HIGHEST   any HTTP client, with the lock's stamp
//	send TEXT   → STATUS                  through the lock's Transport
//	            → refused TYPE REASON     what Transport returned instead
//	unlock      → unlocked, or the error
func runHolder(args []string) int {
	ttl, err := time.ParseDuration(args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rdb := redis.NewClient(&redis.Options{Addr: args[0]})
	opts := []lockclient.Option{
		lockclient.WithFence(args[1]), lockclient.WithClient(args[2]), lockclient.WithTTL(ttl),
	}
	if args[4] == "plain" {
		opts = append(opts, lockclient.WithPlainCounter())
	}
	locks, err := lockclient.New(rdb, opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var lock *lockclient.Lock
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "lock":
			if lock, err = locks.Lock(context.Background(), rest); err != nil {
				fmt.Fprintln(os.Stderr, "lock:", err)
				return 1
			}
			fmt.Println("locked", lock.Token(), string(lock.Stamp().Owner))
		case "put":
			fmt.Println(holderPut(args[1], lock, rest))
		case "send":
			fmt.Println(holderSend(args[1], lock, rest))
		case "unlock":
			if err := lock.Unlock(context.Background()); err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println("unlocked")
		}
	}
	return 0
}

// holderPut is what any program does that knows the headers: it looked at its
// lease some time ago, and nothing on this side stops a late write.
func holderPut(fence string, lock *lockclient.Lock, text string) string {
	r, err := http.NewRequest(http.MethodPut, fence+lock.Resource().String(), strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	stamp := lock.Stamp()
	r.Header.Set("X-Fencing-Token", stamp.Token.String())
	r.Header.Set("X-Fencing-Owner", string(stamp.Owner))
	r.Header.Set("X-Fencing-Client", stamp.Client)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return strings.Join([]string{fmt.Sprint(res.StatusCode), res.Header.Get("X-Fencing-Reason"), res.Header.Get("X-Fencing-Highest")}, " ")
}

func holderSend(fence string, lock *lockclient.Lock, text string) string {
	r, err := http.NewRequest(http.MethodPut, fence+lock.Resource().String(), strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	client := &http.Client{Transport: lock.Transport(nil)}
	res, err := client.Do(r)
	var lost *lockclient.LostError
	var fenced *lockclient.FencedError
	switch {
	case errors.As(err, &fenced):
		return "refused FencedError " + fenced.Reason
	case errors.As(err, &lost):
		return "refused LostError " + string(lost.Reason)
	case err != nil:
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return fmt.Sprint(res.StatusCode)
}
