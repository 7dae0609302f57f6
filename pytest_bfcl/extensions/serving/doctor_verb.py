"""Check this installation: data, keys (never printed) and extras; with --model also whether the endpoint answers.

Exit code 1 when a required part or the endpoint does not work; 2 for usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from pytest_bfcl import __version__
from pytest_bfcl.extras import EXTRAS, install_command, missing
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

SUMMARY = "check this installation and an endpoint"

if TYPE_CHECKING:
    from pytest_bfcl.extensions.serving.checkup import Answered, SelfDescription

Status = Literal["ok", "note", "problem"]

_REQUIRED = ("pytest", "pytest-xdist", "aiohttp", "pydantic", "tree-sitter")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``advice`` is the remedy."""

    status: Status
    what: str
    advice: str = ""

    def __str__(self) -> str:
        mark = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}[self.status]
        return f"{mark} {self.what}" + (f"\n        → {self.advice}" if self.advice else "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "--model",
        metavar="SPEC",
        help="send this model one request four ways: with and without reasoning, streamed and not",
    )
    parser.add_argument("--base-url", metavar="URL", help="base URL, as --bfcl-base-url")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds to wait for it (default 30)")


def run(args: argparse.Namespace) -> int:
    """Print the findings; 1 if there is a problem."""
    from pytest_bfcl.models.registry import check_provider
    from pytest_bfcl.models.spec import parse_spec
    from pytest_bfcl.session.serving import AUTO
    from pytest_bfcl.settings import Settings

    if args.model and (spec := parse_spec(args.model)).provider != AUTO:  # a misspelt name is refused before the report
        check_provider(spec, Settings(base_url=args.base_url))
    bad = False
    for finding in findings(args.model, args.base_url, args.timeout):
        say(finding)
        bad = bad or finding.status == "problem"
    return 1 if bad else 0


def findings(model: str | None = None, base_url: str | None = None, timeout_s: float = 30.0) -> Iterator[Finding]:
    """All checks, in reading order."""
    yield from _installation()
    yield from _data()
    yield from _keys()
    if model:
        yield from _endpoint(model, base_url, timeout_s)


