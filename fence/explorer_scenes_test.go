package fence

import "time"

// explorerScenes are all scenes, each with one crash, one orderly stop and one
// failed commit at any point, and clients that give up at any point before
// their request begins. In a soak it is two of each, and there are more scenes.
func explorerScenes(soak bool) []*scene {
	more := uint8(0)
	if soak {
		more = 1
	}
	all := writingScenes()
	for _, sc := range all {
		sc.crashes, sc.stops, sc.failures = max(sc.crashes, 1)+more, 1+more, 1+more
	}
	if soak {
		for _, sc := range largeScenes() {
			sc.crashes, sc.stops, sc.failures = 1, 1, 1
			all = append(all, sc)
		}
	}
	return all
}

func writingScenes() []*scene {
	move := func(name, from, to string, source, destination Stamp) sending {
		f, t := tree(from, 0, ""), tree(to, 0, "")
		f.Stamp, t.Stamp = source, destination
		return write(name, f, t)
	}
	mkcol := func(p string, token Token, owner Owner) Touch {
		return with(put(p, token, owner), func(t *Touch) { t.Passive = true })
	}
	type w = []sending
	return []*scene{
		{
			name: "rising",
			writers: []w{
				{write("a", put("/r", 1, "a")), write("a2", put("/r", 1, "a"))},
				{write("b", put("/r", 2, "b")), write("b2", put("/r", 2, "b"))},
				{write("c", put("/r", 3, "c")), write("c2", put("/r", 3, "c"))},
			},
		},
		{
			name: "claim",
			writers: []w{
				{write("a", put("/r", 1, "a")), write("a2", put("/r", 1, "a"))},
				{write("b", put("/r", 2, "b")), ask("look", put("/r", 2, "b"))},
				{ask("claim", put("/r", 3, "c"))},
			},
			unclean: true,
		},
		{
			name: "claim of a tree",
			writers: []w{
				{write("a", put("/d/f", 1, "a")), write("d", tree("/d", 2, "b"))},
				{ask("claim", tree("/d", 2, "b")), write("b", put("/d/f", 2, "b"))},
				{write("c", put("/d/g", 1, "a"))},
			},
		},
		{
			name:    "crash in the hold, settle lowered",
			writers: []w{{write("a", put("/r", 1, "a"))}, {write("b", put("/r", 2, "b")), write("b2", put("/r", 2, "b"))}},
			settle:  []time.Duration{2 * unit, unit}, crashes: 2,
		},
		{
			name:    "settle raised",
			writers: []w{{write("a", put("/r", 1, "a"))}, {write("b", put("/r", 2, "b")), write("b2", put("/r", 2, "b"))}},
			settle:  []time.Duration{unit, 2 * unit}, crashes: 2,
		},
		{
			name:    "local storage",
			writers: []w{{write("a", put("/r", 1, "a")), write("a2", put("/r", 1, "a"))}, {write("b", put("/r", 2, "b")), write("b2", put("/r", 2, "b"))}},
			settle:  []time.Duration{0},
		},
		{
			name: "one number, two owners",
			writers: []w{
				{write("a", put("/r", 2, "a")), write("a2", put("/r", 2, ""))},
				{write("b", put("/r", 2, "b")), write("b2", put("/r", 2, "b"))},
				{write("n", put("/r", 2, "")), write("n2", put("/r", 1, ""))},
			},
		},
		{
			name: "tree",
			writers: []w{
				{write("a", tree("/d", 2, "a"))},
				{write("b", put("/d/f", 1, "b")), write("b2", put("/d/f", 3, "c"))},
				{write("g", put("/d/g", 1, "b"))},
			},
		},
		{
			name: "tree and one number",
			writers: []w{
				{write("a", tree("/d", 2, "a")), write("a2", put("/d/f", 2, "a"))},
				{write("b", put("/d/f", 2, "b")), write("b2", tree("/d", 2, "b"))},
				{write("p", put("/d", 2, "a"))},
			},
		},
		{
			name: "adopt",
			writers: []w{
				{write("n", under(Adopt, put("/d/f", 0, ""))), write("n2", under(Adopt, tree("/d", 0, "")))},
				{write("a", under(Adopt, put("/d/f", 2, "a"))), write("a2", under(Adopt, put("/d/f", 2, "a")))},
				{write("b", under(Adopt, put("/d/f", 1, "b")))},
			},
		},
		{
			name: "observe beside require",
			writers: []w{
				{write("o", under(Observe, put("/r", 1, "a"))), write("o2", under(Observe, put("/r", 3, "c")))},
				{write("a", put("/r", 1, "a")), ask("look", put("/r", 2, "b"))},
			},
		},
		{
			name: "open beside require",
			writers: []w{
				{write("o", under(Open, put("/r", 3, "c"))), write("o2", under(Open, put("/r", 1, "c")))},
				{write("a", put("/r", 1, "a")), write("n", put("/r", 0, ""))},
			},
		},
		{
			name: "move",
			writers: []w{
				{move("m", "/a", "/b", Stamp{Token: 1, Owner: "a"}, Stamp{Token: 2, Owner: "a"})},
				{write("b", put("/a", 2, "b")), write("b2", put("/b", 1, "b"))},
				{write("c", put("/b", 3, "c"))},
			},
		},
		{
			name: "move within a tree",
			writers: []w{
				{move("m", "/d", "/d/f", Stamp{Token: 1, Owner: "a"}, Stamp{Token: 2, Owner: "a"})},
				{move("k", "/d/f", "/d/g", Stamp{Token: 2, Owner: "a"}, Stamp{Token: 2, Owner: "b"})},
				{write("c", put("/d/f", 1, "c"))},
			},
		},
		{
			name: "move out of an observed tree",
			writers: []w{
				{write("m", under(Observe, tree("/d", 2, "a")), tree("/d/f", 1, "a"))},
				{write("k", under(Observe, tree("/d", 1, "a")), tree("/d/f", 2, "a"))},
				{write("n", under(Observe, tree("/d", 2, "a")), tree("/d/f", 2, "b")), write("c", put("/d/f", 1, "c"))},
			},
		},
		{
			name: "streams",
			writers: []w{
				{stream("a", put("/r", 1, "a")), stream("a2", put("/r", 1, "a"))},
				{stream("b", put("/r", 2, "b"))},
				{write("c", put("/r", 3, "c"))},
			},
		},
		{
			name: "fenced tree",
			writers: []w{
				{write("a", inTree("/t", "/t/1", 2, "a"))}, {write("a2", inTree("/t", "/t/1", 2, "a"))},
				{write("b", inTree("/t", "/t/2", 2, "a"))},
				{write("o", inTree("/t", "/t/2", 1, "b")), write("c", inTree("/t", "/t/2", 3, "c"))},
			},
		},
		{
			name: "a fenced tree in another",
			writers: []w{
				{write("a", inTree("/t", "/t/1", 1, "a")), write("a2", inTree("/t", "/t/1", 3, "a"))},
				{write("b", inTree("/t/n", "/t/n/1", 2, "b")), write("b2", inTree("/t/n", "/t/n/1", 2, "b"))},
			},
		},
		{
			name:    "global floor",
			writers: []w{{write("a", put("/r", 1, "a"))}, {write("b", put("/r", 2, "b"))}, {write("n", under(Adopt, put("/s", 0, "")))}, {write("k", put("/s", 0, ""))}},
			global:  2,
		},
		{
			name:    "collections",
			writers: []w{{write("k", mkcol("/d/f", 1, "a")), write("l", mkcol("/d/f", 0, ""))}, {write("a", put("/d/f", 2, "b"))}, {write("b", tree("/d", 3, "c"))}},
			before:  []Row{mark("/d/f", 1, "")},
		},
	}
}

// largeScenes take too long for every day.
func largeScenes() []*scene {
	type w = []sending
	return []*scene{
		{
			name: "observe and open beside require",
			writers: []w{
				{write("o", under(Observe, put("/r", 1, "a"))), write("o2", under(Observe, put("/r", 3, "c")))},
				{write("p", under(Open, put("/r", 3, "c")))},
				{write("a", put("/r", 1, "a")), ask("look", put("/r", 2, "b"))},
			},
		},
		{
			name: "claim, tree and move",
			writers: []w{
				{write("a", put("/d/f", 1, "a")), write("m", tree("/d", 2, "b"), tree("/e", 2, "b"))},
				{ask("claim", tree("/d", 3, "c")), write("c", put("/d/f", 3, "c"))},
				{write("e", put("/e", 1, "a")), write("e2", put("/e", 3, "c"))},
			},
		},
	}
}
