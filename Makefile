# `make demo` and `make test` set everything up in .venv and run; see README.md.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
# Prerequisites: the package with extras and groups of pyproject.toml, and the kernels.
PLOT := $(VENV)/.plot $(VENV)/.kernels
TEST := $(VENV)/.test $(VENV)/.kernels
CHECK := $(VENV)/.check $(VENV)/.kernels
# Seconds that `make fuzz` runs, and the reader it tests; by default all, in turn.
SECONDS ?= 60
READER ?=
# Commands that run several processes give each one thread of linear algebra.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test quick check coverage lint fuzz sanitize audit bench bench-quick bench-scale gpu accuracy held-out hostile docs
.PHONY: picture dist pages stamp test-oldest mutation clean

demo: $(PLOT)
	$(BIN)/heterolda reproduce --datasets D1,D2,breast_cancer,wine,digits --jobs 1 --out build/demo
	$(BIN)/heterolda report build/demo

# Two tiers of tests: `test` takes minutes, and `check` runs the rest before a release.
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile

TESTS ?= not check
test: lint quick

quick: $(TEST)
	$(PYTEST) -m '$(TESTS)'

check: $(CHECK) coverage
	$(PYTEST) --no-loadscope-reorder -m 'check and not covered' tests docs/guide

# Tests must cover at least 99 % of the branches in the folders with the mathematics.
COVERED := statistics solvers subspaces tradeoff search estimators ecosystem
coverage: $(CHECK)
	$(PYTEST) $(addprefix tests/,$(COVERED)) -m covered --cov

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(TEST)
	$(BIN)/python -m fuzz $(SECONDS) $(addprefix --reader ,$(READER))

# Run the compiled kernels with every memory access checked; needs gcc.
sanitize: $(TEST)
	$(ONE_THREAD) $(BIN)/python -m fuzz.sanitized $(SECONDS)

# Look for known vulnerabilities of installed packages; status 2 without a connection.
audit: $(CHECK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python tests/release/audit.py

bench: $(TEST)
	$(BIN)/python -m benchmarks.speed

# Compare the speed with that of the commit in benchmarks/base; status 1 if it is worse.
bench-quick: $(TEST)
	$(BIN)/python -m benchmarks.quick

bench-scale: $(TEST)
	$(BIN)/python -m benchmarks.scale

# Needs a GPU; `make pages` writes the page from its results on any machine.
gpu: $(CHECK)
	$(BIN)/python -m benchmarks.gpu

accuracy: $(TEST)
	$(BIN)/python -m benchmarks.accuracy

# Evaluate choices, outliers, wide data, missing values and projections on held-out rows.
held-out: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check sqfa
	$(BIN)/python -m benchmarks.held_out --jobs 2

# Write tables and pictures of all pages from stored results; nothing is measured.
pages: $(TEST)
	$(BIN)/python -m benchmarks.speed --report
	$(BIN)/python -m benchmarks.scale --report
	$(BIN)/python -m benchmarks.gpu --report
	$(BIN)/python -m benchmarks.accuracy --report
	$(BIN)/python -m benchmarks.held_out --report
	$(BIN)/python -m benchmarks.probabilities --report
	$(BIN)/python -m benchmarks.certificate --report
	$(BIN)/python -m benchmarks.truth --report
	$(BIN)/python -m benchmarks.fitted_gaussians --report
	$(BIN)/python -m benchmarks.reproduction
	PYTHONPATH=tests $(BIN)/python -m hostile --page

# Takes hours, and resumes where it was stopped.
mutation: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutation
	$(ONE_THREAD) PYTHONPATH=. $(BIN)/python -m benchmarks.mutation

hostile: $(TEST)
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m hostile

docs: $(CHECK)
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Copy pictures for pages of the repository from the gallery, and take a screenshot of
# the model card in a browser.
picture: docs
	for name in idea rows use smoothed local_search operating_points displays compare projection gaps; do \
		cp docs/gallery/images/sphx_glr_plot_$${name}_001.png docs/images/$$name.png; done
	mkdir -p build/card
	$(BIN)/heterolda datasets --write digits --out build/card/digits.csv
	$(BIN)/heterolda fit build/card/digits.csv --target class --out build/card/model.json
	$(BIN)/heterolda inspect build/card/model.json --html build/card/card.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=900,1404 \
		--screenshot=docs/images/card.png build/card/card.html

# Build a wheel and an sdist twice, with equal hashes; try the wheel in a new environment.
dist: $(CHECK)
	rm -rf dist build/clean
	$(BIN)/python tests/release/build_twice.py dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/clean
	build/clean/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/clean/$(SCRIPTS)/python tests/release/smoke.py
	build/clean/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check "$$(echo dist/*.whl)[cli]"
	build/clean/$(SCRIPTS)/python tests/release/smoke.py

# Copy version and addresses from pyproject.toml to the files that repeat them.
stamp:
	$(PYTHON) tests/release/stamp.py

# Test with the oldest supported versions, in a separate environment.
test-oldest:
	$(PYTHON) -m venv build/oldest
	build/oldest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	build/oldest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest.txt --editable '.[all]' --group check
	$(ONE_THREAD) build/oldest/$(SCRIPTS)/python -m pytest --numprocesses=auto --dist=loadfile tests

# Python may come with an older pip, which knows no groups.
$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit("heterolda needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1' 'setuptools>=77'
	touch $@

$(VENV)/.plot: WANTED := '.[cli,plot]'
$(VENV)/.test: WANTED := '.[all]' --group test
$(VENV)/.check: WANTED := '.[all]' --group check
$(VENV)/.plot $(VENV)/.test $(VENV)/.check: pyproject.toml | $(VENV)/.pip
	HETEROLDA_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable $(WANTED)
	touch $@

# Without a C compiler there are no kernels, and NumPy replaces them.
$(VENV)/.kernels: setup.py $(wildcard src/heterolda/kernels/c/*) | $(VENV)/.pip
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
	rm -rf docs/_build docs/gallery docs/api/generated src/heterolda/kernels/_compiled.*
