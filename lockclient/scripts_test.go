package lockclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fencegate/fence"
)

const (
	testLock    = "{ns}:lock:/r"
	testCounter = "{ns}:token"
	maxExact    = 1<<53 - 1
)

// script runs one script as a client in another language would.
func (s *server) script(sc *redis.Script, keys []string, args ...any) string {
	s.t.Helper()
	got, err := sc.Run(context.Background(), s.rdb, keys, args...).Slice()
	if err != nil {
		return "error " + err.Error()
	}
	for _, v := range got {
		if _, ok := v.(string); !ok {
			s.t.Errorf("answer %v is a %T, want strings only", v, v)
		}
	}
	return strings.TrimSpace(fmt.Sprintln(got...))
}

func (s *server) acquire(owner, above, tokens string) string {
	s.t.Helper()
	return s.script(acquireScript, []string{testLock, testCounter}, owner, 10000, above, tokens)
}

func TestAcquireScript(t *testing.T) {
	s := startRedis(t)
	for _, tc := range []struct {
		name           string
		counter, above string
		want, after    string
	}{
		{"first", "", "0", "ok 1", "1"},
		{"next", "41", "0", "ok 42", "42"},
		{"above a minimum", "41", "100", "ok 101", "101"},
		{"minimum already passed", "41", "7", "ok 42", "42"},
		{"last token", strconv.Itoa(maxExact - 1), "0", "ok 9007199254740991", "9007199254740991"},
		{"none left", strconv.Itoa(maxExact), "0", "exhausted 9007199254740991", "9007199254740991"},
		{"none left above the minimum", "41", strconv.Itoa(maxExact), "exhausted 9007199254740991", "41"},
		{"counter beyond exact numbers", "9007199254740993", "0", "exhausted 9007199254740992", "9007199254740993"},
		{"near the last token", "9007199254740989", "0", "ok 9007199254740990", "9007199254740990"},
		{"garbage", "many", "0", "counter many", "many"},
		{"negative", "-5", "0", "counter -5", "-5"},
		{"fraction", "1.5", "0", "counter 1.5", "1.5"},
		{"hexadecimal", "0x10", "0", "counter 0x10", "0x10"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.flush()
			if tc.counter != "" {
				s.set(testCounter, tc.counter)
			}
			if got := s.acquire("me", tc.above, "plain"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := s.get(testCounter); got != tc.after {
				t.Errorf("counter is %q, want %q", got, tc.after)
			}
			token, ok := strings.CutPrefix(tc.want, "ok ")
			if got := s.get(testLock); ok && got != token+":me" || !ok && got != "" {
				t.Errorf("lock holds %q", got)
			}
		})
	}
}

func TestAcquireScriptRefusesACounterOfAnotherType(t *testing.T) {
	s := startRedis(t)
	s.rdb.LPush(t.Context(), testCounter, "x")
	if got := s.acquire("me", "0", "time"); got != "counter a value of another type" {
		t.Error(got)
	}
	if s.get(testLock) != "" {
		t.Error("the lock was taken")
	}
}

func TestAcquireScriptFollowsTheClock(t *testing.T) {
	s := startRedis(t)
	now := func() int64 { return s.rdb.Time(t.Context()).Val().UnixMicro() }
	before := now()
	got, err := strconv.ParseInt(strings.TrimPrefix(s.acquire("me", "0", "time"), "ok "), 10, 64)
	if err != nil || got <= before || got > now()+1 {
		t.Errorf("token %d, %v; want just above %d", got, err, before)
	}
}

func TestAcquireScriptIsRepeatable(t *testing.T) {
	s := startRedis(t)
	first := s.acquire("me", "0", "time")
	s.rdb.PExpire(t.Context(), testLock, 3*time.Second)
	if again := s.acquire("me", "0", "time"); again != first {
		t.Errorf("%q, then %q", first, again)
	}
	if d := s.rdb.PTTL(t.Context(), testLock).Val(); d > 3*time.Second {
		t.Errorf("the repetition extended the lease to %v", d)
	}
	got := s.acquire("other", "0", "time")
	status, ms, _ := strings.Cut(got, " ")
	if n, err := strconv.Atoi(ms); status != "held" || err != nil || n <= 0 || n > 3000 {
		t.Errorf("another got %q", got)
	}
}

func TestRenewAndReleaseCompareTheOwner(t *testing.T) {
	s := startRedis(t)
	renew := func(owner string) string {
		return s.script(renewScript, []string{testLock}, owner, 5000)
	}
	release := func(owner string) string {
		return s.script(releaseScript, []string{testLock}, owner, "{ns}:free:/r")
	}
	if renew("me") != "missing" || release("me") != "missing" {
		t.Error("a free lock was renewed or released")
	}
	s.acquire("me", "0", "plain")
	for _, other := range []string{"other", "m", "1:me", ""} {
		if renew(other) != "other" || release(other) != "other" {
			t.Errorf("%q passed for the owner", other)
		}
	}
	if got := renew("me"); got != "ok 1" {
		t.Error(got)
	}
	if d := s.rdb.PTTL(t.Context(), testLock).Val(); d > 5*time.Second {
		t.Errorf("expires in %v", d)
	}
	sub := s.rdb.Subscribe(t.Context(), "{ns}:free:/r")
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := release("me"); got != "ok 1" {
		t.Error(got)
	}
	if _, err := sub.ReceiveMessage(t.Context()); err != nil {
		t.Error(err)
	}
	if s.get(testLock) != "" {
		t.Error("still locked")
	}
}

