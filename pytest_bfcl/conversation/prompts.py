"""Prompts, and the speech of a model that writes calls in its own text format (formats spec).

Prompts are the system prompt of prompting mode, memory instructions, held-out functions. All wording comes from the
data set's `Texts`; this module combines it in the reference's order (agentic spec §4): tool instructions, memory
instruction, final-answer instruction, in one system message. Function documents are text in the three layouts of the
benchmark (data spec §6.1, §9), known from the reference's requests. Type words stay the benchmark's except in the
Python layout, which writes Python's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_bfcl.formats.detection import TextReading, call_ids, decoded_calls, model_name, without_thoughts
from pytest_bfcl.formats.table import find_decoder, registered_format
from pytest_bfcl.json_types import Fields
from pytest_bfcl.tools.json_schema import is_native
from pytest_bfcl.transcript import Message, Mode, Reply, ToolCall, arguments_text

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.formats.thinking import Think, Thinking
    from pytest_bfcl.models.base import Family, Model
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.simulators import Simulator


FunctionDoc = Fields

_PYTHON_TYPES = {
    "integer": "int", "float": "float", "number": "float", "boolean": "bool", "string": "str", "object": "dict",
}  # fmt: skip
_LISTS = ("array", "list", "tuple")


def documents_text(functions: Sequence[FunctionDoc], layout: str = "json") -> str:
    """The documents in a layout: ``json`` (indented by 4), ``python`` (docstring-like) or ``xml``."""
    functions = [{k: v for k, v in f.items() if k != "dialect"} if is_native(f) else f for f in functions]
    if layout == "python":
        return "\n\n".join(_python_function(function) for function in functions)
    if layout == "xml":
        return "\n".join(_xml_function(function) for function in functions)
    return _indented_list(functions)


def _indented_list(functions: Sequence[FunctionDoc]) -> str:
    """``json.dumps(functions, indent=4)``; conversations about the same classes share their documents' texts."""
    import pydantic_core

    try:
        keys = [pydantic_core.to_json(function, inf_nan_mode="constants") for function in functions]
        texts = ",\n    ".join([_indented(key).replace("\n", "\n    ") for key in keys])
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError):  # unpaired surrogates, say
        return json.dumps(list(functions), indent=4)
    return f"[\n    {texts}\n]" if keys else "[]"


@lru_cache(maxsize=512)
def _indented(document: bytes) -> str:
    return json.dumps(json.loads(document), indent=4)


def _described(schema: Fields) -> str:
    text = str(schema.get("description", ""))
    return f"{text} Enum values: {schema['enum']}." if "enum" in schema else text


def _members(schema: Fields) -> Fields:
    return schema.get("properties") or {}


# -- Python --------------------------------------------------------------------------------------------------------


def _python_function(function: FunctionDoc) -> str:
    lines = [f"# Function: {function['name']}", '    """', f"    {function.get('description', '')}", ""]
    members = _members(function.get("parameters") or {})
    if members:
        lines.append("    Args:")
        lines.extend(_python_members(members, 2))
    return "\n".join([*lines, '    """', "", "", "", ""])


def _python_members(members: Fields, depth: int) -> list[str]:
    lines = []
    for name, schema in members.items():
        default = f", default={schema['default']!r}" if "default" in schema else ""
        lines.append(f"{'    ' * depth}{name} ({_python_type(schema)}{default}): {_described(schema)}")
        if schema.get("type") in ("dict", "object"):
            lines.extend(_python_members(_members(schema), depth + 1))
    return lines


def _python_type(schema: Fields) -> str:
    kind = schema.get("type", "string")
    if kind in _LISTS and "items" in schema:
        return f"list[{_python_type(schema['items'])}]"
    if kind in ("dict", "object") and isinstance(schema.get("additionalProperties"), Mapping):
        return f"dict[str, {_python_type(schema['additionalProperties'])}]"
    return _PYTHON_TYPES.get(kind, str(kind))


# -- XML -----------------------------------------------------------------------------------------------------------


def _xml_function(function: FunctionDoc) -> str:
    lines = [
        f'<function name="{function["name"]}">',
        f"  <desc>{function.get('description', '')}</desc>",
        *_xml_params(function.get("parameters") or {}, "  "),
        "</function>",
        "",
    ]
    return "\n".join(lines)


def _xml_params(schema: Fields, indent: str) -> list[str]:
    """A ``params`` element; text is not escaped, as in the benchmark."""
    members = _members(schema)
    required = schema.get("required", list(members))
    lines = [f"{indent}<params>"]
    for name, member in members.items():
        default = f' default="{member["default"]!r}"' if "default" in member else ""
        needed = "true" if name in required else "false"
        tag = f'<param name="{name}" type="{_xml_type(member)}" required="{needed}"{default}>'
        lines.append(f"{indent}  {tag.replace(',', '')}")  # the reference's tags lose their commas, in defaults too
        lines.append(f"{indent}    <desc>{_described(member)}</desc>")
        if member.get("type") in ("dict", "object") and "properties" in member:
            lines.extend(_xml_params(member, f"{indent}    "))
        lines.append(f"{indent}  </param>")
    return [*lines, f"{indent}</params>"]


def _xml_type(schema: Fields) -> str:
    """The type word, with the element's type in brackets, one level deep."""
    kind = str(schema.get("type", "string"))
    inner = schema.get("additionalProperties") if kind in ("dict", "object") else schema.get("items")
    return f"{kind}[{inner['type']}]" if isinstance(inner, Mapping) and "type" in inner else kind


