package main

import (
	"strings"
	"testing"
)

const printed = `Running 1s test @ http://127.0.0.1:9001
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20ms    1.51ms  30.10ms   95.00%
  Requests/sec:  33204.01
Transfer/sec:      0.92MB
{"requests":50000,"micros":2000000,"p50":1072,"p99":38310,"bytes":99,"status":7,"connect":1,"read":2,"write":3,"timeout":4}
`

func TestTallyIsRead(t *testing.T) {
	got, err := parseTally([]byte(printed))
	want := tally{Requests: 50000, Micros: 2000000, P50: 1072, P99: 38310, Bytes: 99, Status: 7, Connect: 1, Read: 2, Write: 3, Timeout: 4}
	if err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if got.perSecond() != 25000 {
		t.Errorf("the rate is %v, want 25000", got.perSecond())
	}
	if got.socketFaults() != 10 {
		t.Errorf("socket faults: %d, want 10", got.socketFaults())
	}
}

func TestTallyThatIsNone(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"nothing", "", "does not end in a tally"},
		{"the script has failed", "Running 1s test\nRequests/sec: 1\n", "does not end in a tally"},
		{"another script", `{"requests":1,"micros":1,"rps":3}`, `unknown field "rps"`},
		{"no answers", strings.Replace(printed, `"requests":50000`, `"requests":0`, 1), "no answer at all"},
		{"no time", strings.Replace(printed, `"micros":2000000`, `"micros":0`, 1), "no answer at all"},
	} {
		if got, err := parseTally([]byte(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
}
