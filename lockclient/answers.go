package lockclient

import (
	"context"
	"errors"
	"io"
	"net/http"

	"fencegate/fence"
)

// judge turns the fence's final answers into errors.
func (t *transport) judge(resp *http.Response, r fence.Resource, token fence.Token, attempt string, write, resent bool) error {
	l, reason := t.lock, resp.Header.Get(headerReason)
	switch {
	case reason == "":
		if resp.StatusCode/100 == 2 {
			l.noteAnswered(attempt)
		}
		return nil
	case resp.StatusCode == http.StatusGatewayTimeout && reason == reasonUnknown:
		l.noteUnanswered(attempt)
		p := readProblem(readAnswer(resp))
		return &OutcomeUnknownError{
			Resource: r, Token: token, RetryAfter: retryAfter(resp.Header),
			RequestID: p.RequestID, Detail: p.Detail,
		}
	case final(resp.StatusCode, reason):
		fenced := fencedError(resp, readProblem(readAnswer(resp)), r, token)
		if reason != reasonTreeFenced { // which refuses this write only: others with the token may pass
			// As text: a *FencedError found in an error chain is a promise about
			// one write, which must not turn up in what other calls return.
			_ = l.lose(Fenced, errors.New(fenced.Error()))
		}
		if write && (resent || l.wasUnanswered(attempt)) {
			return &OutcomeUnknownError{
				Resource: r, Token: token, RequestID: fenced.RequestID, Refused: fenced,
				Detail: "this try was refused, but an earlier one was not answered",
			}
		}
		return fenced
	}
	return nil
}

func readAnswer(resp *http.Response) []byte {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return data
}

// noteUnanswered remembers a write that may still take effect.
func (l *Lock) noteUnanswered(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unanswered == nil {
		l.unanswered = make(map[string]bool)
	}
	l.unanswered[attempt] = true
}

// noteAnswered forgets it: a later try was answered, so this is what counts.
func (l *Lock) noteAnswered(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.unanswered, attempt)
}

func (l *Lock) wasUnanswered(attempt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unanswered[attempt]
}

// answerBody frees the request's context once the answer is read.
type answerBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
