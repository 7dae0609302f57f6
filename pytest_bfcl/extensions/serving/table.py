"""The engines that a run can start: command and health check. One row an engine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import UsageError
from pytest_bfcl.session.serving import suggested_parser

XLLAMACPP = "pytest_bfcl.extensions.serving.xllamacpp_server"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine.

    ``program`` finds the program, ``command`` makes the arguments after it from (program, model, port, whether calls
    are native). ``health`` is the path that answers 200 when requests are accepted, ``port`` its usual one.
    """

    name: str
    title: str
    port: int
    health: str
    install: str
    program: Callable[[], Sequence[str] | None]
    command: Callable[[Sequence[str], str, int, bool], list[str]]
    environment: Callable[[int], Mapping[str, str]] = field(default=lambda port: {})

    def command_line(self, model: str, port: int, *, native: bool, extra: Sequence[str] = ()) -> list[str]:
        """The whole command. Options in ``extra`` replace ours of the same name. Raises `UsageError` if the engine is
        not installed.
        """
        program = self.program()
        if program is None:
            raise UsageError(
                f"--bfcl-serve: {self.title} is not installed where this runs ({self.install}); "
                "or start it yourself and give --bfcl-base-url"
            )
        return [*program, *_without(self.command(program, model, port, native), extra), *extra]


def _without(arguments: list[str], extra: Sequence[str]) -> list[str]:
    """Our arguments without the options that the user sets."""
    given = {argument.partition("=")[0] for argument in extra if argument.startswith("-")}
    kept: list[str] = []
    dropping = False
    for argument in arguments:
        if argument.startswith("-"):
            dropping = argument in given
        if not dropping:
            kept.append(argument)
    return kept


def _script(name: str) -> Callable[[], Sequence[str] | None]:
    """The program on the path or next to this Python."""

    def find() -> Sequence[str] | None:
        found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
        return [found] if found else None

    return find


def _llama_server() -> Sequence[str] | None:
    """llama.cpp's own program, else one of the packages that have its server."""
    alone = _script("llama-server")()
    if alone is not None or not find_spec("xllamacpp"):
        return alone or _module("llama_cpp.server")()
    return [sys.executable, "-m", XLLAMACPP]


def _vllm(program: Sequence[str], model: str, port: int, native: bool) -> list[str]:
    tools = ["--enable-auto-tool-choice"]
    parser = suggested_parser("vllm", model)
    tools = [*tools, "--tool-call-parser", parser] if parser else []
    return ["serve", model, "--host", "127.0.0.1", "--port", str(port), *(tools if native else [])]


def _sglang(program: Sequence[str], model: str, port: int, native: bool) -> list[str]:
    parser = suggested_parser("sglang", model) if native else None
    tools = ["--tool-call-parser", parser] if parser else []
    return ["--model-path", model, "--host", "127.0.0.1", "--port", str(port), *tools]


def _llamacpp(program: Sequence[str], model: str, port: int, native: bool) -> list[str]:
    if program[-1] == "llama_cpp.server":
        return ["--model", model, "--host", "127.0.0.1", "--port", str(port)]
    if program[-1] == XLLAMACPP and not model.endswith(".gguf"):
        raise UsageError(f"--bfcl-serve: xllamacpp serves a .gguf file, not {model!r}; llama-server fetches others")
    source = ["--model", model] if model.endswith(".gguf") else ["-hf", model]
    return [*source, "--host", "127.0.0.1", "--port", str(port), "--jinja"]


def _transformers(program: Sequence[str], model: str, port: int, native: bool) -> list[str]:
    return ["serve", model, "--host", "127.0.0.1", "--port", str(port)]


def _module(module: str) -> Callable[[], Sequence[str] | None]:
    return lambda: [sys.executable, "-m", module] if find_spec(module.partition(".")[0]) else None


ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("vllm", "vLLM", 8000, "/health", install_command("serve"), _script("vllm"), _vllm),
        Engine(
            "sglang", "SGLang", 30000, "/health", "pip install 'sglang[all]'", _module("sglang.launch_server"), _sglang,
        ),
        Engine(
            "llamacpp", "llama.cpp", 8080, "/v1/models",
            f"put llama-server on the PATH, or {install_command('llamacpp')}", _llama_server, _llamacpp,
        ),
        Engine(
            "transformers", "transformers serve", 8000, "/health", "pip install 'transformers[serving]'",
            _script("transformers"), _transformers,
        ),
        Engine(
            "ollama", "Ollama", 11434, "/v1/models", "see its own site", _script("ollama"),
            lambda program, model, port, native: ["serve"],
            lambda port: {"OLLAMA_HOST": f"127.0.0.1:{port}"},
        ),
    )
}  # fmt: skip
"""Provider of a spec → engine."""
