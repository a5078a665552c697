# One target per job. Needs Python 3.10 or newer and make; everything else goes into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -c constraints.txt
BACKENDS ?= numpy tensorflow torch jax
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo setup test lint types unit conformance bench format clean

help:  ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

demo: $(VENV)/demo.stamp  ## Train digit classifiers on each engine installed, at least on NumPy.
	$(BIN)/kbridge demo --all --plot build/demo.png

setup: $(VENV)/setup.stamp  ## Install the engines and all tools into .venv.

test: setup lint types unit conformance  ## Everything that CI runs.

lint: setup  ## Check style and format with ruff.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## Check types with mypy.
	$(BIN)/mypy

unit: setup  ## Run the unit and integration tests.
	$(BIN)/python -m pytest tests -n 2 --dist worksteal $(PYTEST_ARGS)

conformance: setup  ## Run the conformance suite on each of BACKENDS.
	@set -e; for backend in $(BACKENDS); do \
	  echo "$(BIN)/kbridge check $$backend"; $(BIN)/kbridge check $$backend -n 2; \
	done

bench: setup  ## Compare kbridge's speed with calling the engines directly.
	$(BIN)/kbridge bench

format: setup  ## Let ruff sort imports and format.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove .venv and everything that tools have left.
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) --editable '.[cli,examples]'
	@touch $@

$(VENV)/setup.stamp: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) --editable '.[dev,tensorflow-cpu,torch,jax]'
	@touch $@ $(VENV)/demo.stamp