func TestRemintScript(t *testing.T) {
	s := startRedis(t)
	day := func(d time.Duration) string {
		return strconv.FormatInt(s.rdb.Time(t.Context()).Val().Add(d).UnixMicro(), 10)
	}
	remint := func(old, fresh, above, tokens string) string {
		return s.script(remintScript, []string{testLock, testCounter}, old, fresh, 10000, above, tokens)
	}
	if got := remint("me", "new", "5", "plain"); got != "missing" {
		t.Error(got)
	}
	for _, tc := range []struct{ name, counter, above, tokens, want string }{
		{"above the mark", "10", "500", "plain", "ok 501"},
		{"above the counter", "10", "3", "plain", "ok 12"},
		{"counter lost", "", "0", "plain", "ok 12"},
		{"up to a day ahead", "10", day(23 * time.Hour), "plain", "ok"},
		{"beyond a day", "10", day(25 * time.Hour), "plain", "bounded"},
		{"counter far ahead, mark near it", day(48 * time.Hour), day(49 * time.Hour), "time", "ok"},
		{"the last token", "10", strconv.Itoa(maxExact), "plain", "exhausted"},
		{"mark beyond exact numbers", "10", "9223372036854775807", "plain", "exhausted"},
		{"garbage", "x", "5", "plain", "counter x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.flush()
			s.set(testCounter, "10")
			s.acquire("me", "0", "plain") // token 11
			if tc.counter == "" {
				s.rdb.Del(t.Context(), testCounter)
			} else if tc.counter != "10" {
				s.set(testCounter, tc.counter)
			}
			s.rdb.PExpire(t.Context(), testLock, 3*time.Second)
			before := s.get(testLock)
			if got := remint("third", "new", tc.above, tc.tokens); got != "other" {
				t.Errorf("a third owner got %q", got)
			}
			got := remint("me", "new", tc.above, tc.tokens)
			if !strings.HasPrefix(got, tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			token, ok := strings.CutPrefix(got, "ok ")
			if !ok {
				if after := s.get(testLock); after != before {
					t.Errorf("refused, but the lock changed from %q to %q", before, after)
				}
				return
			}
			if s.get(testLock) != token+":new" || s.get(testCounter) != token {
				t.Errorf("lock %q, counter %q", s.get(testLock), s.get(testCounter))
			}
			if d := s.rdb.PTTL(t.Context(), testLock).Val(); d <= 3*time.Second {
				t.Errorf("expires in %v", d)
			}
			if again := remint("me", "new", tc.above, tc.tokens); again != got {
				t.Errorf("repeated: %q, then %q", got, again)
			}
		})
	}
}

func TestCounterFaultsAreErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		counter string
		want    error
	}{
		"garbage": {"x", ErrCounter}, "exhausted": {strconv.Itoa(maxExact), ErrTokenExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			s.set("{fencegate}:token", tc.counter)
			_, err := s.client().Lock(t.Context(), "/r")
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), "{fencegate}:token") {
				t.Error(err)
			}
			if s.get("{fencegate}:lock:/r") != "" {
				t.Error("the lock was taken")
			}
		})
	}
}

// Redis' clock keeps tokens rising when the counter is lost or set back.
func TestTokensRise(t *testing.T) {
	s := startRedis(t)
	tokensRise(t, s, s.client(), 2000, map[int]func(){
		300: s.flush,
		600: func() { s.set("{fencegate}:token", "17") },
		900: func() { s.rdb.ScriptFlush(t.Context()) },
		1200: func() {
			s.set("{fencegate}:token", strconv.FormatInt(time.Now().Add(-time.Hour).UnixMicro(), 10))
		},
		1500: s.flush,
		1800: func() { // and stay ahead of a counter that was ahead of the clock
			s.set("{fencegate}:token", strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10))
		},
	})
}

// Where the clock cannot help, the fence knows better.
func TestTokensRiseThroughTheFence(t *testing.T) {
	for name, opts := range map[string][]Option{"time": nil, "plain": {WithPlainCounter()}} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			f := startFence(t)
			tokensRise(t, s, s.client(append(opts, WithFence(f.URL))...), 200, map[int]func(){
				50:  func() { s.set("{fencegate}:token", strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)) },
				100: func() { s.rdb.Del(t.Context(), "{fencegate}:token") },
				150: s.flush,
			})
		})
	}
}

func tokensRise(t *testing.T, s *server, c *Client, n int, events map[int]func()) {
	t.Helper()
	last := fence.NoToken
	for i := range n {
		if event := events[i]; event != nil {
			event()
		}
		l, err := c.TryLock(t.Context(), "/r")
		if err != nil {
			t.Fatal(err)
		}
		if l.Token() <= last {
			t.Fatalf("acquisition %d: token %s after %s", i, l.Token(), last)
		}
		last = l.Token()
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryScriptSurvivesAScriptFlush(t *testing.T) {
	s := startRedis(t)
	f := startFence(t)
	c := s.client(WithFence(f.URL))
	forget := func() {
		if err := s.rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ahead := fence.Token(time.Now().Add(time.Hour).UnixMicro())
	f.raise("/r", ahead, "another") // so that the lock is re-minted
	f.beforeClaim = forget
	forget()
	l := mustLock(t, c, "/r")
	if l.Token() <= ahead {
		t.Errorf("token %s is not above the mark", l.Token())
	}
	forget()
	if err := l.renew(); err != nil {
		t.Error(err)
	}
	forget()
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
