package lockclient

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/redis/go-redis/v9"
)

func TestOptionFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		opt  Option
		want string // part of the message, "" for accepted
	}{
		"smallest TTL":            {WithTTL(100 * time.Millisecond), ""},
		"TTL too short":           {WithTTL(99 * time.Millisecond), "ttl"},
		"TTL zero":                {WithTTL(0), "ttl"},
		"TTL negative":            {WithTTL(-time.Second), "ttl"},
		"TTL of an overflow":      {WithTTL(math.MaxInt64), "ttl"},
		"no wait":                 {WithMaxWait(0), ""},
		"endless wait":            {WithMaxWait(math.MaxInt64), ""},
		"negative wait":           {WithMaxWait(-1), "max wait"},
		"namespace":               {WithNamespace("shop:prod"), ""},
		"empty namespace":         {WithNamespace(""), "namespace"},
		"opening brace":           {WithNamespace("a{b"), "namespace"},
		"closing brace":           {WithNamespace("a}b"), "namespace"},
		"name":                    {WithName("nightly-report_2"), ""},
		"name from data":          {WithName("/reports/q3.csv"), "name"},
		"empty name":              {WithName(""), "name"},
		"long name":               {WithName(strings.Repeat("a", 65)), "name"},
		"fence":                   {WithFence("http://localhost:8080"), ""},
		"fence with slash":        {WithFence("https://[::1]/"), ""},
		"fence without scheme":    {WithFence("localhost:8080"), "fence"},
		"fence without host":      {WithFence("http://"), "fence"},
		"fence with path":         {WithFence("http://h/base"), "fence"},
		"fence with query":        {WithFence("http://h?x"), "fence"},
		"fence with user":         {WithFence("http://u:secret@h"), "fence"},
		"fence with a bad port":   {WithFence("http://u:secret@h:x"), "fence"},
		"fence of another kind":   {WithFence("redis://h"), "fence"},
		"empty fence":             {WithFence(""), "fence"},
		"no HTTP client":          {WithHTTPClient(nil), "http client"},
		"HTTP client":             {WithHTTPClient(http.DefaultClient), ""},
		"metrics off":             {WithMetrics(nil), ""},
		"client with odd letters": {WithClient("a\nb"), ""},
		"no option":               {nil, ""},
	} {
		_, err := defaults().with([]Option{tc.opt})
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v", name, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the message shows the password: %v", name, err)
		}
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer func() { _ = rdb.Close() }()
	_, err := New(rdb, WithTTL(0), WithNamespace("{"), WithFence("x"), WithName("!"))
	merr, isMulti := err.(*multierror.Error)
	if !isMulti || len(merr.Errors) != 4 {
		t.Errorf("got %v", err)
	}
	if _, err := New(nil); err == nil {
		t.Error("New(nil) works")
	}
	c, err := New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, path := range []string{"", "r", "/a//b", "/a/../b", "/a%2Fb", "/" + strings.Repeat("a", 5000)} {
		if _, err := c.TryLock(t.Context(), path); err == nil || strings.Contains(err.Error(), "redis") {
			t.Errorf("path %.20q: got %v", path, err)
		}
	}
	if _, err := c.TryLock(t.Context(), "/r", WithTTL(0)); err == nil || !strings.Contains(err.Error(), "ttl") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsOfALockOverrideThoseOfTheClient(t *testing.T) {
	s := startRedis(t)
	c := s.client(WithTTL(time.Hour), WithNamespace("a"))
	mustLock(t, c, "/r", WithTTL(time.Minute), WithNamespace("b"), WithPlainCounter())
	if d := s.rdb.PTTL(t.Context(), "{b}:lock:/r").Val(); d <= 0 || d > time.Minute {
		t.Errorf("expiry in %v", d)
	}
	if got := s.get("{b}:token"); got != "1" {
		t.Errorf("plain token %s", got)
	}
	mustLock(t, c, "/r")
	if d := s.rdb.PTTL(t.Context(), "{a}:lock:/r").Val(); d <= time.Minute {
		t.Errorf("the client's own default is %v now", d)
	}
}
