PYTHON ?= python3
OP ?= sign
VENV := .venv
BIN := $(VENV)/bin

.PHONY: migrate test lint bench docs setup

migrate: setup
	@$(BIN)/invoke migrate --op $(OP)

test: setup lint
	@$(BIN)/pytest -n auto --dist worksteal

bench: setup
	@$(BIN)/python -m bench.branches

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: setup
	@$(BIN)/python -m tasks.reference
	@$(BIN)/invoke status --readme

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@
