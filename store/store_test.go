package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencegate/fence"
	"fencegate/store"
)

func TestOpen(t *testing.T) {
	now := func() time.Time { return time.UnixMicro(1_700_000_000_000_000) }
	opts := store.Options{Kind: fence.TimeTokens, Now: now, Wait: -1}
	for _, url := range []string{"memory:", "bolt:" + filepath.Join(t.TempDir(), "with: colon")} {
		made, err := store.Create(t.Context(), url, opts)
		if err != nil {
			t.Fatal(err)
		}
		l, err := store.Open(t.Context(), url, opts)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Meta(); got != made || err != nil || made.Global != 1_700_000_000_000_000 {
			t.Errorf("%s: made %+v, opened %+v, error %v", url, made, got, err)
		}
		if err := l.Close(false); err != nil {
			t.Error(err)
		}
	}
	if l, err := store.Open(t.Context(), "bolt:"+t.TempDir(), opts); !errors.Is(err, fence.ErrLedgerMissing) || l != nil {
		t.Errorf("no ledger: got %v, error %v", l, err)
	}
}

func TestUnknownURL(t *testing.T) {
	for _, url := range []string{"", "bolt", "bolt:", "etcd:http://localhost", "memory:x", "/var/lib/fencegate", ":x"} {
		_, openErr := store.Open(t.Context(), url, store.Options{})
		_, createErr := store.Create(t.Context(), url, store.Options{})
		for _, err := range []error{openErr, createErr} {
			var urlErr *store.URLError
			if !errors.As(err, &urlErr) || !strings.Contains(err.Error(), "bolt:DIRECTORY") || !strings.Contains(err.Error(), "memory:") {
				t.Errorf("%q: %v", url, err)
			}
		}
	}
}
