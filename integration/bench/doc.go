// Bench measures what fencegate costs: the same load, by wrk, through fencegate,
// through proxies that check nothing (nginx, HAProxy, Caddy, the standard
// library's) and through fences built by hand (nginx with Lua and Redis; a
// transaction for each request), to the same sink, a store that takes a PUT,
// throws its body away and answers 204; or to and from files. Besides, without
// HTTP, what it costs to raise a mark; and the memory that fencegate takes.
//
//	go run ./integration/bench -quick
//	go run ./integration/bench -suite all -svg ratios.svg
//	go run ./integration/bench -suite all -markdown integration/BENCHMARKS.md
//
// The suites: main, with all that has a target; peers, of 1 KiB with all proxies;
// sizes, of 64 KiB and 8 MiB, of one connection and of 256; reads; dir, with files
// behind or in fencegate, and with nothing but the system calls that write them;
// raises; memory; disk, where each fsync of a ledger takes 2 ms or 10 ms longer.
// BENCHMARKS.md, beside this directory, has the results of one run; -markdown
// replaces what lies between two lines of such a page and keeps what is written by
// hand around them.
//
// There are two sinks. The one by default is a server on net/http, which reads a
// body into a pooled buffer: what many a small store is, and about 14 µs of CPU for
// each PUT of 1 KiB. The other one, for -store light, is written by hand for
// this purpose alone and takes half of that. Before it each proxy is more of what is
// measured, and the distances between proxies show more strongly than they will in
// use; the cases nginx-light and fencegate-light have it in every run, so that the
// main ratio is told with both. No store that writes to a disk is as cheap as
// either.
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
//     sink, nor by threads of the kernel. Beyond 8 per cent a run is repeated, up to
//     -repeats times, and for one case no more often than there are rounds; the
//     calmest run is kept. Where others go on all the same, the report says that
//     the machine was busy, and only ratios and CPU mean something.
//   - ratio: of the rates, or of what a proxy adds to the median time of an
//     answer. MISSED: the median is not as wanted.
//
// Cases without a rate have a figure instead. Memory is RssAnon: what is in no
// file, so not the ledger's pages, which the kernel may take back. That beside idle
// clients is taken after each of them has made a PUT and then none for as long as
// a run takes. The raises without HTTP are made by a process of this program:
// raise-* through fence's gate and store/bolt, bare-* by bbolt transactions that
// put the same keys and as many bytes into a copy of the same ledger, and compare
// nothing; in the end both must have the last tokens of all callers on disk.
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
// client 30 s, so that runs with such clients must be shorter; without tcp_nopush
// nginx sends head and body of a small file in two packets, which both sides pay
// for; bbolt is opened without its free list in the file where it stands alone,
// since that is cheaper.
package main
