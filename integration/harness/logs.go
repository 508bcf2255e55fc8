package harness

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Record is one structured log record.
type Record map[string]any

// Text returns an attribute as text, numbers to the last digit, "" if it is
// not there.
func (r Record) Text(key string) string {
	if value, ok := r[key]; ok {
		return fmt.Sprint(value)
	}
	return ""
}

// Message accepts the records with this message.
func Message(msg string) func(Record) bool {
	return func(r Record) bool { return r.Text("msg") == msg }
}

// Logs returns what fencegate has logged so far, earlier runs included.
func (s *Server) Logs() []Record {
	var records []Record
	for _, run := range append(s.before[:len(s.before):len(s.before)], s.proc) {
		for _, text := range run.Stderr() {
			if r := parseRecord(text); r != nil {
				records = append(records, r)
			}
		}
	}
	return records
}

// AwaitLog returns the first record of the current run that match accepts.
func (s *Server) AwaitLog(match func(Record) bool) Record {
	s.t.Helper()
	r, err := s.awaitLog(match)
	if err != nil {
		s.t.Fatalf("fencegate logged no such record: %v", err)
	}
	return r
}

func (s *Server) awaitLog(match func(Record) bool) (Record, error) {
	var found Record
	_, err := s.proc.out.await(stderr, new(int), func(text string) bool {
		found = parseRecord(text)
		return found != nil && match(found)
	})
	return found, err
}

// parseRecord returns nil for what is no record, such as a stack trace.
func parseRecord(text string) Record {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // a token may be above 2^53
	var r Record
	if decoder.Decode(&r) != nil {
		return nil
	}
	return r
}
