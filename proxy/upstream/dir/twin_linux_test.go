package dir

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fencegate/fence"
)

// twin is the same store in the simplest way: what is at each path.
type twin map[string]thing

type thing struct {
	directory bool
	content   string
	prop      string // of the property p
}

// room returns 0 if something can be made at path, else the status.
func (w twin) room(path string) int {
	if up := path[:strings.LastIndexByte(path, '/')]; up != "" && !w[up].directory {
		return 409
	}
	return 0
}

func (w twin) put(path, content string) int {
	if status := w.room(path); status != 0 {
		return status
	}
	old, ok := w[path]
	if old.directory {
		return 409
	}
	w[path] = thing{content: content, prop: old.prop}
	if ok {
		return 204
	}
	return 201
}

func (w twin) mkcol(path string) int {
	if _, ok := w[path]; ok {
		return 405
	}
	if status := w.room(path); status != 0 {
		return status
	}
	w[path] = thing{directory: true}
	return 201
}

func (w twin) remove(path string) int {
	if _, ok := w[path]; !ok {
		return 404
	}
	maps.DeleteFunc(w, func(at string, _ thing) bool { return at == path || strings.HasPrefix(at, path+"/") })
	return 204
}

func (w twin) patch(path, value string) int {
	at, ok := w[path]
	if !ok {
		return 404
	}
	at.prop = value
	w[path] = at
	return 207
}

func (w twin) transfer(from, to string, move, deep, overwrite bool) int {
	if from == to || strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/") && deep {
		return 403
	}
	if _, ok := w[from]; !ok {
		return 404
	}
	if status := w.room(to); status != 0 {
		return status
	}
	status := 201
	if _, ok := w[to]; ok {
		if !overwrite {
			return 412
		}
		status = 204
	}
	taken := twin{}
	for at, what := range w {
		if at == from || deep && strings.HasPrefix(at, from+"/") {
			taken[to+at[len(from):]] = what
		}
	}
	w.remove(to)
	if move {
		w.remove(from)
	}
	maps.Copy(w, taken)
	return status
}

