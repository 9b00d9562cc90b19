# From a clone, Python 3.11 or later and the package index. Every target can be run again: what is there is kept.

VENV    ?= .venv
EXTRAS  ?= judge,ray,served,dev
PYTHON  ?= $(shell for python in python3 python3.11 python3.12 python3.13; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)
PYTEST  ?=
WORKERS ?= 2
BIN      = $(VENV)/bin
STAMP    = $(VENV)/.installed

.PHONY: help demo test test-quick test-all lint lock bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo        the demo judge on data/ladder, fitted and reported in reports/"
	@echo "make test        the test suite, with a fixed share of the slow tests"
	@echo "make test-quick  the tests that take seconds"
	@echo "make test-all    every test, and the demo"
	@echo "make lint        ruff and mypy"
	@echo "make lock        resolve constraints.txt anew"
	@echo "make bench       timings of reading, checking, fitting and judging"
	@echo "make clean       remove the environment, caches and build products"

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or later found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

demo: $(STAMP)
	$(BIN)/bayesbt models fetch smollm2-135m
	$(BIN)/bayesbt run data/ladder/study.toml

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow or share" $(PYTEST)

test-quick: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and not model and not gpu" $(PYTEST)

test-all: demo
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

lock: $(STAMP)
	@{ head -n 2 constraints.txt; \
	   $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras pyproject.toml \
	     --no-annotate --no-header --upgrade \
	   | grep -vE '^(nvidia|cuda|jax-cuda|triton)'; } > constraints.new
	@mv constraints.new constraints.txt

bench: $(STAMP)
	$(BIN)/python benchmarks/spine.py
	$(BIN)/python benchmarks/judge.py
	$(BIN)/python benchmarks/posterior.py

clean:
	rm -rf $(VENV) .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find bayesbt tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
