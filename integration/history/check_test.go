package history

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Histories are written as a table: operations of one object /x unless they say
// otherwise, with times that are small numbers.

func put(id string, token uint64, call, ret int64, status int, reason string) Operation {
	return Operation{ID: id, Client: "c", Kind: Put, Resource: "/x", Object: "/x", Token: token, Owner: "owner", Call: call, Return: ret, Status: status, Reason: reason}
}

func get(id string, token uint64, call, ret int64, value string) Operation {
	o := put(id, token, call, ret, 200, "")
	o.Kind, o.Value = Get, value
	if value == "" {
		o.Status = 404
	}
	return o
}

func claim(id string, token uint64, call, ret int64, status int) Operation {
	return Operation{ID: id, Client: "c", Kind: Claim, Resource: "/x", Token: token, Owner: "owner", Call: call, Return: ret, Status: status}
}

// with returns o changed.
func with(o Operation, change func(*Operation)) Operation {
	change(&o)
	return o
}

func tree(o Operation) Operation { o.Tree = true; return o }

func took(at int64, id string) Effect { return Effect{At: at, ID: id, Object: "/x"} }

func below(o Operation) Operation { o.Resource, o.Object = "/t/a", "/t/a"; return o }

var histories = []struct {
	name string
	h    History
	want []Promise // all that are broken
}{
	{name: "nothing"},
	{"one after the other", History{
		[]Operation{claim("c1", 1, 0, 5, 200), get("r", 1, 6, 9, ""), put("a", 1, 10, 20, 201, ""), claim("c2", 2, 21, 25, 200), get("s", 2, 26, 29, "a"), put("b", 2, 30, 40, 204, "")},
		[]Effect{took(15, "a"), took(35, "b")}}, nil},
	{"side by side under one token", History{
		[]Operation{put("a", 1, 0, 100, 201, ""), put("b", 1, 0, 100, 201, ""), get("r", 1, 101, 102, "a")},
		[]Effect{took(30, "b"), took(40, "a")}}, nil},
	{"unknown, and it landed", History{
		[]Operation{put("a", 1, 0, 10, 504, "outcome_unknown"), claim("c", 2, 1, 90, 200), get("r", 2, 91, 95, "a")},
		[]Effect{took(80, "a")}}, nil},
	{"unknown, and it did not land", History{
		[]Operation{put("a", 1, 0, 10, 504, "outcome_unknown"), put("k", 1, 0, 0, 0, ""), claim("c", 2, 1, 90, 200), get("r", 2, 91, 95, "")}, nil}, nil},
	{"a reader without a token sees a write before its writer knows", History{
		[]Operation{put("a", 1, 0, 100, 201, ""), get("r", 0, 50, 60, "a")}, []Effect{took(10, "a")}}, nil},
	{"an old holder's read sees a later write", History{
		[]Operation{put("b", 2, 20, 40, 201, ""), get("r", 1, 0, 60, "b")}, []Effect{took(30, "b")}}, nil},
	{"a read that fails sees nothing", History{
		[]Operation{put("b", 2, 0, 10, 201, ""), with(get("r", 2, 20, 40, ""), func(o *Operation) { o.Status = 503 })}, []Effect{took(5, "b")}}, nil},
	{"refused", History{
		[]Operation{put("b", 2, 20, 40, 201, ""), put("a", 1, 50, 60, 412, "stale_token")}, []Effect{took(30, "b")}}, nil},
	{"a delete of a tree", History{
		[]Operation{below(put("a", 1, 0, 10, 201, "")), tree(with(put("d", 2, 20, 30, 204, ""), func(o *Operation) { o.Kind, o.Resource, o.Object = Delete, "/t", "/t" })), below(get("r", 0, 40, 50, ""))},
		[]Effect{{At: 5, ID: "a", Object: "/t/a"}, {At: 25, ID: "d", Object: "/t", Delete: true}}}, nil},

	{"an older token took effect later", History{
		[]Operation{put("b", 2, 0, 0, 0, ""), put("a", 1, 0, 0, 0, "")}, []Effect{took(20, "b"), took(30, "a")}}, []Promise{Order, Linear}},
	{"a write without a token after one with", History{
		[]Operation{put("b", 2, 0, 0, 0, ""), put("a", 0, 0, 0, 0, "")}, []Effect{took(20, "b"), took(30, "a")}}, []Promise{Order, Linear}},
	{"an older token removed what a newer one wrote below", History{
		[]Operation{below(put("a", 2, 0, 0, 0, "")), tree(with(put("d", 1, 0, 0, 0, ""), func(o *Operation) { o.Kind, o.Resource, o.Object = Delete, "/t", "/t" }))},
		[]Effect{{At: 5, ID: "a", Object: "/t/a"}, {At: 25, ID: "d", Object: "/t", Delete: true}}}, []Promise{Order, Linear}},
	{"after a claim", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), claim("c", 2, 5, 10, 200)}, []Effect{took(11, "a")}}, []Promise{Cut, Linear}},
	{"after a read with a token", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), get("r", 2, 5, 10, "")}, []Effect{took(11, "a")}}, []Promise{Cut, Linear}},
	{"after an error of the store", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), put("b", 2, 5, 10, 500, "")}, []Effect{took(11, "a")}}, []Promise{Cut, Linear}},
	{"after a claim of the tree", History{
		[]Operation{below(put("a", 1, 0, 0, 0, "")), tree(with(claim("c", 2, 5, 10, 200), func(o *Operation) { o.Resource = "/t" }))},
		[]Effect{{At: 11, ID: "a", Object: "/t/a"}}}, []Promise{Cut, Linear}},
	{"after a claim of the root", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), tree(with(claim("c", 2, 5, 10, 200), func(o *Operation) { o.Resource = "/" }))},
		[]Effect{took(11, "a")}}, []Promise{Cut, Linear}},
	{"a claim of a neighbour cuts off nothing", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), tree(with(claim("c", 2, 5, 10, 200), func(o *Operation) { o.Resource = "/xy" }))},
		[]Effect{took(11, "a")}}, nil},
	{"a refused claim cuts off nothing", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), with(claim("c", 2, 5, 10, 503), func(o *Operation) { o.Reason = "busy" })},
		[]Effect{took(11, "a")}}, nil},
	{"two owners", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), with(put("b", 1, 0, 0, 0, ""), func(o *Operation) { o.Owner = "another" })},
		[]Effect{took(1, "a"), took(2, "b")}}, []Promise{OneOwner}},
	{"one owner and none", History{
		[]Operation{put("a", 1, 0, 0, 0, ""), with(put("b", 1, 0, 0, 0, ""), func(o *Operation) { o.Owner = "" })},
		[]Effect{took(1, "a"), took(2, "b")}}, nil},
	{"refused, and it took effect", History{
		[]Operation{put("a", 1, 0, 10, 412, "stale_token")}, []Effect{took(5, "a")}}, []Promise{Honest}},
	{"refused, and it took effect later", History{
		[]Operation{put("a", 1, 0, 10, 409, "owner_conflict")}, []Effect{took(50, "a")}}, []Promise{Honest}},
	{"busy, and it took effect", History{
		[]Operation{put("a", 1, 0, 10, 503, "busy")}, []Effect{took(5, "a")}}, []Promise{Honest}},
	{"done, but it never took effect", History{
		[]Operation{put("a", 1, 0, 10, 201, "")}, nil}, []Promise{Honest}},
	{"done before it took effect", History{
		[]Operation{put("a", 1, 0, 10, 201, "")}, []Effect{took(12, "a")}}, []Promise{Honest}},
	{"sent twice", History{
		[]Operation{put("a", 1, 0, 30, 201, "")}, []Effect{took(5, "a"), took(15, "a")}}, []Promise{Once}},
	{"nobody's", History{nil, []Effect{took(5, "a")}}, []Promise{Truthful}},
	{"on another object", History{
		[]Operation{put("a", 1, 0, 30, 201, "")}, []Effect{{At: 5, ID: "a", Object: "/y"}}}, []Promise{Truthful}},
	{"before it was asked for", History{
		[]Operation{put("a", 1, 10, 30, 201, "")}, []Effect{took(5, "a")}}, []Promise{Truthful}},
	{"a read sees what was overwritten", History{
		[]Operation{put("a", 1, 0, 10, 201, ""), put("b", 1, 11, 20, 204, ""), get("r", 1, 21, 30, "a")},
		[]Effect{took(5, "a"), took(15, "b")}}, []Promise{Linear}},
	{"a read sees what was never written", History{
		[]Operation{get("r", 1, 21, 30, "a")}, nil}, []Promise{Linear}},
	{"a read sees what is not there yet", History{
		[]Operation{get("r", 1, 0, 5, "a"), put("a", 1, 6, 10, 201, "")}, []Effect{took(8, "a")}}, []Promise{Linear}},
	{"a read misses what is there", History{
		[]Operation{put("a", 1, 0, 10, 201, ""), get("r", 1, 11, 20, "")}, []Effect{took(5, "a")}}, []Promise{Linear}},
	{"an answer to an older token after a newer claim", History{
		[]Operation{claim("c", 2, 0, 10, 200), get("r", 1, 11, 20, "")}, nil}, []Promise{Linear}},
}

func TestHistories(t *testing.T) {
	for _, c := range histories {
		t.Run(c.name, func(t *testing.T) {
			v := Check(c.h, time.Minute)
			var got []Promise
			for _, found := range v.Violations {
				if !slices.Contains(got, found.Promise) {
					got = append(got, found.Promise)
				}
				if len(found.Operations)+len(found.Effects) == 0 || !strings.Contains(found.String(), string(found.Promise)+" broken at /") {
					t.Errorf("without evidence: %v", found)
				}
			}
			if !slices.Equal(got, c.want) || len(v.Undecided) > 0 {
				t.Errorf("broken: %q, want %q; undecided: %q\n%v", got, c.want, v.Undecided, v.Violations)
			}
		})
	}
}