def system_prompt(entry: Entry, functions: Sequence[FunctionDoc], texts: Texts, template: str | None = None) -> str:
    """The system prompt of prompting mode for an entry's formats.

    ``template`` is a user's own text; ``{functions}`` in it is replaced by the documents (in the entry's layout), all
    other braces stay.
    """
    documents = documents_text(functions, entry.doc_format)
    if template is not None:
        return template.replace("{functions}", documents)
    style = texts.prompt_styles[entry.prompt_style]
    tagged = "tool_call_with_tag" if entry.tool_call_tag else "tool_call_no_tag"
    return texts.prompt_templates[entry.prompt_format].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style[tagged].format(
            output_format=texts.output_format(entry.return_format),
            param_types=texts.param_type_note(entry.return_format),
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(format=entry.doc_format, functions=documents),
    )


def first_messages(
    entry: Entry,
    functions: Sequence[FunctionDoc],
    texts: Texts,
    *,
    mode: Mode,
    memory: Simulator | None = None,
    template: str | None = None,
) -> list[Message]:
    """Turn 0 as sent: the user's messages after at most one system message."""
    messages = list(map(dict, entry.question[0])) if entry.question else []
    if memory is not None:
        messages = with_system(messages, memory_instruction(entry, memory, texts))
    if mode == "prompt" and entry.row.checker != "chat":  # chat is offered no tools and told of none
        messages = with_system(messages, system_prompt(entry, functions, texts, template))
    return messages


def with_system(messages: list[Message], text: str) -> list[Message]:
    """The messages with ``text`` as system message, before their own one and separated by a blank line."""
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{text}\n\n{messages[0]['content']}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def memory_instruction(entry: Entry, memory: Any, texts: Texts) -> str:
    """The memory's part of the system message, with its current content (agentic spec §4)."""
    backend = entry.row.backend
    template = texts.memory_unified if backend == "rec_sum" else texts.memory_core_archival
    return template.format(
        scenario_setting=texts.memory_scenarios.get(str(entry.scenario), ""),
        memory_content=memory.prompt_text(texts.memory_empty.get(backend, "")),
    )


def additional_functions(held_out: Sequence[FunctionDoc], texts: Texts) -> str:
    """The user message that offers held-out functions in prompting mode, with the documents' Python repr."""
    return texts.additional_functions_prompt.format(functions=list(held_out))


@dataclass(frozen=True, slots=True)
class Speech:
    """The format of one model's replies. ``family``: its template and history, if prompts are rendered here;
    ``decoder``: the format of calls in its texts; ``mended``: without the defects of the family's handler (corrected
    rules lead).
    """

    family: Family | None = None
    decoder: str | None = None
    think: Think = "auto"
    thinking: Thinking = "none"
    mended: bool = False
    plain: bool = field(init=False)
    """Whether tools are in prompts or templates and results are sent as text: the prompting loop."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", self.family is not None and not self.family.format.native)

    @classmethod
    def of(cls, model: Model, settings: Settings) -> Speech:
        """The format of a model under a run's settings. Raises `UsageError` if ``auto`` finds no decoder."""
        family: Family | None = getattr(model, "family", None)
        mended = settings.rules == "corrected"
        if family is None:
            return _plain_speech(model.spec, model.mode, settings.decoder, settings.think, mended)
        decoder = None if family.format.native and model.mode == "prompt" else family.format.decoder
        chosen = settings.decoder if settings.decoder not in (None, "auto") else decoder
        name = find_decoder(chosen).name if chosen else None
        return cls(family, name, settings.think, family.format.thinking, mended)

    def read(self, reply: Reply) -> Reply:
        """The reply with separated thoughts, as it is decoded and stored."""
        return without_thoughts(reply, self.think, self.thinking)

    def with_calls(self, reply: Reply, called: int, functions: Sequence[Any] = ()) -> Reply:
        """A reply whose calls a server left in the text, as if it had parsed them, for the history."""
        if reply.tool_calls or not reply.text:
            return reply
        found = decoded_calls(reply.text, self.decoder, functions)
        if not found:
            return reply
        ids = call_ids(len(found), next_ids(called))
        calls = tuple(ToolCall(name, arguments_text(args), i) for i, (name, args) in zip(ids, found, strict=True))
        return replace(reply, text="", tool_calls=calls)


@lru_cache(maxsize=64)
def _plain_speech(spec: str, mode: Mode, decoder: str | None, think: Think, mended: bool) -> Speech:
    """The format of a model without one of our templates; the same for all its conversations."""
    name = model_name(spec)
    chosen = TextReading(decoder).decoder_for(name, mode)
    return Speech(None, find_decoder(chosen).name if chosen else None, think, _thinking(name, mode, chosen), mended)


def _thinking(name: str, mode: str, decoder: str | None) -> Thinking:
    """Thoughts are treated as by the handler of the model's registered family, else as by its format. Handlers without
    this treatment would fail every reply with thoughts; a server's parser removes them.
    """
    own = find_decoder(decoder).thinking if decoder else "none"
    names = (f"{name}-FC", name) if mode == "fc" else (name,)
    row = next(filter(None, map(registered_format, names)), None)
    if own != "served" and row is not None and row.mode == mode and row.thinking != "none":
        return row.thinking
    return own if own != "none" else "served"


def next_ids(called: int) -> list[str]:
    """Ids of the calls of one reply, after ``called`` earlier calls."""
    return [f"call{number:05d}" for number in range(called + 1, called + 65)]
