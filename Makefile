# What people type. Every target sets up what it needs: a virtual environment, uv in it, and the locked packages.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode
SELF = $(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .

.DEFAULT_GOAL := help
.PHONY: help demo test check bench docs lock clean

help: ## show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

$(UV):
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock

.venv/demo.stamp: requirements/demo.lock pyproject.toml | $(UV)
	$(INSTALL) -r requirements/demo.lock
	$(SELF)
	@touch $@

.venv/dev.stamp: requirements/dev.lock pyproject.toml | $(UV)
	$(INSTALL) -r requirements/dev.lock
	$(SELF)
	@touch $@

.venv/bench.stamp: requirements/bench.lock .venv/dev.stamp
	$(INSTALL) -r requirements/bench.lock
	@touch $@

# The real agent programs, for the tests that drive them. Without Node.js they are left out and those tests skip.
.venv/agents.stamp: tests/agents/real/install.sh .venv/dev.stamp
	sh tests/agents/real/install.sh .venv/agents
	@touch $@

# The JavaScript test runners, likewise.
.venv/runners.stamp: tests/scorers/runners/install.sh tests/scorers/runners/package-lock.json .venv/dev.stamp
	sh tests/scorers/runners/install.sh .venv/runners
	@touch $@

demo: .venv/demo.stamp ## run two good arms and a cheating one, and end in a verdict and a report
	$(BIN)/steelyard demo

test: .venv/dev.stamp .venv/agents.stamp .venv/runners.stamp ## run the tests; what fails under load is tried once more, alone
	tools/with-docker.sh tools/run-tests.sh $(BIN)/python

check: .venv/dev.stamp ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench.stamp .venv/agents.stamp ## measure speed and memory against floors and peers into benchmarks/RESULTS.md
	tools/with-docker.sh $(BIN)/python -m benchmarks

docs: .venv/dev.stamp ## take the pictures of the pages anew (with Chromium) and build the documentation into docs/site
	$(BIN)/python tools/screenshots.py docs/images
	$(BIN)/python docs/build.py

lock: | $(UV) ## write the lock files anew
	$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(COMPILE) pyproject.toml -o requirements/base.lock
	$(COMPILE) pyproject.toml --extra report --extra records -o requirements/demo.lock
	$(COMPILE) pyproject.toml --extra report --extra server --extra postgres --extra posthog --extra otel -o requirements/server.lock
	$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.lock
	$(COMPILE) pyproject.toml --all-extras --group dev --group bench -o requirements/bench.lock

clean: ## remove the virtual environment and caches
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .hypothesis docs/site
