# make help lists the targets. Needed: make, and Python 3.11 or newer with venv and ensurepip.
.DEFAULT_GOAL := help
SHELL := /bin/bash

IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON = $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c '$(IS_NEW)' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
SEEDS ?= 100:102
PIP_COMPILE = $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --no-header

.PHONY: help setup demo test lint docs format bench accuracy lock wheel clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with the locked dependencies (skipped when up to date)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Tollens needs Python 3.11 or newer on the PATH; or: make setup PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c '$(IS_NEW)' || { echo "$(PYTHON) is older than 3.11 or missing" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) has no ensurepip or venv. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(READY): requirements-dev.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked dependencies; the first time takes a minute or two." >&2
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q collector configs correlator exporters hypotheses
	@touch $@

demo: setup ## Diagnose a recorded incident
	@$(BIN)/tollens demo

# Diagnoses by the hundred: coverage would make them slower by two fifths and tell nothing that the rest does not.
WHOLE := tests/cases tests/benchmarks tests/test_captures.py tests/test_h100_pairs.py tests/test_windows_asked.py \
	tests/correlator/join/test_windows.py tests/hypotheses/test_attack.py tests/hypotheses/test_contract.py \
	tests/hypotheses/test_catalogue_a.py tests/hypotheses/test_catalogue_c.py tests/hypotheses/test_catalogue_d.py \
	tests/hypotheses/test_catalogue_e.py

test: setup ## Run the tests in random order, with coverage of branches but for whole diagnoses
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=20 $(WHOLE)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=40 --cov --cov-report=term $(addprefix --ignore=,$(WHOLE))

lint: setup ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup ## Write the reference of hypotheses anew
	$(BIN)/python -m hypotheses._describe > docs/hypotheses.md

format: setup ## Put the code into the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Measure speed and memory (a few minutes)
	$(BIN)/python -m benchmarks

accuracy: setup ## Measure how often the answer is right (half an hour; SEEDS=100:105 for more incidents)
	$(BIN)/python -m benchmarks.accuracy --seeds $(SEEDS)
	$(BIN)/python -m benchmarks.nezha
	$(BIN)/python -m benchmarks.petshop

lock: setup ## Resolve the dependencies anew (UPGRADE=--upgrade for the newest)
	$(PIP_COMPILE) $(UPGRADE) -o requirements.txt pyproject.toml
	$(PIP_COMPILE) $(UPGRADE) --extra dev -c requirements.txt -o requirements-dev.txt pyproject.toml

wheel: setup ## Build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .

clean: ## Remove what these targets made
	rm -rf $(VENV) dist .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
