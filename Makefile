# Every target sets up what it needs in .venv; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long check bench bench-statistics soak fuzz pictures clean

# Debian splits venv into a package of its own; say which one instead of failing with a traceback.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "entity-tui needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python cannot make virtual environments here. On Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/.ready-demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local]'
	@touch $@

$(VENV)/.ready-dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,local,math,report]'
	@touch $@

# The interface on a simulated phone behind the real adb server; without a terminal the same story in words.
demo: $(VENV)/.ready-demo
	@$(BIN)/entity-tui models fetch smollm2-135m
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/entity-tui --device demo:cmf-phone-1 --speed 20; else exec $(BIN)/entity-tui tour; fi

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m 'not long' $(PYTEST_ARGS)

test-long: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --timeout 600 -m long $(PYTEST_ARGS)

check: $(VENV)/.ready-dev
	$(BIN)/python tools/check.py

bench: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks

bench-statistics: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks.statistics

soak: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks.soak

fuzz: $(VENV)/.ready-dev
	$(BIN)/python -m tools.fuzz

pictures: $(VENV)/.ready-dev
	$(BIN)/python tools/picture.py

clean:
	rm -rf $(VENV) build dist *.egg-info .cache .demo .pytest_cache .mypy_cache .ruff_cache
