package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"fencegate/fence"
)

// A full ledger is told at first and then now and then, that it works again
// once, and its failure at once.
func TestLedgerLog(t *testing.T) {
	full := fmt.Errorf("writing: %w", fence.ErrLedgerFull)
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := ledgerLog{log: slog.New(slog.NewJSONHandler(&out, nil)), path: "/state/ledger.db"}
		l.committed(nil)
		for range 61 {
			l.committed(full)
			time.Sleep(time.Second)
		}
		l.committed(nil)
		l.committed(nil)
		l.committed(full)
		l.committed(errors.New("I/O error"))
		var got []string
		for d := json.NewDecoder(&out); d.More(); {
			var r struct{ Level, Msg, Path, Do string }
			if err := d.Decode(&r); err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Level+" "+r.Msg)
			if r.Path != l.path || (r.Do == "") != (r.Level == "INFO") {
				t.Errorf("%s: path %q, do %q", r.Msg, r.Path, r.Do)
			}
		}
		const isFull = "ERROR the ledger's disk is full"
		want := []string{isFull, isFull, isFull, "INFO the ledger has space again", isFull, "ERROR the ledger failed"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
