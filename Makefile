# Everything here sets itself up: a machine needs Python 3.11, 3.12 or 3.13 and make, nothing else.
#   make demo    examine the embedded judge and write one page
#   make test    the fast tests          make check   format, lint, types, floors, docs, house rules
#   make slow    power, coverage, whole data sets     make bench   speed beside other programs
#   make docs    write the generated pages            make pins    write requirements/*.txt

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.done
BENCH := .venv-bench
PINS := .venv-pins
UV := uv==0.13.9
WORKERS ?= 2
BENCHMARKS ?= asking execution parse_gate

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_REQUIRE_VIRTUALENV := 1
PIP_INSTALL := -m pip install --quiet --require-hashes -r
EDITABLE := -m pip install --quiet --no-build-isolation --no-deps -e .

.PHONY: help demo test check slow bench docs pins clean

help:
	@sed -n 's/^#   //p' Makefile

# --- setting up -------------------------------------------------------------------------------------

$(VENV)/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "voirdire needs Python 3.11, 3.12 or 3.13; none was found (set PYTHON=path/to/python)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(DONE)/demo: requirements/demo.txt pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python $(PIP_INSTALL) requirements/demo.txt
	$(BIN)/python $(EDITABLE)
	@mkdir -p $(DONE) && touch $@

$(DONE)/dev: requirements/dev.txt pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python $(PIP_INSTALL) requirements/dev.txt
	$(BIN)/python $(EDITABLE)
	@mkdir -p $(DONE) && touch $(DONE)/demo $@

$(BENCH)/.done: requirements/bench.txt pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP_INSTALL) requirements/bench.txt
	$(BENCH)/bin/python $(EDITABLE)
	@touch $@

# --- using ------------------------------------------------------------------------------------------

demo: $(DONE)/demo
	@$(BIN)/voirdire models get smollm2-135m
	@$(BIN)/voirdire demo

test: $(DONE)/dev
	@$(BIN)/voirdire models get smollm2-135m
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow"

check: $(DONE)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.docs --check
	VOIRDIRE_REQUIRE_BROWSER= $(BIN)/python -m pytest tests/house -m "not slow"

slow: $(DONE)/dev
	@$(BIN)/voirdire models get smollm2-135m
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m slow -o timeout=3600

bench: $(BENCH)/.done
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BENCH)/bin/python benchmarks/$$name.py; done

docs: $(DONE)/dev
	$(BIN)/python -m tools.docs

pins:
	test -x $(PINS)/bin/uv || { $(PYTHON) -m venv $(PINS) && $(PINS)/bin/python -m pip install --quiet $(UV); }
	@cd requirements && for name in core demo dev bench; do \
		../$(PINS)/bin/uv pip compile $$name.in -o $$name.txt --universal --python-version 3.11 \
			--generate-hashes --no-emit-index-url --no-header --quiet $(UPGRADE); done

clean:
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site voirdire-out
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
