"""The one table of model families, ``families.toml``: format, thoughts, template, servers' parsers by served name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path

from pytest_bfcl.formats.served import NOTATIONS, server_reading
from pytest_bfcl.formats.thinking import TAGS

VERSIONS = {"vllm": "vLLM 0.33", "sglang": "SGLang 0.5.23", "llamacpp": "llama.cpp"}
"""The engines whose names for parsers the table has, by their provider prefix."""


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """What is known of the models whose served names fit ``pattern``; fields as ``families.toml`` has them."""

    name: str
    pattern: str
    format: str
    think: str = ""
    template: str = ""
    vllm: str = ""
    sglang: str = ""
    llamacpp: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """What is in a reply that calls; empty where calls have no own signs."""
        notation = server_reading(self.format)
        return NOTATIONS[notation].marks if notation is not None else ()

    @property
    def signs(self) -> tuple[str, ...]:
        """Everything that begins or ends a call, a value or a thought in this family's replies."""
        waiting, found = [NOTATIONS[str(server_reading(self.format))]], [*self.marks, *(self.tags or ())]
        while waiting:
            way = waiting.pop()
            waiting += getattr(way, "ways", ())
            for name in ("closing", "value_ends", "call_ends"):
                ends = getattr(way, name, ())
                found += [ends] if isinstance(ends, str) else ends
        return tuple(dict.fromkeys(sign for sign in found if sign))

    @property
    def tags(self) -> tuple[str, str] | None:
        """What stands around thoughts; ``None`` without thoughts, and for gpt-oss's channels."""
        return TAGS.get(self.think)

    @property
    def source(self) -> str:
        """Who else reads the format so."""
        known = [VERSIONS[engine] for engine in ("vllm", "sglang") if self.parser(engine)]
        known += [f"llama.cpp ({self.llamacpp}.jinja)"] if self.llamacpp else []
        return ", ".join([*known, *(["the benchmark's handler"] if self.template else [])]) or "the models' cards"

    def parser(self, engine: str, *, reasoning: bool = False) -> str:
        """The engine's name of the parser for calls, or for thoughts; empty where it has none."""
        names = {"vllm": self.vllm, "sglang": self.sglang}.get(engine, "").split()
        found = names[int(reasoning)] if len(names) > int(reasoning) else ""
        return "" if found == "-" else found

    def flags(self, engine: str) -> list[str]:
        """What an engine has to be started with so that calls, and thoughts, arrive parsed."""
        if engine == "llamacpp":
            return ["--jinja"]
        calls, thoughts = self.parser(engine), self.parser(engine, reasoning=True)
        asked = ["--enable-auto-tool-choice"] if calls and engine == "vllm" else []
        asked += ["--tool-call-parser", calls] if calls else []
        return asked + (["--reasoning-parser", thoughts] if thoughts else [])


@cache
def families() -> Mapping[str, ModelFamily]:
    """Every family by its name, in the order in which names of models are tried."""
    text = Path(__file__).with_name("families.toml").read_text(encoding="utf-8")
    return {name: ModelFamily(name, **fields) for name, fields in tomllib.loads(text).items()}


def _spelled(model: str) -> str:
    """A served name as patterns have it; some hosts write versions with a ``p`` (``llama-v3p1``)."""
    return re.sub(r"(?<=\d)p(?=\d)", ".", re.sub(r"[\s_]", "-", model.rstrip("/").lower()))


@lru_cache(maxsize=256)
def family_of(model: str) -> ModelFamily | None:
    """The family of a served name; ``None`` for an unknown name."""
    name = _spelled(model)
    return next((row for row in families().values() if re.search(row.pattern, name)), None)


_MAKERS = re.compile(
    r"(?:(?:meta|nvidia|nv|ai21|ibm|google|openai|microsoft|c4ai|hf|the|accounts|fireworks|models)[-/.])*"
)


def resembles(model: str) -> ModelFamily | None:
    """The family whose name stands somewhere in a model's, not at its beginning: perhaps trained to write otherwise."""
    family, name = family_of(model), _spelled(model).rpartition("/")[2]
    if family is None:
        return None
    found = re.search(family.pattern, name)
    begins = found is not None and _MAKERS.sub("", name[: found.start()], count=1).strip("-") == ""
    return None if begins else family


def nearest_families(model: str) -> list[str]:
    """At most three families whose names come near a model's, for advice; the newest if none does."""
    words = [word for word in re.split(r"[^a-z0-9.]+", model.lower()) if word]
    near = [name for word in [*words, model.lower()] for name in get_close_matches(word, families(), n=2, cutoff=0.6)]
    return list(dict.fromkeys(near or families()))[:3]
