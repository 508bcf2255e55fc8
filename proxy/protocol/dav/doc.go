// Package dav reads what WebDAV (RFC 4918) puts into headers and bodies, and
// rewrites the URLs in it where clients and the store name the same objects
// differently. It is pure: it opens nothing and answers nobody.
//
// Clients know an object as https://pub.example:8443/dav/a, the store behind
// the proxy as http://127.0.0.1:6065/a. Both are a Space, an origin and a
// prefix; a Map leads from one to the other. URLs turn up in Destination and If
// of requests, in Location of answers, and in the href elements of multistatus
// bodies.
//
// What servers are known to read in different ways is an error, not a guess.
package dav