def _installation() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", f"pytest-bfcl {__version__}, Python {python}")
    for name in _REQUIRED:
        try:
            yield Finding("ok", f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("problem", f"{name} is not installed", f"pip install {name}")
    here = [name for name in EXTRAS if not missing(name)]
    if here:
        yield Finding("ok", f"extras: {', '.join(here)}")
    for name, extra in EXTRAS.items():
        if name not in here and name != "embeddings":  # they need weights too: said below
            yield Finding("note", f"without the extra {name}: {extra.brings}", install_command(name))
    yield _embeddings()
    if find_spec("bfcl_eval") is not None:
        yield Finding("ok", "bfcl-eval is installed: --bfcl-simulators reference can use it")


def _embeddings() -> Finding:
    """Whether the vector memory works, with verified weights."""
    from pytest_bfcl.conversation.services import memory_problem
    from pytest_bfcl.extensions.vector_memory.embedding import INSTALL, check, weights_folder

    if memory_problem("vector") is not None:
        return Finding("note", "no embeddings: the category memory_vector is skipped", INSTALL)
    folder = weights_folder()
    try:
        if folder is not None:
            check(folder)
    except UsageError as error:
        return Finding("problem", f"embeddings: {error}", "pytest-bfcl fetch --embeddings --force")
    return Finding("ok", "embeddings of the vector memory")


def _data() -> Iterator[Finding]:
    from pytest_bfcl.dataset.opening import open_dataset

    for choice, advice in (("official", "pytest-bfcl fetch"), ("bundled", "reinstall pytest-bfcl")):
        try:
            data = open_dataset(choice)
            yield Finding("ok", f"{choice} data: version {data.version}, SHA-256 {data.sha256[:12]}…")
        except UsageError as error:
            text = str(error).splitlines()[0]
            yield Finding("note" if choice == "official" else "problem", f"{choice} data: {text}", advice)


def _keys() -> Iterator[Finding]:
    from pytest_bfcl.models.registry import list_providers

    ready = []
    for info in list_providers():
        variables = [name for name in info.needs if name not in ("PATH", "FILE")]
        if variables and all(os.environ.get(name) for name in variables):
            ready.append(info.name)
    if ready:
        yield Finding("ok", f"keys are set for: {', '.join(ready)}")
    else:
        advice = "export OPENAI_API_KEY=… (pytest-bfcl models lists the variables); local servers need none"
        yield Finding("note", "no provider's key is set", advice)


def _endpoint(text: str, base_url: str | None, timeout_s: float) -> Iterator[Finding]:
    from pytest_bfcl.extensions.serving.checkup import ALONE, SelfDescription, check_up, self_description
    from pytest_bfcl.models.spec import parse_spec
    from pytest_bfcl.session.serving import name_models
    from pytest_bfcl.settings import Settings

    settings = Settings(base_url=base_url, timeout_s=timeout_s, request_limit_s=timeout_s, retries=0, max_tokens=1024)
    try:
        (named,), settings = name_models([text], settings)
        if named != text:
            yield Finding("ok", f"{text} is {named}")
        answers = list(check_up(named, settings))
        silent = answers[0].error is not None or parse_spec(named).provider in ALONE
        told = SelfDescription() if silent else self_description(named, settings)
    except UsageError as error:
        yield Finding("problem", f"model {text}: {error}")
        return
    for line in told.lines():
        yield Finding("ok", line)
    yield from _judged(answers, told)


def _judged(answers: list[Answered], told: SelfDescription) -> Iterator[Finding]:
    """The result of a request that needs a tool, about model and server; equal ones in one line."""
    kinds: dict[tuple[Status, str], list[Answered]] = {}
    for answer in answers:
        kinds.setdefault(_kind(answer), []).append(answer)
    spec = answers[0].spec
    for (status, what), alike in kinds.items():
        yield Finding(status, f"{spec} {_took(alike)}{what} ({_ways(alike)})", _advice(status, alike[0], told))
    if len(kinds) == 1 and answers[0].error is None and answers[0].way.thinking is not None:
        yield from _flags(spec, told)


def _kind(answer: Answered) -> tuple[Status, str]:
    """Whether it is right, and the finding."""
    from pytest_bfcl.extensions.serving.checkup import ALONE
    from pytest_bfcl.models import ToolsRefused

    if answer.error is not None:
        refused = isinstance(answer.error, ToolsRefused)
        return ("note", "answers but refuses tools") if refused else ("problem", f": {answer.error.message}")
    assert answer.reply is not None
    calls = answer.reply.tool_calls
    prompting = answer.mode == "prompt" or answer.spec.partition(":")[0] in ALONE
    thoughts = ", with its thoughts in the text" if answer.thoughts else ""
    if calls:
        return "problem" if thoughts else "ok", f" and called {calls[0].name}{thoughts}"
    if prompting:
        return "ok", f" and said {(answer.reply.text or '')[:60]!r}"
    return "problem", f" in text instead of calling the tool it was asked to use{thoughts}"


def _took(alike: list[Answered]) -> str:
    if alike[0].error is not None:
        return ""
    latencies = sorted(each.reply.latency_s or 0 for each in alike if each.reply is not None)
    low, high = f"{latencies[0]:.2f}", f"{latencies[-1]:.2f}"
    return f"answered in {low} s" if low == high else f"answered in {low} to {high} s"


def _ways(alike: list[Answered]) -> str:
    return "; ".join(str(each.way) for each in alike)


def _advice(status: Status, answer: Answered, told: SelfDescription) -> str:
    """The remedy: the flag for a server that parses calls and thoughts."""
    from pytest_bfcl.models.spec import parse_spec

    if answer.error is not None:
        return answer.error.advice or ""
    if status != "problem":
        return ""
    named = parse_spec(answer.spec)
    flags = "; ".join(_start_flags(answer.spec, told).values())
    said = f"it said {(answer.reply.text or '')[:60]!r}; " if answer.reply is not None else ""
    asked = f"or ask {named.base}@prompt, which reads calls from the text"
    if told.can and not all(told.can.get(word, True) for word in ("tools", "calls")):
        return f"{said}by its own account it takes no tools: give it a chat template that does, {asked}"
    if answer.reply is not None and answer.reply.tool_calls:
        start = f"start the server so that it parts thoughts ({flags}), or " if flags else ""
        return f"{start}take them out: --bfcl-think strip"
    if not flags:
        start = (
            f"it was started with {told.calls or 'what reads calls'}: is that the model's format? --bfcl-decoder auto"
        )
        return f"{said}{start} reads calls that were left in the text; {asked}"
    return f"{said}start the server so that it reads calls ({flags}), {asked}"


def _flags(spec: str, told: SelfDescription) -> Iterator[Finding]:
    """The best flags for a server of a known family, if nothing is wrong."""
    for flags in _start_flags(spec, told, known=True).values():
        yield Finding("ok", f"the table's flags for this model: {flags}")


def _start_flags(spec: str, told: SelfDescription, *, known: bool = False) -> dict[str, str]:
    """Engine → flags that the server does not have, by its description."""
    from pytest_bfcl.extensions.serving.checkup import start_flags
    from pytest_bfcl.models.spec import parse_spec

    named = parse_spec(spec)
    found = start_flags(named.provider, named.name)
    left = {engine: told.left(engine, flags) for engine, flags in found.items() if not known or "NAME" not in flags}
    return {engine: flags for engine, flags in left.items() if flags}
