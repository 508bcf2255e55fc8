// Package proxy is the HTTP side of fencegate: it stands before a store, judges
// every request that writes by its fencing token, and passes on what may pass.
//
// proxy.go holds the way of a request, one call per step:
//
//	read the head → intent → arrive at the gate → take in the body → begin →
//	send upstream → done → answer → one metric and, for a refusal, one log record
//
// Refusals are decided from the headers, before "100 Continue" and before a
// body is read. A body has arrived whole before its request may begin, so that
// a stalled client never holds the gate, and from then on the request no longer
// depends on the client. Routes that stream (stream.go) begin first and pass the
// body on while it arrives; a newer token then cuts it off.
//
// What a method means is in package protocol, where bytes are stored in the
// packages below upstream, what may pass in package fence. respond.go is the
// only place that writes answers of fencegate's own.
package proxy
