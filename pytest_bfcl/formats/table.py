"""The table of formats: requests, readers and history of each model family's handler (formats spec §2).

A row is data. `pytest_bfcl.formats.decoders` has its decoders, `extensions.formats` the templates, ``registered.toml``
the registered models.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.formats.decoders import HANDLERS, SERVED, Decoder, handler_name, reference_reading
from pytest_bfcl.formats.served import NOTATIONS, calls_of, server_reading, texts_of
from pytest_bfcl.formats.thinking import TAGS, Thinking
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Mode

History = Literal["plain", "reasoning", "calls", "raw", "mistral", "user", "ipython", "native"]
"""Forms of a reply and its results in the history (formats spec §5): the text; with its reasoning; parsed calls;
unparsed text; Mistral's list with ids; results as one user message; results in the role ``ipython``; OpenAI's messages,
for the model's own template."""


@dataclass(frozen=True, slots=True)
class Format:
    """How one family of models is used and read.

    ``decoder``: ``None`` for native calls. ``template``: ``None`` if the server renders. ``mode``: the registered one;
    ``fc`` of a self-hosted family only sets the label and excludes format sensitivity, but the prompting loop still
    runs it. ``underscore_names``: dots become ``_`` when names are compared. ``system``: the benchmark's system prompt
    comes before the entry's. ``defects``: the handler's mistakes, in words."""

    name: str
    mode: Mode
    decoder: str | None = None
    template: str | None = None
    thinking: Thinking = "none"
    history: History = "plain"
    system: bool = False
    underscore_names: bool = False
    stop_token_ids: tuple[int, ...] = ()
    skip_special_tokens: bool | None = None
    null_content: bool = False
    """History ``calls``: the content next to calls is null, not the empty text."""
    defects: tuple[str, ...] = ()

    @property
    def native(self) -> bool:
        """Whether the conversation is that of native calls: separate tools, results by id, held-out tools added
        later."""
        return self.history == "native"

    @property
    def reads(self) -> Decoder | None:
        """The decoder itself."""
        return find_decoder(self.decoder) if self.decoder else None


def _prompting(name: str, template: str, **more: object) -> Format:
    return Format(name, "prompt", "python", template, system=True, **more)  # type: ignore[arg-type]


_LOST_BROKEN = "broken output counts as no call"
_SELF_HOSTED = (
    _prompting("llama-prompt", "llama3", history="ipython"),
    _prompting("llama4-prompt", "llama4", history="ipython"),
    _prompting("qwen-prompt", "qwen3", thinking="think", history="reasoning"),
    _prompting("gemma-prompt", "gemma"),
    _prompting("minicpm-prompt", "chatml"),
    _prompting("bielik-prompt", "bielik"),
    Format("phi-prompt", "prompt", "python-fence", "phi4", system=True),
    Format("phi4-mini-prompt", "prompt", "python-fence", "phi4mini", system=True),
    _prompting("deepseek-r1", "r1", thinking="r1", history="user"),
    Format("qwen-fc", "fc", "handler:hermes", "qwen3-tools", "think", "calls", defects=(_LOST_BROKEN,)),
    Format("nanbeige-fc", "fc", "handler:hermes", "nanbeige", "think", "calls", defects=(_LOST_BROKEN,)),
    Format("pelican-fc", "fc", "handler:hermes", "pelican", "think", "calls", defects=(_LOST_BROKEN,)),
    Format("granite4-fc", "fc", "handler:hermes", "granite4", history="calls", defects=(_LOST_BROKEN,)),
    Format("arch-fc", "fc", "handler:hermes-strict", "arch", history="calls", null_content=True),
    Format("granite3-fc", "fc", "handler:granite3", "granite3", history="raw"),
    Format("phi-fc", "fc", "handler:phi4-mini", "phi4mini-tools", history="raw"),
    Format(
        "granite20b-fc", "fc", "handler:granite20b", "granite20b", underscore_names=True,
        defects=("prose is run as a call: only the step limit or an empty reply ends a turn",),
    ),
    Format(
        "llama31-fc", "fc", "handler:llama3-json", "llama31",
        defects=("JSON's true, false and null fail", "a semicolon inside a text breaks the reply"),
    ),
    Format(
        "hammer-fc", "fc", "handler:hammer", "hammer",
        defects=("notes about defaults are added to the tools again with every query", _LOST_BROKEN),
    ),
    Format("falcon3-fc", "fc", "handler:falcon", None),
    Format(
        "glm4-fc", "fc", "handler:glm4", "glm4", underscore_names=True, stop_token_ids=(151329, 151336, 151338),
        defects=("only the first call of a reply is read",),
    ),
    Format("bitagent-fc", "fc", "handler:json-list", "bitagent"),
    Format("xlam-llama-fc", "fc", "handler:xlam", "xlam-llama"),
    Format("xlam-qwen-fc", "fc", "handler:xlam", "xlam-qwen"),
    Format(
        "functiongemma-fc", "fc", "handler:functiongemma", "functiongemma",
        defects=("nested parameters are not shown",),
    ),
    Format(
        "minicpm-fc", "fc", "handler:minicpm3", "minicpm3", underscore_names=True, stop_token_ids=(2, 73440),
        skip_special_tokens=False,
        defects=("the tool text is added again with every query", "letters of a name after a bare fence are eaten"),
    ),
    Format("mistral-fc", "prompt", "handler:mistral-json", "mistral", history="mistral"),
    Format(
        "thinkagent-fc", "fc", "handler:thinkagent", "thinkagent", system=True,
        defects=("quotes inside texts break the reply", "calls are never executed", "later turns are not shown"),
    ),
)  # fmt: skip
_HOSTED = (
    Format("chat-prompt", "prompt", "python"),
    Format("chat-fc", "fc", underscore_names=True),
    Format("chat-fc-dotted", "fc", defects=("names are compared with dots though sent with underscores",)),
    Format("gemini-prompt", "prompt", "tool-code"),
    Format("gemini-fc", "fc", "native-or-texts", underscore_names=True),
    Format("cohere-fc", "fc", "cohere", underscore_names=True, defects=("texts count as no call",)),
    Format("nemotron-fc", "fc", "handler:toolcall", defects=("results never go back to the model",)),
    Format("mining-prompt", "prompt", "handler:tool-calls-list"),
    Format("mining-fc", "fc", "xiaoming", defects=("no call ever decodes",)),
    Format("gorilla", "fc", "gorilla", defects=("calls are never executed",)),
    Format("nexus", "fc", "nexus", defects=("calls are never executed",)),
)
FORMATS: Mapping[str, Format] = {row.name: row for row in (*_SELF_HOSTED, *_HOSTED)}
"""Every family by name."""


