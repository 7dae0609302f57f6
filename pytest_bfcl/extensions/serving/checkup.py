"""Tests a server with one request that needs a tool: with and without thinking, streamed and not. Also reads its
description: llama.cpp's ``/props``, vLLM's ``/version`` and ``/server_info``, SGLang's ``/server_info``, Ollama's
``/api/show``. The description is untrusted: limited, shown without control characters, never followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_bfcl.failures import AdapterError, BenchmarkError
from pytest_bfcl.formats.table import family_of
from pytest_bfcl.formats.thinking import strip
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models import ToolsRefused, create_model, parse_spec
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.models.probing import tool_request
from pytest_bfcl.models.registry import LOCAL_SERVERS
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Mode, Reply

_ASKED_S = 6.0
"""Time limit for all requests together."""
_DEPTH, _MOST = 6, 5_000
_CAPS = {"tools": "supports_tools", "calls": "supports_tool_calls", "several calls": "supports_parallel_tool_calls"}


@dataclass(frozen=True, slots=True)
class SelfDescription:
    """``calls``, ``thoughts``: its parsers (empty: none, or unknown). ``can``: word → whether template or model
    supports it, by the server's description.
    """

    engine: str = ""
    version: str = ""
    calls: str = ""
    thoughts: str = ""
    can: Mapping[str, bool] | None = None

    def lines(self) -> Iterator[str]:
        """The description in words, one line or none."""
        said = [f"it is {self.engine}{f' {self.version}' if self.version else ''}"] if self.engine else []
        said += [f"reads calls with {self.calls}"] if self.calls else []
        said += [f"parts thoughts with {self.thoughts}"] if self.thoughts else []
        for word, able in (self.can or {}).items():
            said.append(f"{'has' if able else 'has no'} {word}")
        if said:
            yield "the server says: " + ", ".join(said)

    def left(self, engine: str, flags: str) -> str:
        """Flags to start an engine with, without those that the server has; empty if none is left."""
        if self.engine and self.engine.replace(".", "").lower() != engine:
            return ""
        command, *rest = flags.split(" --")
        started = {
            "jinja": bool(self.can) and self.engine == "llama.cpp",
            "enable-auto-tool-choice": bool(self.calls),
            "tool-call-parser": bool(self.calls),
            "reasoning-parser": bool(self.thoughts),
        }
        kept = [flag for flag in rest if not started.get(flag.split()[0])]
        return " --".join([command, *kept]) if kept else ""


async def described(server: Endpoint, model: str) -> SelfDescription:
    """The description of the server at an address; empty if it gives none."""
    parts = urlsplit(server.url)
    root = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/").removesuffix("/v1"), "", ""))
    try:
        async with asyncio.timeout(_ASKED_S):
            return await _asked(server, root.rstrip("/"), model)
    except TimeoutError:
        return SelfDescription()


async def _asked(server: Endpoint, root: str, model: str) -> SelfDescription:
    names = ("props", "server_info", "get_server_info", "version", "api/version")
    found = await asyncio.gather(*(server.get(name, base=root, timeout_s=3.0) for name in names))
    props, info, older, version, ollama = (each if isinstance(each, dict) else {} for each in found)
    card = _card(await server.get("models", timeout_s=3.0), model)
    if isinstance(props.get("chat_template_caps"), dict):
        caps = props["chat_template_caps"]
        can = {word: bool(caps[name]) for word, name in _CAPS.items() if name in caps}
        return SelfDescription("llama.cpp", _word(props.get("build_info")), can=can)
    if ollama and "version" in ollama:
        shown = await server.get("api/show", {"model": model}, base=root)
        listed = shown.get("capabilities") if isinstance(shown, dict) else None
        can = {word: name in listed for word, name in (("tools", "tools"), ("thinking", "thinking"))} if isinstance(
            listed, list) else {}  # fmt: skip
        return SelfDescription("Ollama", _word(ollama["version"]), can=can)
    info = info or older
    started = dict(_started(info))
    owner = _word(card.get("owned_by"))
    engine = "SGLang" if owner == "sglang" or older else "vLLM" if owner == "vllm" else ""
    return SelfDescription(
        engine, _word(version.get("version") or info.get("version")), started.get("tool_call_parser", ""),
        started.get("reasoning_parser", ""),
    )  # fmt: skip


def _card(body: object, model: str) -> Fields:
    listed = body.get("data") if isinstance(body, dict) else None
    cards = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return next((each for each in cards if each.get("id") == model), cards[0] if cards else {})


def _started(info: object) -> Iterator[tuple[str, str]]:
    """The parsers among a server's arguments, at any depth of its description; the outermost come last."""
    waiting: list[tuple[Any, int]] = [(info, 0)]
    found: list[tuple[str, str]] = []
    for _ in range(_MOST):
        if not waiting:
            break
        value, depth = waiting.pop(0)
        if isinstance(value, dict):
            for key in ("tool_call_parser", "reasoning_parser"):
                if word := _word(value.get(key)):
                    found.append((key, word))
            if depth < _DEPTH:
                waiting += [(each, depth + 1) for each in value.values() if isinstance(each, (dict, list))]
        elif isinstance(value, list) and depth < _DEPTH:
            waiting += [(each, depth + 1) for each in value[:100] if isinstance(each, (dict, list))]
    yield from reversed(found)


