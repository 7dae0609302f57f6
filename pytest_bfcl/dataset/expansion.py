"""From a raw line to an entry: renamed ids, agentic system message, class documents, held-out functions, formats.

Each function is one numbered rule of the data spec §6. Language hints (point 6) belong to generation: `hints`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args

from pydantic import ValidationError

from pytest_bfcl.dataset.categories import CATEGORIES, Category, Language, category_of
from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Fields, Parsed, first_problem
from pytest_bfcl.tools.documents import as_document, native_document
from pytest_bfcl.tools.json_schema import DIALECT, is_native
from pytest_bfcl.troubles import HarnessTrouble

Documents = Callable[[str], list[FunctionDoc]]
"""Class name → function documents of its tools, in a fresh list."""

DocFormat = Literal["python", "json", "xml"]


@dataclass(frozen=True, slots=True)
class FormatConfig:
    """One format-sensitivity configuration (data spec §6.1)."""

    return_format: str = "python"
    tool_call_tag: bool = False
    doc_format: str = "json"
    prompt_format: str = "plaintext"
    prompt_style: str = "classic"

    def __str__(self) -> str:
        return (
            f"ret_fmt={self.return_format}&tool_call_tag={self.tool_call_tag}&func_doc_fmt={self.doc_format}"
            f"&prompt_fmt={self.prompt_format}&style={self.prompt_style}"
        )

    @classmethod
    def parse(cls, text: str) -> FormatConfig:
        """The inverse of ``str``; raises `ValueError` for unknown keys or values."""
        pairs = dict(pair.split("=", 1) for pair in text.split("&"))
        allowed: dict[str, tuple[str, ...]] = {
            "ret_fmt": ("python", "json", "verbose_xml", "concise_xml"),
            "tool_call_tag": ("True", "False"),
            "func_doc_fmt": get_args(DocFormat),
            "prompt_fmt": ("plaintext", "markdown"),
            "style": ("classic", "experimental"),
        }
        if set(pairs) != set(allowed) or any(pairs[key] not in values for key, values in allowed.items()):
            raise ValueError(f"not a prompt configuration: {text!r}")
        return cls(pairs["ret_fmt"], pairs["tool_call_tag"] == "True", pairs["func_doc_fmt"], pairs["prompt_fmt"],
                   pairs["style"])  # fmt: skip


@cache
def format_configs() -> tuple[FormatConfig, ...]:
    """The 26 configurations in their official order (data spec §6.1)."""
    grid = [
        FormatConfig(return_format, tag, doc_format)
        for return_format in ("python", "json", "verbose_xml", "concise_xml")
        for tag in (True, False)
        for doc_format in ("python", "xml", "json")
    ]
    return (*grid, FormatConfig(prompt_format="markdown"), FormatConfig(prompt_style="experimental"))


def build_entry(
    raw: Parsed,
    entry_id: str,
    category: Category,
    *,
    texts: Texts,
    documents: Documents,
    official: bool,
    source: str,
    answer: Parsed | None = None,
    depends_on: Iterable[str] = (),
) -> Entry:
    """An expanded entry from its raw line and its answer line.

    Raises `HarnessError` of kind ``data`` if the line is no entry; ``source`` is its place.
    """
    try:
        values = _expanded(raw, category, texts, answer, list(depends_on))
        values.update(id=entry_id, category=category.name, official=official, source=source)
        if not official:
            _read_tools(values)
        if values.get("involved_classes"):
            own = values.get("function") or []
            values["function"] = [*own, *(doc for name in values["involved_classes"] for doc in documents(name))]
            if texts.sentences:
                values["sentences"] = texts.sentences
        _check_shapes(values)
        held = values.get("missed_function")
        values["missed_function"] = _held_out(values, held) if held else {}
        if category.multi_step and category.long_context:
            values["long_context_texts"] = texts.long_context
        return Entry.model_validate(values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise HarnessError(
            HarnessTrouble.DATA, f"{source}: {entry_id} is not a usable entry: {_short(error)}"
        ) from error


def _expanded(raw: Parsed, category: Category, texts: Texts, answer: Parsed | None, depends_on: list[str]) -> Parsed:
    """The fields of an entry by its category; unusual values raise their own errors."""
    values = {"language": category.language, **raw, **_answer_fields(raw, answer)}
    values["question"] = _turns(raw.get("question"))
    if values["language"] != "python":
        values.setdefault("return_format", values["language"])
    if not isinstance(values.get("function", []), list):  # the retired chatable file has texts here
        values["function"] = []
    if category.backend:
        values["involved_classes"] = [f"MemoryAPI_{category.backend}"]
        values["depends_on"] = depends_on or values.get("depends_on", [])
    if category.checker == "answer":
        values["question"] = [_with_answer_instruction(values["question"], texts), *values["question"][1:]]
    if category.group == "web_search":
        config = values.get("initial_config") or {}
        snippets = {"show_snippet": not category.name.endswith("no_snippet")}
        values["initial_config"] = {"WebSearchAPI": snippets, **config}
    return values


def _answer_fields(raw: Parsed, answer: Parsed | None) -> Parsed:
    """``possible_answer`` and the answer's other fields: ``num_hops``, ``execution_result_type``, ``answer_source``."""
    line = answer if answer is not None else raw
    found = line.get("possible_answer", line.get("ground_truth"))
    if isinstance(found, str):  # the retired rest file: one JSON text
        found = [found]
    fields = {"possible_answer": found}
    if answer is not None:
        fields |= {k: v for k, v in answer.items() if k not in ("id", "ground_truth", "possible_answer", "source")}
    if "source" in line:
        fields["answer_source"] = line["source"]
    return fields


