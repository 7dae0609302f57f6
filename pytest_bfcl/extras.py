"""The optional parts of this package: what each adds, whether it is installed, and the command that installs it.

The core runs the benchmark against any OpenAI-compatible or Anthropic endpoint. Large parts and parts that few users
need are extras in ``pyproject.toml``. Only the code that uses an extra imports its packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from pytest_bfcl.failures import UsageError


class Extra(NamedTuple):
    """``modules`` must be importable; ``brings`` says in words what works with them."""

    modules: tuple[str, ...]
    brings: str


EXTRAS: Mapping[str, Extra] = {
    "litellm": Extra(("litellm",), "every provider but OpenAI, Anthropic and compatible servers"),
    "memory": Extra(("rank_bm25", "numpy"), "the category memory_kv"),
    "embeddings": Extra(("tokenizers", "safetensors", "threadpoolctl", "numpy"), "the category memory_vector"),
    "web": Extra(("html2text", "bs4", "rank_bm25"), "web search, requests to live REST services"),
    "html": Extra(("pytest_html",), "our columns in pytest-html's report"),
    "asyncio": Extra(("pytest_asyncio",), "async model fixtures in the session's loop"),
    "yaml": Extra(("yaml",), "OpenAPI documents written in YAML"),
    "tables": Extra(("pyarrow",), "runs as Parquet tables"),
    "mcp": Extra(("mcp",), "tools of MCP servers, entries for MCP clients"),
    "train": Extra(("datasets",), "entries as data sets of trainers"),
    "contamination": Extra(("datasketch",), "near-duplicates of entries in training data"),
    "wire": Extra(("hypothesis",), "generated schemas in the checks of a server"),
    "ray": Extra(("ray",), "runs and judging on a Ray cluster"),
    "serve": Extra(("vllm",), "an engine that --bfcl-serve starts; others are installed by themselves"),
    "llamacpp": Extra(("xllamacpp",), "llama.cpp's server for .gguf files, where --bfcl-serve finds no llama-server"),
    "otel": Extra(("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"), "--bfcl-report otel: spans as OTLP"),
    "wandb": Extra(("wandb",), "--bfcl-report wandb"),
    "sdks": Extra(("openai", "anthropic"), "what official clients read in a server's bytes (-m wire)"),
    "view": Extra(("starlette", "uvicorn"), "pages over many runs in a browser"),
}


def install_command(extra: str) -> str:
    """The command that installs an extra, valid in the shell of any system."""
    return f'pip install "pytest-bfcl[{extra}]"'


def missing(extra: str) -> list[str]:
    """The modules of an extra that are not installed. Imports nothing."""
    return [name for name in EXTRAS[extra].modules if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it is not there either
        return False


def problem(extra: str, what: str) -> str | None:
    """Why ``what`` does not work here, with the command that fixes it; ``None`` when the extra is installed."""
    lacking = missing(extra)
    if not lacking:
        return None
    return f"{what} needs the package {lacking[0]}, which is not installed: {install_command(extra)}"


def require(extra: str, what: str) -> None:
    """Raise `UsageError` unless the extra is installed; ``what`` is the part that needs it, as a noun."""
    if (text := problem(extra, what)) is not None:
        raise UsageError(text)


@contextmanager
def naming(what: str, command: str) -> Iterator[None]:
    """Context for imports of optional packages: a missing one gives a one-sentence message with the command."""
    try:
        yield
    except ModuleNotFoundError as error:
        text = f"{what} needs the package {error.name}, which is not installed: {command}"
        raise ModuleNotFoundError(text, name=error.name) from None
