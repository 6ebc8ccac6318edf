# `make demo` and `make test` set everything up in .venv and run; see README.md.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
# What a command needs: the package with an extra of pyproject.toml, and the kernels.
PLOT := $(VENV)/.plot $(VENV)/.kernels
TEST := $(VENV)/.test $(VENV)/.kernels
CHECK := $(VENV)/.check $(VENV)/.kernels
# How long `make fuzz` runs, and on which reader; by default on each for its share.
SECONDS ?= 60
READER ?=
# Several processes work at once, each with one thread of linear algebra.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test quick check coverage lint fuzz sanitize audit bench bench-scale gpu accuracy held-out hostile docs picture dist
.PHONY: pages stamp test-oldest mutation clean

demo: $(PLOT)
	$(BIN)/heterolda reproduce --datasets D1,D2,breast_cancer,wine,digits --jobs 1 --out build/demo
	$(BIN)/heterolda report build/demo

# Two tiers of tests: what everybody runs, in minutes, and what a release needs besides.
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile

TESTS ?= not check
test: lint quick

quick: $(TEST)
	$(PYTEST) -m '$(TESTS)'

check: $(CHECK) coverage
	$(PYTEST) --no-loadscope-reorder -m 'check and not covered' tests docs/guide

# The folders that all answers depend on: at least 99 % of their branches are tested.
COVERED := statistics solvers subspaces tradeoff search estimators ecosystem
coverage: $(CHECK)
	$(PYTEST) $(addprefix tests/,$(COVERED)) -m covered --cov

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(TEST)
	$(BIN)/python -m fuzz $(SECONDS) $(addprefix --reader ,$(READER))

# The compiled kernels, with every access to memory watched; needs gcc.
sanitize: $(TEST)
	$(ONE_THREAD) $(BIN)/python -m fuzz.sanitized $(SECONDS)

# Known vulnerabilities of what is installed; the status is 2 where nobody can be asked.
audit: $(CHECK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python tests/release/audit.py

bench: $(TEST)
	$(BIN)/python -m benchmarks.speed

bench-scale: $(TEST)
	$(BIN)/python -m benchmarks.scale

# On a machine with a GPU; what it measures can be made a page of elsewhere.
gpu: $(CHECK)
	$(BIN)/python -m benchmarks.gpu

accuracy: $(TEST)
	$(BIN)/python -m benchmarks.accuracy

# Guard, outliers, wide data, missing values and projections, on rows held out.
held-out: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check sqfa
	$(BIN)/python -m benchmarks.held_out --jobs 2

# Tables and pictures of all pages, from the files of results: nothing is measured.
pages: $(TEST)
	$(BIN)/python -m benchmarks.speed --report
	$(BIN)/python -m benchmarks.scale --report
	$(BIN)/python -m benchmarks.gpu --report
	$(BIN)/python -m benchmarks.accuracy --report
	$(BIN)/python -m benchmarks.held_out --report
	$(BIN)/python -m benchmarks.certificate --report
	$(BIN)/python -m benchmarks.truth --report
	$(BIN)/python -m benchmarks.fitted_gaussians --report
	$(BIN)/python -m benchmarks.reproduction
	PYTHONPATH=tests $(BIN)/python -m hostile --page

# Hours; it goes on where it was stopped.
mutation: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutation]'
	$(ONE_THREAD) PYTHONPATH=. $(BIN)/python -m benchmarks.mutation

hostile: $(TEST)
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m hostile

docs: $(CHECK)
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The pictures that pages in the repository show are those of the gallery; the model card is
# seen by a browser.
picture: docs
	for name in idea smoothed local_search operating_points displays compare projection gaps; do \
		cp docs/gallery/images/sphx_glr_plot_$${name}_001.png docs/images/$$name.png; done
	mkdir -p build/card
	$(BIN)/heterolda datasets --write digits --out build/card/digits.csv
	$(BIN)/heterolda fit build/card/digits.csv --target class --out build/card/model.json
	$(BIN)/heterolda inspect build/card/model.json --html build/card/card.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=900,1420 \
		--screenshot=docs/images/card.png build/card/card.html

# A wheel and an sdist, twice with equal hashes; the wheel works in an environment of its own.
dist: $(CHECK)
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
	build/oldest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest.txt --editable '.[check]'
	$(ONE_THREAD) build/oldest/$(SCRIPTS)/python -m pytest --numprocesses=auto --dist=loadfile tests

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit("heterolda needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'setuptools>=77'
	touch $@

$(VENV)/.plot $(VENV)/.test $(VENV)/.check: $(VENV)/.%: pyproject.toml | $(VENV)/.created
	HETEROLDA_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

# Without a C compiler there are no kernels, and NumPy does their work.
$(VENV)/.kernels: setup.py $(wildcard src/heterolda/kernels/c/*) | $(VENV)/.created
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
	rm -rf docs/_build docs/gallery docs/api/generated src/heterolda/kernels/_compiled.*
