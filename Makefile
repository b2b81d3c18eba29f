# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
ALL := $(VENV)/.installed-all

.PHONY: setup demo test test-all check bench clean

setup: $(DEV)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $(STAMP)

$(DEV): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(DEV)

$(ALL): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,chunkers,models,scale,ray]'
	@touch $(ALL)

# The main job on the built-in collections: verify, retrieve, judge, compare, report.
demo: $(STAMP)
	$(BIN)/assay demo --out demo-results

test: $(DEV)
	$(BIN)/python -m pytest -n auto -q -m 'not heavy'

# Also what needs minutes, the optional packages or a browser.
test-all: $(ALL)
	$(BIN)/python -m pytest -n auto -q

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Figures beside peers; minutes, on a quiet machine.
bench: $(ALL)
	$(BIN)/python -m pip install --quiet tantivy duckdb polars faiss-cpu datasketch
	for b in startup resampling judging trec bm25 run chunking gold build near_duplicates citations dense encoding scale; do \
	  $(BIN)/python benchmarks/$$b.py || exit 1; done

clean:
	rm -rf $(VENV) demo-results .pytest_cache .mypy_cache .ruff_cache .hypothesis
