# Two commands set everything up on a fresh machine: `make bench` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
HEAVY  ?= .venv-heavy
STAMP  := $(VENV)/.installed
MODEL  ?= lexical:
OUT    ?= reports/bench

.PHONY: bench test slow lint types format fetch clean help

help:
	@echo "make bench   run the bundled data with the embedded model, leave a report in $(OUT)"
	@echo "make test    run the test suite, one process a core"
	@echo "make slow    run the long tests too"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make fetch   fetch the official BFCL data into the user's cache"

# uv where it is installed, venv and pip otherwise; the constraints pin what was tested.
$(STAMP): pyproject.toml constraints.txt
ifneq ($(UV),)
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'
else
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
endif
	@touch $(STAMP)

# The gate makes the exit code say "the benchmark ran and is plausible"; failed entries are the model's.
bench: $(STAMP)
	rm -rf $(OUT)
	$(BIN)/python -m pytest --model $(MODEL) --bfcl-data bundled --bfcl-out $(OUT) --bfcl-fail-under single_turn=20 \
	    -q --tb=no -r E --show-capture=no --no-header -p no:cacheprovider
	@echo "report: $(OUT)/index.html"

# worksteal deals out whole stretches of the suite, so that most module fixtures are made once.
# Engines that run on a processor, for the slow tier. llama-cpp-python is compiled, which takes minutes; it may fail.
$(HEAVY)/.installed:
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "transformers[serving]" tokenizers
	-$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "llama-cpp-python[server]" gguf
	@touch $@

test: $(STAMP)
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# Agent libraries, for the slow tier, beside this package.
AGENTS ?= .venv-agents
$(AGENTS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(AGENTS)
	$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[asyncio,mcp]' \
	    "pydantic-ai-slim[openai]" openai-agents langchain langchain-openai langgraph "smolagents[openai]"
	@touch $@

# The long tests; heavy neighbours live in a Python of their own.
slow: $(STAMP) $(HEAVY)/.installed $(AGENTS)/.installed
	BFCL_ENGINES=$(abspath $(HEAVY))/bin/python BFCL_AGENTS=$(abspath $(AGENTS))/bin/python $(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow or not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fetch: $(STAMP)
	$(BIN)/pytest-bfcl fetch
	$(BIN)/pytest-bfcl fetch --embeddings

clean:
	rm -rf $(VENV) $(HEAVY) $(AGENTS) build dist .pytest_cache .mypy_cache .ruff_cache
