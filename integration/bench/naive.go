package main

import (
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// naive is the fence as one writes it first: the standard library's proxy, and
// before each request a transaction of its own. It is there to show what it
// costs; it does not wait for writes under way, so it does not even fence.
type naive struct {
	db   *bbolt.DB
	next http.Handler
}

var (
	marksBucket = []byte("marks")
	errLate     = errors.New("a token below the mark")
)

func newNaive(file string, next http.Handler) (*naive, error) {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	return &naive{db, next}, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(marksBucket)
		return err
	})
}

func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := strconv.ParseUint(r.Header.Get("X-Fencing-Token"), 10, 64)
	if err != nil {
		http.Error(w, "no token", http.StatusPreconditionRequired)
		return
	}
	err = n.db.Update(func(tx *bbolt.Tx) error {
		marks := tx.Bucket(marksBucket)
		key := []byte(r.URL.Path)
		if mark := marks.Get(key); mark != nil && token < binary.BigEndian.Uint64(mark) {
			return errLate
		}
		return marks.Put(key, binary.BigEndian.AppendUint64(nil, token))
	})
	switch {
	case errors.Is(err, errLate):
		http.Error(w, errLate.Error(), http.StatusPreconditionFailed)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		n.next.ServeHTTP(w, r)
	}
}