def _word(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return text[:80] if text.isprintable() else ""


THINKING = "chat_template_kwargs"
"""The parameter by which open servers pass ``enable_thinking`` to a chat template."""


@dataclass(frozen=True, slots=True)
class Way:
    """One form of the request; ``thinking`` is ``None`` if the model decides."""

    thinking: bool | None
    streamed: bool

    def __str__(self) -> str:
        said = "" if self.thinking is None else "with thinking, " if self.thinking else "without thinking, "
        return said + ("streamed" if self.streamed else "unstreamed")

    def applied(self, settings: Settings) -> Settings:
        """The settings for this form."""
        if self.thinking is None:
            return replace(settings, stream=self.streamed)
        variables = {THINKING: {"enable_thinking": self.thinking}}
        return replace(settings, stream=self.streamed, parameters={**settings.parameters, **variables})


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of one form: a reply, or the error."""

    way: Way
    spec: str
    mode: Mode
    reply: Reply | None = None
    error: BenchmarkError | None = None

    @property
    def thoughts(self) -> bool:
        """Whether thoughts are in the text, where a server should have removed them."""
        text = self.reply.text if self.reply is not None else None
        return bool(text) and strip(str(text)).answer != text


ALONE = ("oracle", "adversary", "lexical", "replay", "scripted")
"""Providers without a server."""


def ways_of(provider: str, settings: Settings) -> list[Way]:
    """The forms for a server: thinking is only switched at servers that accept chat-template arguments."""
    if provider in ALONE:
        return [Way(None, False)]
    switched = (False, True) if provider in LOCAL_SERVERS or settings.base_url is not None else (None,)
    return [Way(thinking, streamed) for thinking in switched for streamed in (False, True)]


def check_up(text: str, settings: Settings) -> Iterator[Answered]:
    """Send the request to a spec's model in every form; stops if the first one gets no answer.

    A server that refuses the fields for thinking gets none. Raises `UsageError` for an unusable spec.
    """
    ways = ways_of(parse_spec(text).provider, settings)
    first = True
    while ways:
        way = ways.pop(0)
        found = asyncio.run(_answered(text, way, settings))
        if way.thinking is not None and _refuses_parameters(found.error):
            ways = [Way(None, False), Way(None, True)]
            continue
        yield found
        if found.error is not None and first:
            return
        first = False


def _refuses_parameters(error: BenchmarkError | None) -> bool:
    return isinstance(error, AdapterError) and error.status in (400, 422) and not isinstance(error, ToolsRefused)


def self_description(text: str, settings: Settings) -> SelfDescription:
    """The description of a spec's server; empty without an HTTP server."""

    async def ask() -> SelfDescription:
        model = create_model(text, settings)
        try:
            server = getattr(model, "server", None)
            return await described(server, parse_spec(model.spec).name) if server is not None else SelfDescription()
        except BenchmarkError:
            return SelfDescription()
        finally:
            await model.aclose()

    return asyncio.run(ask())


async def _answered(text: str, way: Way, settings: Settings) -> Answered:
    settings = way.applied(settings)
    model = create_model(text, settings)
    try:
        return Answered(way, model.spec, model.mode, await model.generate(tool_request(settings.sent_parameters())))
    except BenchmarkError as error:
        return Answered(way, model.spec, model.mode, error=error)
    finally:
        await model.aclose()


def start_flags(provider: str, model: str) -> dict[str, str]:
    """Engine → its flags for this model; all that need flags if the engine is unknown."""
    row = family_of(model)
    commands = {"vllm": "vllm serve …", "sglang": "sglang …", "llamacpp": "llama-server …"}
    found = {}
    for engine, command in commands.items():
        flags = row.flags(engine) if row is not None else []
        found[engine] = " ".join([command, *(flags or UNKNOWN[engine])])
    return {provider: found[provider]} if provider in found else found


UNKNOWN = {
    "vllm": ["--enable-auto-tool-choice", "--tool-call-parser", "NAME"],
    "sglang": ["--tool-call-parser", "NAME"],
    "llamacpp": ["--jinja"],
}
"""The engine's flags for a model outside the table, or without a parser there."""