def _turns(question: object) -> list[Any]:
    """The question as turns of messages: retired files hold a bare text or one flat turn (data spec §10)."""
    if isinstance(question, str):
        return [[{"role": "user", "content": question}]]
    if isinstance(question, list) and question and isinstance(question[0], dict):
        return [question]
    return list(question) if isinstance(question, list) else []


def _with_answer_instruction(question: list[Any], texts: Texts) -> list[Any]:
    """Turn 0 with the final-answer instruction in front (data spec §6, point 3)."""
    first = question[0] if question else []
    return [{"role": "system", "content": texts.agentic_answer}, *first]


def _check_shapes(values: Parsed) -> None:
    """The conditions that all code relies on: messages have a role, function documents a name."""
    for turn in values["question"]:
        for message in turn if isinstance(turn, list) else ():
            if isinstance(message, dict) and not isinstance(message.get("role"), str):
                raise ValueError('question: a message has no "role"')
    for document in values.get("function") or ():
        if isinstance(document, dict):
            name = document.get("name")
            if not (isinstance(name, str) and name):
                raise ValueError('function: a function document has no "name"')


def _read_tools(values: Parsed) -> None:
    """Tools in other shapes than the benchmark's become documents; the checks report unusual ones."""
    if isinstance(values.get("function"), dict):
        values["function"] = [values["function"]]
    held = values.get("missed_function")
    read = native_document if values.get("dialect") == DIALECT else as_document
    for tools in [values.get("function"), *(held.values() if isinstance(held, dict) else ())]:
        if isinstance(tools, list):
            tools[:] = [read(tool) if isinstance(tool, dict) else tool for tool in tools]


def _held_out(values: Parsed, missed: Parsed) -> dict[int, list[FunctionDoc]]:
    """The documents named in ``missed_function``, moved out of ``function`` (data spec §6, point 5).

    Undocumented names are skipped (one retired entry has some); `validation` reports them in users' data.
    """
    held: dict[int, list[FunctionDoc]] = {}
    offered: list[FunctionDoc] = values.get("function") or []
    for turn, names in missed.items():
        docs: list[FunctionDoc] = []
        for name in names:
            if isinstance(name, dict):
                docs.append(name)
                continue
            place = next((i for i, doc in enumerate(offered) if doc.get("name") == name), None)
            if place is not None:
                docs.append(offered.pop(place))
        held[int(turn)] = docs
    return held


