# `make demo` and `make test` set everything up in .venv and run; see README.md.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
READY := $(VENV)/.ready
INSTALLED := $(VENV)/.installed
ARRAYS := $(VENV)/.arrays
# How long `make fuzz` runs, and on which reader; by default on each for its share.
SECONDS ?= 60
READER ?=
# Several processes work at once, each with one thread of linear algebra.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test check coverage lint fuzz sanitize soak audit bench bench-scale gpu accuracy projection wide gaps hostile docs picture dist
.PHONY: stamp test-oldest mutation clean

demo: $(READY)
	$(BIN)/heterolda reproduce --datasets D1,D2,breast_cancer,wine,digits --out build/demo
	$(BIN)/heterolda report build/demo

# Two tiers of tests: what everybody runs, in minutes, and what a release needs besides.
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=auto --dist=loadgroup

TESTS ?= not check
test: $(READY) lint
	$(PYTEST) -m '$(TESTS)'

check: $(READY) $(ARRAYS) coverage
	$(PYTEST) -m 'check and not covered' tests docs/guide

# The folders that all answers depend on: at least 99 % of their branches are tested.
coverage: $(READY) $(ARRAYS)
	$(PYTEST) tests -m covered --cov

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(READY)
	$(BIN)/python -m fuzz $(SECONDS) $(addprefix --reader ,$(READER))

# The compiled kernels, with every access to memory watched; needs gcc.
sanitize: $(READY)
	$(ONE_THREAD) $(BIN)/python -m fuzz.sanitized $(SECONDS)

soak: $(READY)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.soak

# Known vulnerabilities of what is installed; the status is 2 where nobody can be asked.
audit: $(READY)
	$(BIN)/python tests/release/audit.py

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-scale: $(READY)
	$(BIN)/python -m benchmarks.scale

# On a machine with a GPU; what it measures can be made a page of elsewhere.
gpu: $(READY) $(ARRAYS)
	$(BIN)/python -m benchmarks.gpu

accuracy: $(READY)
	$(BIN)/python -m benchmarks.accuracy

projection: $(READY)
	$(BIN)/python -m benchmarks.projection

wide: $(READY)
	$(BIN)/python -m benchmarks.wide

gaps: $(READY)
	$(BIN)/python -m benchmarks.gaps

# Hours; it goes on where it was stopped.
mutation: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutation]'
	$(ONE_THREAD) PYTHONPATH=. $(BIN)/python -m benchmarks.mutation

hostile: $(READY)
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m hostile

docs: $(READY)
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The pictures that pages in the repository show are those of the gallery; the model card is
# seen by a browser.
picture: docs
	for name in idea local_search operating_points displays compare projection gaps; do \
		cp docs/gallery/images/sphx_glr_plot_$${name}_001.png docs/images/$$name.png; done
	mkdir -p build/card
	$(BIN)/heterolda datasets --write digits --out build/card/digits.csv
	$(BIN)/heterolda fit build/card/digits.csv --target class --out build/card/model.json
	$(BIN)/heterolda inspect build/card/model.json --html build/card/card.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=900,1420 \
		--screenshot=docs/images/card.png build/card/card.html

# A wheel and an sdist, twice with equal hashes; the wheel works in an environment of its own.
dist: $(READY)
	rm -rf dist build/clean
	$(BIN)/python tests/release/build_twice.py dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/clean
	build/clean/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/clean/$(SCRIPTS)/python tests/release/smoke.py

# Version and addresses, from pyproject.toml to the files that repeat them.
stamp:
	$(PYTHON) tests/release/stamp.py

# The oldest versions that are supported, in an environment of their own.
test-oldest:
	$(PYTHON) -m venv build/oldest
	build/oldest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest.txt --editable '.[test]'
	$(ONE_THREAD) build/oldest/$(SCRIPTS)/python -m pytest --numprocesses=auto --dist=loadgroup tests

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("heterolda needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	HETEROLDA_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(INSTALLED)

# Other libraries of arrays, which are large.
$(ARRAYS): $(INSTALLED)
	HETEROLDA_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[check]'
	touch $(ARRAYS)

# The kernels; without a C compiler there are none, and NumPy does their work.
$(READY): $(INSTALLED) setup.py $(wildcard src/heterolda/kernels/c/*)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
	rm -rf docs/_build docs/gallery docs/api/generated src/heterolda/kernels/_compiled.*
