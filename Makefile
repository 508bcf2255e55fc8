# Each target says in its "##" comment what it is for; help collects them.

STATE := fencegate-state
ARGS  :=

.DEFAULT_GOAL := help
.PHONY: help build demo run test soak bench bench-lock torture lint setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile bin/fencegate
	go build -o bin/fencegate ./cmd/fencegate

demo: ## show a paused lock holder being fenced off
	go run ./cmd/fencegate demo $(ARGS)

# --init only where there has never been a ledger: one that got lost is an
# error, and never replaced by an empty one unnoticed.
run: ## serve ./data on 127.0.0.1:8080 (more flags: make run ARGS=...)
	go run ./cmd/fencegate serve --upstream dir:./data --state ./$(STATE) $(if $(wildcard $(STATE)/ledger.db data/.fencegate/ledger-id),,--init) $(ARGS)

# What is compiled otherwise for the race detector, proxy/nonblock, and all above
# it; allocations too are counted without it.
RACELESS := ./proxy/... ./fence ./store/... ./integration/torture

# -count=1: the cache does not see that the binary which tests start has
# changed.
test: setup ## all tests with the race detector, random ones at a tenth
	go test -race -count=1 -timeout 14m ./...
	go test -count=1 -timeout 5m $(RACELESS)

soak: setup ## the same with full counts; takes hours
	FENCEGATE_SOAK=1 go test -race -count=1 -timeout 6h ./...
	FENCEGATE_SOAK=1 go test -count=1 -timeout 2h $(RACELESS)

bench: ## what a write costs, beside nginx (more flags: make bench ARGS=-quick)
	@.ci/setup bench
	go run ./integration/bench $(ARGS)

# Without the race detector, for more writes in the same time; make test runs
# it with. FENCEGATE_SOAK=1 goes on until the counts of a release are reached.
SEED := 0
TIME := 1m
torture: setup ## all faults at once against the promises; SEED=n TIME=10m
	go test -count=1 -v -timeout 6h -run 'TestTorture$$' ./integration/torture -seed=$(SEED) -time=$(TIME)

# A module of its own, so that the other libraries are no dependencies here.
bench-lock: setup ## what a lock costs, against redislock and redsync
	cd integration/bench-lock && go vet . && go run . $(ARGS)

lint: setup ## gofmt, go vet, staticcheck
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then printf 'not gofmt-ed:\n%s\n' "$$files"; exit 1; fi
	go vet ./...
	bin/staticcheck ./...

setup: ## install what tests and lint need and is missing
	@.ci/setup

clean: ## remove bin/ and test leftovers; keeps ./data and the ledger
	rm -rf bin fencegate *.test *.prof
