package front

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// Pieces of all sizes around that of the buffer come out whole and in order.
func TestChunksOfAllSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 2, 15, 16, 255, 256, 4<<10 - frame - 1, 4<<10 - frame, 4<<10 - frame + 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 64 << 10}
	for range 200 {
		var want bytes.Buffer
		w := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Date"] = []string{strings.Repeat("x", rnd.IntN(5000))} // so that chunks begin anywhere
			for range 1 + rnd.IntN(8) {
				n := sizes[rnd.IntN(len(sizes))]
				if rnd.IntN(2) == 0 {
					n = 1 + rnd.IntN(9000)
				}
				piece := bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, n)
				want.Write(piece)
				if m, err := rw.Write(piece); m != n || err != nil {
					t.Errorf("%d of %d are written: %v", m, n, err)
				}
				if rnd.IntN(4) == 0 {
					_ = http.NewResponseController(rw).Flush()
				}
			}
		})
		c := w.dial()
		c.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%d bytes come, want %d, %v", len(got), want.Len(), err)
		}
		if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
			t.Fatalf("behind it there is %q, %v", rest, err)
		}
	}
}
