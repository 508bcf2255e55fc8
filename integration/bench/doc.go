// Bench measures what fencegate costs: the same load, by wrk, through fencegate,
// through proxies that check nothing (nginx, HAProxy, Caddy, the standard
// library's) and through fences built by hand (nginx with Lua and Redis; a
// transaction for each request), to the same sink, a store that takes a PUT and
// answers 204 for as little as possible; or to and from files.
//
//	go run ./integration/bench -quick
//	go run ./integration/bench -suite all -svg ratios.svg
//
// The suites: main; peers, of 1 KiB with all proxies; sizes, of 64 KiB and 8 MiB,
// of one connection and of 256; reads; dir, with files behind or in fencegate, and
// with nothing but the system calls that write them; disk, where each fsync of a
// ledger takes 2 ms or 10 ms longer. BENCHMARKS.md, beside this directory, has the
// results of one run.
//
// It builds fencegate, starts everything on free ports of the loopback interface
// and runs the cases in turn, several rounds of them, every second one backwards.
// Whatever else the machine does hits all alike then, so what counts is not
// requests per second but the ratio to another case of the same round: the
// table has its median over the rounds, and the range. The columns:
//
//   - req/s, p50, p99: as wrk sees them. It is a closed loop: each connection
//     sends its next request when it has the answer to the last one.
//   - CPU: user and system time of the proxy's own processes, with its Redis if it
//     has one (for "sink", of the sink), per request. It suffers least from what
//     else runs.
//   - all CPU: the same with that of the store and wrk. While nobody else runs all
//     cores are busy, and the rate is their number divided by it: the ratio "by CPU"
//     is that of a quiet machine, although this one is not, unless something
//     else than the CPU limits a case, such as the disk.
//   - others: the share of all cores that was used by none of wrk, proxy and
//     sink. Beyond a few per cent only ratios and CPU mean something.
//   - ratio: of the rates, or of what a proxy adds to the median time of an
//     answer. MISSED: the median is not as wanted.
//
// A run whose answers are not all what they should be is no measurement: after
// each one the count of answers is compared with what the sink has stored, or what
// files are there, and with what fencegate has counted; and each fence, also those
// of others, must refuse a late write before. A case with a wrong run is reported
// as invalid, without a number, and the exit code is 1.
//
// Traps that a change here must not fall into: nginx writes a body that is larger
// than its client_body_buffer_size to a file first; a ledger in a tmpfs makes
// rising tokens free (the table names the file system); a disk is slowed by strace,
// which costs some CPU at each fsync and nothing else; fencegate gives a stalled
// client 30 s, so that runs with such clients must be shorter.
package main
