package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fencegate/fence"
	"fencegate/proxy/protocol/dav"
	"fencegate/proxy/upstream/remote"
)

// longest is the longest duration that anything is configured to.
const longest = 24 * time.Hour

// oneOf checks a word. Words of later versions are told from misspelt ones.
func oneOf(text string, words []string, later ...string) error {
	expected := "expected " + strings.Join(words, " or ")
	switch {
	case slices.Contains(words, text):
		return nil
	case slices.Contains(later, text):
		return errors.New("not available yet; " + expected)
	}
	return errors.New(expected + didYouMean(text, words))
}

// setSwitch sets one of two words.
func setSwitch(to *bool, text, off, on string) error {
	*to = text == on
	return oneOf(text, []string{off, on})
}

func setText(to *string, text, what string) error {
	if strings.TrimSpace(text) == "" || strings.ContainsFunc(text, isOdd) {
		return errors.New("expected " + what)
	}
	*to = text
	return nil
}

// isOdd reports control characters, and what stands for bytes that are no UTF-8.
func isOdd(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }

func setDuration(to *time.Duration, text string, least time.Duration) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("expected a duration such as 30s or 5m")
	case least > 0 && d < least:
		return errors.New("expected a duration above 0, such as 30s or 5m")
	case d < least || d > longest:
		return errors.New("expected a duration of 0 or more, up to 24h")
	}
	*to = d
	return nil
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

func setNumber(to *uint64, text string, least, most uint64) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || !decimal.MatchString(text) || n < least || n > most {
		return fmt.Errorf("expected %d to %d", least, most)
	}
	*to = n
	return nil
}

var (
	sizeText  = regexp.MustCompile(`^([1-9][0-9]*)([KMGT]iB)$`)
	sizeUnits = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
)

// setSize reads bytes, as a plain number or with a binary unit.
func setSize(to *int64, text string, least int64) error {
	digits, unit := text, int64(1)
	if m := sizeText.FindStringSubmatch(text); m != nil {
		digits, unit = m[1], sizeUnits[m[2]]
	} else if !decimal.MatchString(text) {
		return errors.New("expected a number of bytes, or one with a unit: 64KiB, 500MiB, 10GiB, 1TiB")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return errors.New("expected less than 8 EiB")
	}
	if n < least {
		return errors.New("expected a number of bytes above 0")
	}
	*to = n * unit
	return nil
}

func setAddress(to *string, text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || strconv.FormatUint(n, 10) != port {
		return errors.New("expected HOST:PORT such as 127.0.0.1:8080")
	}
	*to = text
	return nil
}

func setPolicy(to *fence.Policy, text string) error {
	p, err := fence.ParsePolicy(text)
	if err != nil {
		words := []string{"open", "observe", "adopt", "require"}
		return errors.New("expected open, observe, adopt or require" + didYouMean(text, words))
	}
	*to = p
	return nil
}

func setUpstream(to *string, text string) error {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "dir":
		if err := setText(new(string), rest, ""); err != nil {
			return errors.New("expected dir:PATH, a local directory such as dir:./data")
		}
	case "http", "https":
		if _, err := remote.Open(text, remote.Options{}); err != nil { // it connects to nothing
			return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	default:
		return errors.New("expected dir:PATH, http://HOST:PORT or https://HOST")
	}
	*to = text
	return nil
}

func setLedger(to *string, text string) error {
	path, ok := strings.CutPrefix(text, "bolt:")
	if !ok || setText(to, path, "") != nil {
		return errors.New("expected bolt:PATH, a directory on a local disk")
	}
	return nil
}

var ledgerID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func setLedgerID(to *string, text string) error {
	if !ledgerID.MatchString(text) {
		return errors.New("expected 32 hexadecimal digits, as the ledger field of an answered claim has them")
	}
	*to = text
	return nil
}

func setTokens(to *fence.TokenKind, text string) error {
	if err := oneOf(text, []string{string(fence.AnyTokens), string(fence.TimeTokens)}); err != nil {
		return err
	}
	*to = fence.TokenKind(text)
	return nil
}

func setPublicURL(to *dav.Space, text string) error {
	space, err := dav.ParseSpace(text)
	if err == nil {
		_, err = fence.Canonical(space.Prefix+"/", fence.NameOptions{})
	}
	if err != nil {
		return fmt.Errorf("expected http://HOST:PORT or https://HOST, with a path if all paths begin with it: %w", err)
	}
	*to = space
	return nil
}