def find_format(name: str) -> Format:
    """A family by its name. Raises `UsageError` that lists them."""
    if name not in FORMATS:
        raise UsageError(f"unknown model family {name!r}; {instead_of(name, FORMATS)}")
    return FORMATS[name]


def find_decoder(name: str) -> Decoder:
    """A decoder by its own name or a family's. Raises `UsageError` that lists them."""
    row = FORMATS.get(name)
    found = SERVED.get(name) or reference_reading(name)
    found = found or (row.reads if row is not None else None) or _parser(name) or _plugged(name)
    if found is None:
        raise UsageError(
            f"unknown decoder {name!r}; {instead_of(name, [*SERVED, *map(handler_name, HANDLERS), *FORMATS])}"
        )
    return found


@cache
def _parser(name: str) -> Decoder | None:
    """``ENGINE:PARSER``: the parser of an engine, from the package with the engine's name."""
    engine, colon, _ = name.partition(":")
    point = entry_points.find("parsers", engine) if colon else None
    if point is None:
        return None
    found: Decoder = entry_points.load(point, "parser")(name)
    return found


@cache
def _plugged(name: str) -> Decoder | None:
    """A decoder of another package: a function ``(text, functions)`` that returns pairs of name and arguments."""
    point = entry_points.find("decoders", name)
    if point is None:
        return None
    read = entry_points.load(point, "decoder")

    def pairs(text: str, functions: Sequence[Fields]) -> list[tuple[Any, Any]]:
        try:
            return list(read(text, functions))
        except Exception as error:  # what it cannot read is no call
            raise DecodeError(f"{name}: {error}"[:500]) from None

    return Decoder(name, point.value, texts_of(pairs), calls_of(pairs), served=True)


def registered_format(model: str) -> Format | None:
    """The family under which the benchmark registers a model, by its name or its result folder's name."""
    family = _registered().get(_key(model))
    return FORMATS[family] if family else None


@cache
def _registered() -> dict[str, str]:
    return {_key(name): family for family, names in _registered_names().items() for name in names}


@cache
def _registered_names() -> dict[str, list[str]]:
    text = Path(__file__).with_name("registered.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def registered_models(family: str) -> list[str]:
    """The names registered under a family, in the reference's order."""
    return list(_registered_names().get(family, ()))


def _key(model: str) -> str:
    return model.replace("/", "_")


def guessed_decoder(model: str, mode: Mode = "fc") -> str | None:
    """The decoder of a served model's replies in its server's reading, by name; ``None`` if unknown. In prompting mode
    a model registered for it uses its handler's format.
    """
    if mode == "prompt" and (row := registered_format(model)) is not None and row.mode == "prompt":
        return row.decoder
    family = family_of(model)
    if family is not None:
        return family.format
    row = registered_format(f"{model}-FC") or registered_format(model)
    return row.decoder if row is not None else None


def reference_decoder(model: str) -> str | None:
    """The decoder of an official folder: its registered handler's, with every defect, else `guessed_decoder`."""
    row = registered_format(model) or registered_format(f"{model}-FC")
    return row.decoder if row is not None and row.decoder else guessed_decoder(model)


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