// found reads the same from the disk.
func found(t *testing.T, root string) twin {
	t.Helper()
	w := twin{}
	err := filepath.WalkDir(root, func(at string, e os.DirEntry, err error) error {
		path := strings.TrimPrefix(at, root)
		if err != nil || path == "" {
			return err
		}
		if path == "/"+area {
			return filepath.SkipDir
		}
		file, err := os.Open(at)
		if err != nil {
			return err
		}
		defer file.Close()
		props, err := propsOf(file)
		if err != nil {
			return err
		}
		what := thing{directory: e.IsDir()}
		for _, p := range props {
			value, _ := strings.CutPrefix(string(p.Element), `<p xmlns="urn:t">`)
			what.prop = strings.TrimSuffix(value, "</p>")
		}
		if !what.directory {
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			what.content = string(content)
		}
		w[path] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The store does what the twin does, whatever comes, and served again it is the
// same.
func TestTwin(t *testing.T) {
	const steps = 1500
	outcomes := strings.Split("PUT 201,PUT 204,PUT 409,MKCOL 201,MKCOL 405,MKCOL 409,DELETE 204,PROPPATCH 207,"+
		"COPY 201,COPY 204,COPY 403,COPY 404,COPY 409,COPY 412,MOVE 201,MOVE 204,MOVE 403,MOVE 404,MOVE 409,MOVE 412", ",")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var paths []string
	for _, a := range "abc" {
		paths = append(paths, fmt.Sprintf("/%c", a))
		for _, b := range "xy" {
			paths = append(paths, fmt.Sprintf("/%c/%c", a, b), fmt.Sprintf("/%c/%c/z", a, b))
		}
	}
	s := openDAV(t)
	w := twin{}
	seen := map[string]int{}
	unseen := func(outcome string) bool { return seen[outcome] == 0 }
	// Some come about rarely.
	for n := 0; n < steps || n < 30*steps && slices.ContainsFunc(outcomes, unseen); n++ {
		path, other := paths[random.IntN(len(paths))], paths[random.IntN(len(paths))]
		value := fmt.Sprint(n)
		var r *http.Request
		var want int
		switch random.IntN(8) {
		case 0, 1:
			r, want = request("PUT", path, value), w.put(path, value)
		case 2, 3:
			r, want = request("MKCOL", path, ""), w.mkcol(path)
		case 4:
			r, want = request("PROPPATCH", path, set("p", value)), w.patch(path, value)
		case 5:
			if random.IntN(3) == 0 {
				r, want = request("DELETE", path, ""), w.remove(path)
				break
			}
			fallthrough
		default:
			method, depth, overwrite := "MOVE", "infinity", "T"
			if random.IntN(2) == 0 {
				method = "COPY"
			}
			if method == "COPY" && random.IntN(4) == 0 {
				depth = "0"
			}
			if random.IntN(4) == 0 {
				overwrite = "F"
			}
			r = request(method, path, "", to(other, "Depth: "+depth, "Overwrite: "+overwrite)...)
			want = w.transfer(path, other, method == "MOVE", depth != "0", overwrite == "T")
		}
		res := s.do(t, r)
		what := fmt.Sprintf("seed %d, step %d: %s %s %v", seed, n, r.Method, path, r.Header)
		if res.StatusCode != want {
			t.Fatalf("%s: %d %q, want %d", what, res.StatusCode, text(t, res), want)
		}
		seen[fmt.Sprintf("%s %d", r.Method, want)]++
		if n == steps/2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openWith(t, s.root, Options{WebDAV: true})
		}
		if n%10 == 0 || n >= steps-1 {
			if got := found(t, s.root); !maps.Equal(got, w) {
				t.Fatalf("%s: there is\n%v, want\n%v", what, got, w)
			}
		}
	}
	for _, outcome := range outcomes {
		if unseen(outcome) {
			t.Errorf("never seen: %s; seen were %v", outcome, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// Many at once get answers, and leave whole versions.
func TestAllAtOnce(t *testing.T) {
	s := openDAV(t)
	var paths []string
	for _, a := range "ab" {
		paths = append(paths, fmt.Sprintf("/%c", a), fmt.Sprintf("/%c/x", a), fmt.Sprintf("/%c/y", a), fmt.Sprintf("/%c/x/z", a))
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), uint64(worker)))
			for n := range 150 {
				path, other := paths[random.IntN(len(paths))], paths[random.IntN(len(paths))]
				var r *http.Request
				switch method := []string{"PUT", "PUT", "MKCOL", "COPY", "MOVE", "PROPFIND", "GET", "PROPPATCH", "DELETE", "LOCK"}[random.IntN(10)]; method {
				case "PUT":
					r = request("PUT", path, string(version(worker*1000+n)))
				case "COPY", "MOVE":
					r = request(method, path, "", to(other)...)
				case "PROPPATCH":
					r = request(method, path, set("p", "1"))
				case "PROPFIND":
					r = request(method, path, "", depth1...)
				case "LOCK":
					res, _, err := s.serve(request("LOCK", path, lockBody("exclusive")))
					if err != nil {
						t.Error(err)
						return
					}
					r = request("UNLOCK", path, "", "Lock-Token: "+res.Header.Get("Lock-Token"))
				default:
					r = request(method, path, "")
				}
				res, o, err := s.serve(r)
				if err != nil || o != fence.Definite || res.StatusCode >= 500 {
					t.Errorf("%s %s: %v %v %v", r.Method, path, res, o, err)
				}
			}
		})
	}
	wait.Wait()
	for path, what := range found(t, s.root) {
		if !what.directory && what.content != "" && whichVersion([]byte(what.content)) < 0 {
			t.Errorf("%s is no whole version", path)
		}
	}
}
