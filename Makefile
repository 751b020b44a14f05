# Set-up, demo, tests and checks. `make` alone lists the targets; each is enough by itself on a fresh machine.
# PYTHON=/path/to/python picks the interpreter; ARGS="tests/test_rules.py -k email" is handed to pytest.

BIN := .venv/bin
READY := .venv/.installed
PYTHON :=
ARGS :=

.DEFAULT_GOAL := help
.PHONY: help install demo test lint format hooks clean distclean

help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

install: $(READY)  ## create .venv and install everything into it (demo and test do this by themselves)

demo: $(READY)  ## redact the sample lesson and show it before and after
	@$(BIN)/redactkit demo

test: $(READY)  ## run the tests
	@$(BIN)/python -m pytest -q $(ARGS)

lint: $(READY)  ## check format, style and types
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m mypy

format: $(READY)  ## put the code into the house format
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

hooks: $(READY)  ## check format and strip notebooks at each commit
	@$(BIN)/python -m pre_commit install

clean:  ## remove caches and build leftovers
	@rm -rf build dist redactkit.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name .venv -prune -o -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## the same, and .venv too
	@rm -rf .venv

# The stamp is written last: an install that failed or was interrupted leaves none and is done again.
$(READY): pyproject.toml constraints.txt
	@rm -f $(READY)
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		for python in "$(PYTHON)" python3.11 python3; do \
			"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
			[ -n "$(PYTHON)" ] && python="" && break; \
			python=""; \
		done; \
		if [ -z "$$python" ]; then \
			echo "redactkit needs Python 3.11 or newer: install python3.11, or name one with 'make PYTHON=/path/to/python ...'." >&2; \
			exit 1; \
		fi; \
		echo "Creating .venv with $$python"; \
		"$$python" -m venv --clear .venv || exit 1; \
	fi
	@echo "Installing into .venv, once: a few minutes, about 3 GB (more on Linux where torch brings its GPU libraries)"
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)
