# `make demo` and `make test` set everything up in .venv and run; see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench accuracy picture clean

demo: $(READY)
	$(BIN)/heterolda reproduce --datasets D1,D2,breast_cancer,wine,digits --out build/demo
	$(BIN)/heterolda report build/demo

test: $(READY) lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --cov --numprocesses=auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

accuracy: $(READY)
	$(BIN)/python -m benchmarks.accuracy

picture: $(READY)
	$(BIN)/python examples/plot_idea.py docs/images/idea.png
	$(BIN)/python examples/plot_local_search.py docs/images/local_search.png
	$(BIN)/python examples/plot_operating_points.py docs/images/operating_points.png
	$(BIN)/python examples/plot_displays.py docs/images/displays.png

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("heterolda needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
