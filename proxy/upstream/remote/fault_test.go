//go:build unix

package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fencegate/fence"
)

// faults are what stores do to a request whose head has come.
var faults = []func(*peer){
	func(p *peer) { p.say("HTTP/1.1 413 No\r\n" + whole) },
	func(p *peer) { p.say("HTTP/1.1 507 Full\r\nConnection: close\r\n" + whole); p.rest() },
	func(p *peer) { p.netConn().SetLinger(0) },
	func(p *peer) { p.netConn().CloseWrite(); p.rest() },
	func(p *peer) { p.body(1); p.say("HTTP/1.1 201 Crea") },
	func(p *peer) { p.say("HTTP/1.1 100 Continue\r\n\r\n"); p.rest() },
	func(p *peer) { p.say("SSH-2.0-OpenSSH_9.2\r\n\r\n"); p.rest() },
	func(p *peer) { p.say("HTTP/1.1 201 Created\r\n" + whole + "more"); p.rest() },
	func(p *peer) { p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n") },
	func(p *peer) { p.rest() }, // takes all and says nothing
	func(p *peer) {},
}

// Whatever stores do and whenever clients give up, no request leaves anything
// behind but connections that are good.
func TestNothingIsLeftBehind(t *testing.T) {
	schemes(t, func(t *testing.T, by scheme) {
		const clients = 8
		requests := 1000
		if strings.Contains(t.Name(), "TLS") {
			requests = 200 // handshakes take their time
		}
		before, goroutines := openFiles(t), runtime.NumGoroutine()
		s := by.listen(t, func(p *peer) {
			for n := 0; ; n++ {
				head := p.head()
				var fault, size int
				fmt.Sscanf(head[strings.Index(head, " /")+2:], "%d/%d", &fault, &size)
				if fault < len(faults) {
					if faults[fault](p); fault == 0 && size == 0 {
						continue // a refusal that can be kept: TestUnannouncedCloses is about its end
					}
					return
				}
				p.body(size)
				p.say("HTTP/1.1 201 Created\r\n" + whole)
			}
		})
		s.wants, s.maybe = int64(requests)+1, true
		u := by.open(t, s, Options{Idle: time.Minute})
		var all sync.WaitGroup
		for client := range clients {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			all.Go(func() {
				for range requests / clients {
					fault, size := random.IntN(2*len(faults)), []int{0, 1, 1000, chunk, 1 << 20}[random.IntN(5)]
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					if fault >= len(faults) {
						cancel()
						ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
					}
					target, body := fmt.Sprintf("/%d/%d", fault, size), strings.NewReader(large[:size])
					switch random.IntN(4) {
					case 0:
						r := request("GET", fmt.Sprintf("/%d/0", fault)).WithContext(ctx)
						u.Read(httptest.NewRecorder(), r)
					case 1:
						_, outcome, err := u.Stream(ctx, request("PUT", target), body, int64(size))
						wantGood(t, target, fault, outcome, err)
					default:
						_, outcome, err := u.Write(ctx, request("PUT", target), body, int64(size))
						wantGood(t, target, fault, outcome, err)
					}
					cancel()
				}
			})
		}
		all.Wait()
		last, outcome, err := u.Write(t.Context(), request("PUT", fmt.Sprintf("/%d/4", len(faults))), strings.NewReader("body"), 4)
		wantGood(t, "the last", len(faults), outcome, err)
		if last != nil {
			last.Body.Close()
		}
		if n := u.unused(); n == 0 || n > clients {
			t.Errorf("%d connections are kept", n)
		}
		u.mu.Lock()
		if len(u.pool.all) != len(u.pool.idle) {
			t.Errorf("%d connections of %d are unused", len(u.pool.idle), len(u.pool.all))
		}
		u.mu.Unlock()
		u.Close()
		s.stop()
		for end := time.Now().Add(10 * time.Second); openFiles(t) > before || runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d files and %d goroutines, %d and %d before", openFiles(t), runtime.NumGoroutine(), before, goroutines)
			}
		}
	})
}

// wantGood: stores that behave are not blamed for what others did.
func wantGood(t *testing.T, target string, fault int, outcome fence.Outcome, err error) {
	if fault >= len(faults) && (outcome != fence.Definite || err != nil) {
		t.Errorf("%s: %v %v", target, outcome, err)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
