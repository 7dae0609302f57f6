"""All prompt texts that differ between the official benchmark and our own data.

The official texts are taken from the fetched distribution (`pytest_bfcl.fetching.texts_extraction`) and never part of
this package; `Texts.own` is our own wording with the same structure, kept in ``own_texts.toml``.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.spread_json import json_file

ELLIPSIS_MARK = "<<Ellipsis>>"
"""Stands for the only non-JSON value of the long-context constants in ``texts.json``."""


_OPTIONAL = frozenset({"long_context", "sentences"})
"""Fields that our own texts leave empty: the simulators have their own."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The wording of one data set. Templates are `str.format` templates; their placeholders are given in braces.

    - ``output_formats``: return format (``python json verbose_xml concise_xml``) → how to write calls.
    - ``param_types``: return format → sentence about type words ("" for python and json).
    - ``prompt_styles``: ``classic``/``experimental`` → ``persona``, ``task``, ``tool_call_no_tag`` and
      ``tool_call_with_tag`` ({output_format}, {param_types}), ``multiturn_behavior``, ``available_tools`` ({format} is
      the document layout's name as in the configuration, {functions} the documents).
    - ``prompt_templates``: ``plaintext``/``markdown`` → the system prompt ({persona} {task} {tool_call_format}
      {multiturn_behavior} {available_tools}).
    - ``default_prompt_config``: the configuration string used outside format sensitivity (data spec §6.1).
    - ``additional_functions_fc``: user message in place of the empty turn when held-out functions arrive;
      ``additional_functions_prompt``: the same in prompting mode ({functions}) (multi_turn spec §2.4).
    - ``agentic_answer``: the final-answer instruction of memory questions and web search (agentic spec §4).
    - ``memory_scenarios``: scenario → role; ``memory_core_archival`` and ``memory_unified``: instructions
      ({scenario_setting}, {memory_content}); ``memory_empty``: backend (``kv vector rec_sum``) → sentence for an empty
      memory.
    - ``hints``: language hints (data spec §6, point 6), keys ``<language>.function``, ``java.any``, ``java.type``
      ({type}), ``java.items`` ({item_type}), the same for ``javascript``, and ``javascript.properties`` ({properties}).
    - ``sentences``: simulator class → place → template with numbered placeholders
      (`pytest_bfcl.fetching.texts_extraction`); empty means the simulators' own words.
    - ``long_context``: constant name → value (simulators spec §9); empty means the simulators' own texts.
    """

    output_formats: Mapping[str, str]
    param_types: Mapping[str, str]
    prompt_styles: Mapping[str, Mapping[str, str]]
    prompt_templates: Mapping[str, str]
    default_prompt_config: str
    additional_functions_fc: str
    additional_functions_prompt: str
    agentic_answer: str
    memory_scenarios: Mapping[str, str]
    memory_core_archival: str
    memory_unified: str
    memory_empty: Mapping[str, str]
    hints: Mapping[str, str]
    long_context: Fields = field(default_factory=dict, repr=False)
    sentences: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @classmethod
    def own(cls) -> Texts:
        """Our own wording."""
        return _own()

    @classmethod
    def load(cls, path: Path) -> Texts:
        """Texts written by `save`. Raises `UsageError` if the file is missing or incomplete."""
        return cls.from_values(json_file(path, "run `pytest-bfcl fetch --force`"), str(path))

    @classmethod
    def from_values(cls, values: Fields, where: str) -> Texts:
        """Texts from plain JSON values (`to_values`); the error for missing fields names ``where``."""
        missing = [f.name for f in fields(cls) if f.name not in _OPTIONAL and f.name not in values]
        if missing:
            raise UsageError(f"{where} lacks {', '.join(missing)}; run `pytest-bfcl fetch --force`")
        kept = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        kept["long_context"] = with_ellipsis(kept.get("long_context", {}))
        return cls(**kept)

    def to_values(self) -> Parsed:
        """A JSON-able copy; Ellipsis becomes `ELLIPSIS_MARK`."""
        values: Parsed = without_ellipsis(asdict(self))
        if not self.sentences:  # what had none before keeps its digest
            del values["sentences"]
        return values

    @property
    def sha256(self) -> str:
        """Digest of all texts, for the run's fingerprint."""
        return digest(self.to_values())

    def output_format(self, return_format: str) -> str:
        """How to write calls; Java and JavaScript entries get the default format, as in the benchmark."""
        return self.output_formats.get(return_format, self.output_formats["python"])

    def param_type_note(self, return_format: str) -> str:
        """The sentence about type words for `output_format`."""
        return self.param_types.get(return_format, self.param_types["python"])


@cache
def _own() -> Texts:
    path = Path(__file__).with_name("own_texts.toml")
    return Texts.from_values(tomllib.loads(path.read_text(encoding="utf-8")), str(path))


def digest(value: object) -> str:
    """SHA-256 over a text, or over compact key-sorted ASCII JSON (simulators spec §9)."""
    if not isinstance(value, str):
        value = json.dumps(without_ellipsis(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(value.encode()).hexdigest()


def data_digest(root: Path) -> str:
    """SHA-256 over the names and contents of all ``.json`` and ``.jsonl`` files below a folder, or of one file."""
    if root.is_file():
        return hashlib.sha256(root.read_bytes()).hexdigest()
    total = hashlib.sha256()
    named = (path for path in root.rglob("*") if path.suffix in (".json", ".jsonl"))
    files = sorted(path.relative_to(root).as_posix() for path in named if path.is_file())  # a pipe would block
    for name in files:
        content = hashlib.sha256((root / name).read_bytes()).hexdigest()
        total.update(f"{name}\0{content}\n".encode())
    return total.hexdigest()


def without_ellipsis(value: object) -> Any:
    """A copy in which every Ellipsis is written as `ELLIPSIS_MARK`."""
    if value is ...:
        return ELLIPSIS_MARK
    if isinstance(value, Mapping):
        return {key: without_ellipsis(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_ellipsis(item) for item in value]
    return value


def with_ellipsis(value: object) -> Any:
    """The inverse of `without_ellipsis`."""
    if isinstance(value, str):
        return ... if value == ELLIPSIS_MARK else value
    if isinstance(value, dict):
        return {key: with_ellipsis(item) for key, item in value.items()}
    if isinstance(value, list):  # of texts, nearly all
        return [item if isinstance(item, str) and item != ELLIPSIS_MARK else with_ellipsis(item) for item in value]
    return value


FILE = "format_texts.json"
"""Next to ``texts.json`` in a fetched folder."""
FOLDER = "model_handler/local_inference"
COMMAND = "pytest-bfcl fetch"


TABLE = "table"
"""Key of the file next to the texts: the digest of the table used to extract them."""


def table_digest() -> str:
    """Digest of what ``format_texts.toml`` asks for: another comment or layout makes no cache incomplete."""
    wanted = sorted(_wanted().items())
    return hashlib.sha256(json.dumps(wanted).encode()).hexdigest()


@cache
def _wanted() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name of a text → its module's path below ``bfcl_eval/`` and its parts: digests of literals, and placeholders."""
    table = tomllib.loads(Path(__file__).with_name("format_texts.toml").read_text(encoding="utf-8"))
    return {name: (row.get("path") or f"{FOLDER}/{row['module']}", tuple(row["sha256"])) for name, row in table.items()}


def are_all_in(folder: Path) -> bool:
    """Whether a fetched folder has every text of this release's table that its distribution has."""
    try:
        found = json_file(folder / FILE)
    except UsageError:
        return False
    return isinstance(found, dict) and bool(found.get(TABLE) == table_digest())


def format_sources() -> frozenset[str]:
    """Paths below ``bfcl_eval/`` that hold such texts."""
    return frozenset(path for path, _ in _wanted().values())


def extract_format_texts(sources: Mapping[str, str]) -> dict[str, str]:
    """The texts found in source texts by path; missing and changed ones are left out."""
    literals = {path: dict(_literals(source)) for path, source in sources.items() if path in format_sources()}
    found = {}
    for name, (path, digests) in _wanted().items():
        known = literals.get(path, {})
        parts = [digest if digest.startswith("{") else known.get(digest) for digest in digests]
        if all(part is not None for part in parts):
            found[name] = "".join(part for part in parts if part is not None)
    return found


def _literals(source: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield hashlib.sha256(node.value.encode("utf-8", "surrogatepass")).hexdigest(), node.value


class FormatTexts:
    """The fetched texts by name; for a missing one the error names the command that fetches it."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})

    @classmethod
    def beside(cls, folder: Path | None) -> FormatTexts:
        """The texts of a fetched folder (``None``: nothing was fetched). Each is checked by its digest."""
        path = folder / FILE if folder is not None else None
        if path is None or not path.is_file():
            return cls()
        values = json_file(path, f"run `{COMMAND} --force`")
        if not isinstance(values, dict):
            raise UsageError(f"{path} holds no object; run `{COMMAND} --force`")
        return cls({name: text for name, text in values.items() if isinstance(text, str)})

    def sentences(self) -> dict[str, dict[str, str]]:
        """Simulator class → place → template; those of the class ``*`` apply to all."""
        found: dict[str, dict[str, str]] = {}
        for name, text in self._texts.items():
            kind, _, rest = name.partition(".")
            if kind == "say":
                owner, _, place = rest.partition(".")
                found.setdefault(owner, {})[place] = text
        return found

    def __getitem__(self, name: str) -> str:
        """A text. Raises `UsageError` with the command that fetches it."""
        if name not in self._texts:
            raise UsageError(
                f"the family's template needs the benchmark's text {name!r}, which is not fetched: "
                f"run `{COMMAND}`, or give the model's own template, --bfcl-template DIR"
            )
        return self._texts[name]
