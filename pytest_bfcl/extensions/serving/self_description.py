"""What a server says of itself: engine, version, the parsers it was started with, what its template and model can do.

llama.cpp's ``/props``, vLLM's ``/version`` and ``/server_info``, SGLang's ``/server_info``, Ollama's ``/api/show``.
What a server says is a claim like any other text: bounded, shown without control characters, never followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.endpoint import Endpoint

_ASKED_S = 6.0
"""For all questions together."""
_DEPTH, _MOST = 6, 5_000
_CAPS = {"tools": "supports_tools", "calls": "supports_tool_calls", "several calls": "supports_parallel_tool_calls"}


@dataclass(frozen=True, slots=True)
class SelfDescription:
    """``calls``, ``thoughts``: the parsers it was started with (empty: it says none, or nothing of it). ``can``: word →
    whether template or model can do it, as far as the server says.
    """

    engine: str = ""
    version: str = ""
    calls: str = ""
    thoughts: str = ""
    can: Mapping[str, bool] | None = None

    def lines(self) -> Iterator[str]:
        """It in words, one line or none."""
        said = [f"it is {self.engine}{f' {self.version}' if self.version else ''}"] if self.engine else []
        said += [f"reads calls with {self.calls}"] if self.calls else []
        said += [f"parts thoughts with {self.thoughts}"] if self.thoughts else []
        for word, able in (self.can or {}).items():
            said.append(f"{'has' if able else 'has no'} {word}")
        if said:
            yield "the server says: " + ", ".join(said)

    def left(self, engine: str, flags: str) -> str:
        """Flags to start an engine with, less those that the server was started with; empty where none is left."""
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
    """What the server behind an address says; an empty description where it says nothing."""
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
        shown = await server.post_json("api/show", {"model": model}, base=root)
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
    """The parsers among a server's arguments, wherever in what it says they stand; the outermost come last."""
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