def in_format(entry: Entry, number: int, config: FormatConfig) -> Entry:
    """The format-sensitivity variant of an entry (data spec §6.1); its answer is the original's."""
    written = str(config)
    changes: Parsed = {
        "id": format_id(number, written, entry.id),
        "category": "format_sensitivity",
        "config": written,
        **asdict(config),
    }
    return entry.model_copy(update=changes)


def format_id(number: int, config: FormatConfig | str, original: str) -> str:
    """The id of a format-sensitivity entry."""
    return f"format_sensitivity_{number}:{config}:{original}"


def sort_key(entry_id: str) -> tuple[int, str, int]:
    """The official order of ids: (priority, category, first integer of the index) (data spec §5)."""
    head = entry_id.split(":", 1)[0]
    name = category_of(entry_id)
    row = CATEGORIES.get(name)
    group = row.group if row else ""
    priority = {"memory_prereq": 0, "web_search": 1, "multi_turn": 3, "memory": 4}.get(group, 2)
    digits = head.rpartition("_")[2].split("-", 1)[0]
    return priority, name, int(digits) if digits.isdigit() else 0


def _short(error: Exception) -> str:
    """A one-line reason."""
    return first_problem(error) if isinstance(error, ValidationError) else str(error)


_ITEM_TYPES = {"java": ("ArrayList", "Array"), "javascript": ("array",)}


def with_hints(
    functions: Sequence[FunctionDoc], language: Language, texts: Texts, *, twice: bool = False
) -> list[FunctionDoc]:
    """Copies of the documents with the language's hints; originals and documents in JSON Schema do not change.

    Java and JavaScript parameters become strings that hold source text. ``twice`` appends the hints twice:
    format-sensitivity documents have the Python sentence twice (data spec §6, point 6).
    """
    hinted = [f if "dialect" in f and is_native(f) else _hinted(f, language, texts) for f in functions]
    return [_hinted(function, language, texts) for function in hinted] if twice else hinted


def typed_as_sent(functions: Sequence[Fields], language: Language) -> list[Fields]:
    """The documents with the types that `with_hints` sets, without its words."""
    if language == "python":
        return list(functions)
    return [function if is_native(function) else _texts_only(function) for function in functions]


def _texts_only(function: Fields) -> Fields:
    parameters = dict(function.get("parameters") or {})
    properties = parameters.get("properties") or {}
    parameters["properties"] = {name: {**schema, "type": "string"} for name, schema in properties.items()}
    return {**function, "parameters": parameters}


def _hinted(function: FunctionDoc, language: Language, texts: Texts) -> FunctionDoc:
    result = dict(function)
    result["description"] = f"{function.get('description', '')}{texts.hints[f'{language}.function']}"
    if language == "python":
        return result
    parameters = dict(function.get("parameters") or {})
    properties = parameters.get("properties") or {}
    parameters["properties"] = {name: _as_text(schema, language, texts) for name, schema in properties.items()}
    result["parameters"] = parameters
    return result


def _as_text(schema: Parsed, language: Language, texts: Texts) -> Parsed:
    """A parameter schema changed to a string with source text of the documented type."""
    result = dict(schema)
    kind = schema.get("type", "any")
    description = schema.get("description", "")
    if kind == "any":
        description += texts.hints[f"{language}.any"]
    else:
        description += texts.hints[f"{language}.type"].format(type=kind)
        if kind in _ITEM_TYPES[language] and "items" in schema:
            items = result.pop("items")
            description += texts.hints[f"{language}.items"].format(item_type=items.get("type", "any"))
        elif language == "javascript" and kind == "dict" and "properties" in schema:
            members = json.dumps(result.pop("properties"))
            description += texts.hints["javascript.properties"].format(properties=members)
    result["description"] = description
    result["type"] = "string"
    return result
