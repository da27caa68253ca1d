# Everything runs in .venv, which each target sets up by itself. Set-up may download; the runs work with the network cut.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test faults check generate bump ledger lint types lock benchmark clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/runtime.stamp: requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "nodrop needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --no-deps -e .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/runtime.stamp
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	@touch $@

setup: .venv/dev.stamp ## make .venv with everything that the other targets need

demo: .venv/runtime.stamp ## stream a chat over real HTTP from an embedded server: no key, no network
	@$(BIN)/nodrop demo

# The pi of the end-to-end tests. Where it cannot be installed they skip, and say so.
.cache/pi/stamp: .venv/dev.stamp tests/pi/install_pi.py tests/pi/real/package-lock.json
	-$(BIN)/python tests/pi/install_pi.py && touch $@

test: .venv/dev.stamp .cache/pi/stamp ## run the tests
	$(BIN)/python -m pytest

faults: .venv/dev.stamp ## every fault at every stage on every client: the table of outcomes
	@$(BIN)/python -m tests.client.faults

check: .venv/dev.stamp ## the build gate, the linters, two strict type checkers, the import rules
	$(BIN)/python -m codegen check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

generate: .venv/dev.stamp ## write src/nodrop/wire from openapi/mistral.yaml
	$(BIN)/python -m codegen generate

bump: .venv/dev.stamp ## take in an upstream document: make bump SPEC=<file or URL> [SOURCE=<name for the lock>]
	@$(BIN)/python -m codegen bump "$(SPEC)" --source "$(SOURCE)"

ledger: .venv/dev.stamp ## write the ledger entries that follow from decisions already made
	@$(BIN)/python -m codegen ledger

lock: .venv/dev.stamp ## pin the dependencies anew
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links -o requirements/runtime.txt pyproject.toml
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --extra dev -o requirements/dev.txt pyproject.toml

.cache/peers/stamp: benchmarks/requirements-peers.txt
	$(PYTHON) -m venv .cache/peers
	.cache/peers/bin/python -m pip install --quiet -r benchmarks/requirements-peers.txt
	@touch $@

benchmark: .venv/dev.stamp .cache/peers/stamp ## CPU per event beside a bare loop and the official client, in about ten minutes
	$(BIN)/python benchmarks/floor.py --peers .cache/peers/bin/python

clean: ## remove what the other targets made
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
