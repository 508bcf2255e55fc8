package proxy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
)

// A claim that is accepted says one thing only: written anew from what was
// understood, it is understood in the same way.
func FuzzClaim(f *testing.F) {
	for _, s := range []string{
		`{"resource":"/a","token":"5"}`, `{"resources":["/a","/b/"],"token":"9007199254740991","owner":"S3cret","client":"c","tree":true}`,
		`{"resource":"/caf%C3%A9","token":"5","owner":null}`, `{"resource":"/a","token":"5","token":"6"}`, `{"Resource":"/a","token":"5"}`,
		`{"resource":"/a","resources":null,"token":"5"}`, `{"resource":"\ud800","token":"5"}`, "{\"resource\":\"/\xff\",\"token\":\"5\"}",
		`{"resource":"/a","token":"5"} {}`, `{"resource":"/a","token":"05"}`, ` {"token":"5","resource":"/a\u002fb"}`, `[]`, `null`, `{`,
	} {
		f.Add([]byte(s))
	}
	p := &Proxy{opts: Options{MaxToken: fence.DefaultMaxToken, Now: time.Now}}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decodeClaim(text)
		if err != nil {
			if c != nil {
				t.Fatal("a claim and an error")
			}
			return
		}
		var stamp fence.Stamp
		names, ref := p.readClaim(c, &stamp)
		if ref != nil {
			if answers[ref.Reason].status == 0 || ref.Detail == "" {
				t.Fatalf("%q is refused with %+v", text, ref)
			}
			return
		}
		if len(names) == 0 || len(names) > maxClaimed || stamp.Token == fence.NoToken || stamp.Token > fence.DefaultMaxToken ||
			strings.ContainsFunc(string(stamp.Owner), func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Fatalf("%q claims %q with %+v", text, names, stamp)
		}
		anew := map[string]any{"resources": names, "token": stamp.Token.String(), "client": c.Client, "tree": c.Tree}
		if c.Owner != nil {
			anew["owner"] = *c.Owner
		}
		written, err := json.Marshal(anew)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeClaim(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		var other fence.Stamp
		otherNames, ref := p.readClaim(again, &other)
		if ref != nil || !reflect.DeepEqual(otherNames, names) || other != stamp || again.Client != c.Client || again.Tree != c.Tree {
			t.Fatalf("%q is %q of %+v, and written anew %q of %+v", text, names, stamp, otherNames, other)
		}
	})
}
