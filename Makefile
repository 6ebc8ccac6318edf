# `make demo` and `make test` set everything up in .venv and run; see README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench accuracy docs picture clean

demo: $(READY)
	$(BIN)/heterolda reproduce --datasets D1,D2,breast_cancer,wine,digits --out build/demo
	$(BIN)/heterolda report build/demo

test: $(READY) lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadgroup

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

accuracy: $(READY)
	$(BIN)/python -m benchmarks.accuracy

docs: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The pictures that pages in the repository show are those of the gallery.
picture: docs
	for name in idea local_search operating_points displays; do \
		cp docs/gallery/images/sphx_glr_plot_$${name}_001.png docs/images/$$name.png; done

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("heterolda needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
	rm -rf docs/_build docs/gallery docs/api/generated
