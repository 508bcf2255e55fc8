package proxy

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"fencegate/fence"
	"fencegate/proxy/protocol"
)

// noRoute is the route label of requests refused before their route was known.
const noRoute = "none"

// noteRefusal counts and logs a refusal. It comes before the answer, so that
// whoever has seen the answer finds it counted.
func (p *Proxy) noteRefusal(x *exchange, q *request, ref *Refusal) {
	x.decision = decisionRefused
	if ref.Reason == reasonUnknown {
		x.decision = decisionUnknown
	}
	if ref.Reason == fence.ClientGone {
		return
	}
	route, client := noRoute, q.stamp.Client
	if q.route != nil {
		route = q.route.Name
	}
	p.metrics.rejections.WithLabelValues(route, string(ref.Reason)).Inc()
	p.refusals.add(cause{string(ref.Reason), cut(ref.Resource.String()), cut(client)}, refusalAttrs(x, ref, route, client))
}

// noteObserved counts and logs what an enforced policy would have refused, and
// counts what passes under adopt only because no token was seen yet.
func (p *Proxy) noteObserved(x *exchange, q *request, permit *fence.Permit, touches []fence.Touch) {
	v := permit.Observed()
	if v.OK() {
		for i := range touches {
			if t := &touches[i]; t.Policy == fence.Adopt && t.Token == fence.NoToken && (!t.Passive || t.FenceTree) {
				x.decision = decisionAdopted
			}
		}
		return
	}
	x.observed, x.decision = v.Reason, decisionObserved
	ref := verdictRefusal(v, touches)
	client := touches[v.Touch].Client
	attrs := append(refusalAttrs(x, ref, q.route.Name, client), slog.Bool("observed_only", true))
	p.refusals.add(cause{"observed " + string(ref.Reason), cut(ref.Resource.String()), cut(client)}, attrs)
}

func refusalAttrs(x *exchange, ref *Refusal, route, client string) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("reason", string(ref.Reason)),
		slog.Int("status", ref.status()),
		slog.String("route", route),
		slog.String("request_id", cut(x.requestID())),
		slog.String("remote", x.r.RemoteAddr),
	}
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, cut(value)))
		}
	}
	text("resource", ref.Resource.String())
	text("client", client)
	if ref.Token != fence.NoToken {
		text("token", ref.Token.String())
	}
	if ref.Highest != fence.NoToken {
		text("highest", ref.Highest.String())
		text("holder", ref.Holder.Client)
		text("holder_owner_sha256", ref.Holder.Owner.Digest())
		if !ref.Holder.Since.IsZero() {
			text("since", ref.Holder.Since.UTC().Format(time.RFC3339Nano))
		}
	}
	if ref.Err != nil {
		text("error", ref.Err.Error())
	} else if ref.Highest == fence.NoToken {
		text("detail", ref.Detail)
	}
	return attrs
}

// maxLogged is how much of a text goes into the log, in bytes: clients make most
// of them.
const maxLogged = 256

// cut returns a copy of its beginning: text may be a piece of a whole head, which
// what is logged later must not keep in memory.
func cut(text string) string {
	if len(text) <= maxLogged {
		return strings.Clone(text)
	}
	end := maxLogged - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// finish counts a request, however it ended.
func (p *Proxy) finish(x *exchange, q *request) {
	op := operationOf(x.r, q)
	p.metrics.counted[op][x.decision].Inc()
	p.metrics.durations[op].Observe(time.Since(x.start).Seconds())
	x.reuse()
}

// operationOf is the label for what a request does.
func operationOf(r *http.Request, q *request) operation {
	switch {
	case q.own && r.Method == http.MethodPost:
		return opClaim
	case q.own:
		return opMarks
	}
	switch q.intent.Kind {
	case protocol.Read:
		return opRead
	case protocol.Ask:
		return opAsk
	case protocol.Mkcol:
		return opMkcol
	case protocol.Write:
		return opWrite
	}
	return opNone
}

func commitResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, fence.ErrLedgerFull):
		return "full"
	}
	return "failed"
}
