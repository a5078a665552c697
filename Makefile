# One target per job. Needs Python 3.11 or newer and make; everything else goes into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -c constraints.txt
BACKENDS ?= numpy tensorflow torch jax
PLUGINS ?= onnx pytensor
PYTHON37 ?= python3.7
GOLDEN := build/golden
KERAS2 := PYTHONPATH=$(abspath $(VENV)/keras2) KERAS_HOME=build/keras
PYTEST_ARGS ?=
# The suites run most programs once, so JAX compiles them in the quickest way; XLA_QUICK= compiles
# them as users do. A jaxlib that no longer knows one of these flags says so and ends.
XLA_QUICK ?= --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true \
  --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo setup test lint types docs unit conformance keras2 keras2-test plugins golden \
  bench format clean

help:  ## List the targets.
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

demo: $(VENV)/demo.stamp  ## Train digit classifiers on each engine installed, at least on NumPy.
	$(BIN)/kbridge demo --all --plot build/demo.png

setup: $(VENV)/setup.stamp  ## Install the engines and all tools into .venv.

test: setup lint types docs unit conformance keras2-test plugins  ## Everything that CI runs.

lint: setup  ## Check style and format with ruff.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## Check types with mypy.
	$(BIN)/mypy

docs: setup  ## Build the documentation into build/docs, with warnings as errors.
	$(BIN)/python -m sphinx -E -W -n --keep-going -q docs build/docs

unit: setup  ## Run the unit and integration tests.
	$(BIN)/python -m pytest tests -n 2 --dist worksteal $(PYTEST_ARGS)

conformance keras2-test: export XLA_FLAGS = $(XLA_QUICK)

conformance: setup  ## Run the conformance suite on each of BACKENDS.
	@set -e; for backend in $(BACKENDS); do \
	  echo "$(BIN)/kbridge check $$backend"; $(BIN)/kbridge check $$backend -n 2; \
	done

keras2: $(VENV)/keras2.stamp  ## Install Keras 2.3.1 beside the rest, into .venv/keras2.

keras2-test: setup keras2  ## Run Keras 2.3.1 on each of BACKENDS, and compare them.
	@set -e; for backend in $(BACKENDS); do \
	  echo "tests/keras2 on $$backend"; \
	  $(KERAS2) KERAS_BACKEND=kbridge.backends.$$backend \
	    $(BIN)/python -m pytest tests/keras2 -q -n 2 --dist worksteal; \
	done
	$(KERAS2) $(BIN)/python -m pytest tests/keras2 -q

plugins: $(VENV)/plugins.stamp  ## Test the backends of plugins/ and check them, apart from the rest.
	@set -e; for backend in $(PLUGINS); do \
	  echo "plugins/kbridge-$$backend"; \
	  $(VENV)/plugins/bin/python -m pytest plugins/kbridge-$$backend -q -n 2 --dist worksteal; \
	  $(VENV)/plugins/bin/kbridge check $$backend -n 2; \
	done

golden: setup $(GOLDEN)/keras.stamp  ## Compute the golden values anew; PYTHON37 is a Python 3.7.
	$(BIN)/python -m kbridge.conformance.golden export $(GOLDEN)/cases.npz
	@set -e; for backend in tensorflow theano; do \
	  KERAS_BACKEND=$$backend $(GOLDEN)/bin/python conformance/golden/keras_run.py \
	    $(GOLDEN)/cases.npz $(GOLDEN)/$$backend.npz; \
	done
	$(BIN)/python -m kbridge.conformance.golden merge $(GOLDEN)/tensorflow.npz $(GOLDEN)/theano.npz

bench: setup keras2  ## Compare kbridge's speed with calling the engines directly.
	$(PIP) --quiet --editable '.[bench]'
	$(BIN)/kbridge bench

format: setup  ## Let ruff sort imports and format.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove .venv and everything that tools have left.
	rm -rf $(VENV) build dist *.egg-info docs/reference .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/keras2.stamp: $(VENV)/pyvenv.cfg tests/keras2/requirements.txt
	rm -rf $(VENV)/keras2
	$(PIP) --no-deps --target $(VENV)/keras2 -r tests/keras2/requirements.txt
	@touch $@

# In an environment of their own: without them, the tests see what a user sees who lacks them.
$(VENV)/plugins.stamp: pyproject.toml constraints.txt $(PLUGINS:%=plugins/kbridge-%/pyproject.toml)
	$(PYTHON) -m venv $(VENV)/plugins
	$(VENV)/plugins/bin/python -m pip --disable-pip-version-check install -c constraints.txt \
	  --editable '.[sparse,conformance,cli]' pytest-xdist $(PLUGINS:%=--editable plugins/kbridge-%)
	@touch $@

$(GOLDEN)/keras.stamp: conformance/golden/requirements.txt
	$(PYTHON37) -m venv $(GOLDEN)
	$(GOLDEN)/bin/python -m pip --disable-pip-version-check install -r $<
	@touch $@

$(VENV)/demo.stamp: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) --editable '.[cli,examples]'
	@touch $@

$(VENV)/setup.stamp: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) --editable '.[dev,tensorflow-cpu,torch,jax]'
	@touch $@ $(VENV)/demo.stamp
