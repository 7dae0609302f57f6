"""Texts with calls as models write them: one row a format, one battery of calls for all of them.

What a format makes of a call is read back by our own decoder of that format; what it cannot hold is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.extensions.wire.requests import Tool
from pytest_bfcl.extensions.wire.tasks import TEXT, schema
from pytest_bfcl.formats.served import NOTATIONS
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.limits import DecodeError

LOOK_UP = Tool(
    "look_up",
    {
        "type": "object",
        "properties": {
            "key": TEXT, "count": {"type": "integer"}, "rate": {"type": "number"}, "exact": {"type": "boolean"},
            "tags": {"type": "array", "items": TEXT}, "place": {"type": "object"},
        },
        "required": [],
    },
    "Looks a key up.",
)  # fmt: skip
STATUS = Tool("get_status", schema({}), "Tells the status.")
TOOLS = (LOOK_UP, STATUS)


@dataclass(frozen=True, slots=True)
class Writing:
    """How a format writes calls: ``call`` once for each, ``between`` them, ``before`` and ``after`` all.

    Templates: ``$name``, ``$number`` (from 0), ``$json`` (the arguments), ``$member`` (an object of name and
    arguments), ``$python``, ``$signs`` (Gemma's) or ``$elements``. The last has one ``element`` an argument with
    ``$key``, ``$value`` and whether it is a ``$string``. ``alone``: nothing may come with the calls.
    """

    call: str
    before: str = ""
    after: str = ""
    between: str = "\n"
    element: str = ""
    quote: str = ""
    alone: bool = False

    def text(self, calls: Sequence[Wanted], *, ascii_only: bool = False) -> str:
        """The calls as this format has them."""

        def dumps(value: object) -> str:
            return json.dumps(value, ensure_ascii=ascii_only)

        def written(number: int, call: Wanted) -> str:
            return Template(self.call).substitute(
                name=call.name, number=number, json=dumps(call.arguments),
                member=dumps({"name": call.name, "arguments": call.arguments}),
                python=f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})",
                signs=f"call:{call.name}{_signs(call.arguments, self.quote)}",
                elements="".join(self._element(key, value, dumps) for key, value in call.arguments.items()),
            )  # fmt: skip

        listed = self.between.join(written(number, call) for number, call in enumerate(calls))
        return f"{self.before}{listed}{self.after}"

    def _element(self, key: str, value: object, dumps: Any) -> str:
        text = value if isinstance(value, str) else dumps(value)
        return Template(self.element).substitute(key=key, value=text, string=str(isinstance(value, str)).lower())


def _signs(value: object, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_signs(each, quote)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_signs(each, quote) for each in value) + "]"
    return json.dumps(value)


_PARAMETER = "<parameter=$key>\n$value\n</parameter>\n"
_KEYS = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"
_ELEMENT = '<parameter name="$key">$value</parameter>\n'
WRITINGS: Mapping[str, Writing] = {
    "hermes": Writing("<tool_call>\n$member\n</tool_call>"),
    "longcat": Writing("<longcat_tool_call>\n$member\n</longcat_tool_call>"),
    "tool-calls-list": Writing("$member", "<tool_calls>\n[", "]\n</tool_calls>", between=", "),
    "toolcall-json": Writing("$member", "<TOOLCALL>[", "]</TOOLCALL>", between=", "),
    "granite3": Writing("$member", "<|tool_call|>[", "]", between=", "),
    "granite20b": Writing("<function_call> $member"),
    "phi4-mini": Writing("$member", "functools[", "]", between=", "),
    "internlm": Writing("<|action_start|><|plugin|>\n$member<|action_end|>"),
    "gigachat": Writing("<|function_call|>$member"),
    "command": Writing(
        '{"tool_call_id": "$number", "tool_name": "$name", "parameters": $json}', "<|START_ACTION|>[\n",
        "\n]<|END_ACTION|>", ",\n",
    ),
    "apertus": Writing('{"$name": $json}', "<|tools_prefix|>[", "]<|tools_suffix|>", between=", "),
    "inkling": Writing('<|content_invoke_tool_json|>{"name": "$name", "args": $json}<|end_message|>'),
    "llama3-json": Writing('{"name": "$name", "parameters": $json}', between="; ", alone=True),
    "xlam": Writing("$member", "[", "]", alone=True, between=", "),
    "glm4": Writing("$name\n$json", alone=True),
    "deepseek": Writing(
        "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$json<｜tool▁call▁end｜>", "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>", "",
    ),
    "kimi": Writing(
        "<|tool_call_begin|>functions.$name:$number<|tool_call_argument_begin|>$json<|tool_call_end|>",
        "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "",
    ),
    "mistral": Writing("$member", "[TOOL_CALLS][", "]", between=", "),
    "mistral-json": Writing("$member", "[TOOL_CALLS][", "]", between=", "),
    "functionary31": Writing("<function=$name>$json</function>", between=""),
    "functionary32": Writing(">>>$name\n$json", alone=True),
    "solar": Writing(
        "<|tool_call:begin|>00000000$number<|tool_call:name|>$name<|tool_call:args|>$json<|tool_call:end|>",
        "<|tool_calls|>", between="",
    ),
    "plamo": Writing(
        "<|plamo:begin_tool_name:plamo|>$name<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>"
        "<|plamo:msg|>$json<|plamo:end_tool_arguments:plamo|>", between="",
    ),
    "harmony": Writing(
        "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$json<|call|>",
        between="<|start|>assistant", alone=True,
    ),
    "qwen-coder": Writing("<tool_call>\n<function=$name>\n$elements</function>\n</tool_call>", element=_PARAMETER),
    "seed": Writing("<seed:tool_call>\n<function=$name>\n$elements</function>\n</seed:tool_call>", element=_PARAMETER),
    "mimo": Writing(
        "<tool_call>\n<function=$name>\n$elements</function>\n</tool_call>",
        element="<parameter=$key>$value</parameter>\n",
    ),
    "glm45": Writing("<tool_call>$name\n$elements</tool_call>", element=_KEYS),
    "laguna": Writing("<tool_call>$name\n$elements</tool_call>", element=_KEYS),
    "hunyuan3": Writing("<tool_call>$name<tool_sep>\n$elements</tool_call>", "<tool_calls>\n", "\n</tool_calls>",
                        element=_KEYS),
    "minimax-m2": Writing('<invoke name="$name">\n$elements</invoke>', "<minimax:tool_call>\n",
                          "\n</minimax:tool_call>", element=_ELEMENT),
    "dots": Writing('<dots_function_call><invoke name="$name">$elements</invoke></dots_function_call>',
                    element=_ELEMENT.strip()),
    "dsml": Writing(
        '<｜DSML｜invoke name="$name">\n$elements</｜DSML｜invoke>', "<｜DSML｜tool_calls>\n",
        "\n</｜DSML｜tool_calls>",
        element='<｜DSML｜parameter name="$key" string="$string">$value</｜DSML｜parameter>\n',
    ),
    "step3": Writing(
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="$name">$elements</steptml:invoke>'
        "<｜tool_call_end｜>", "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "",
        element='<steptml:parameter name="$key">$value</steptml:parameter>',
    ),
    "minicpm5": Writing('<function name="$name">$elements</function>', element='<param name="$key">$value</param>'),
    "pythonic": Writing("$python", "[", "]", alone=True, between=", "),
    "olmo3": Writing("$python", "<function_calls>", "</function_calls>"),
    "lfm2": Writing("$python", "<|tool_call_start|>[", "]<|tool_call_end|>", between=", "),
    "toolcall": Writing("$python", "<TOOLCALL>[", "]</TOOLCALL>", between=", "),
    "functiongemma": Writing("<start_function_call>$signs<end_function_call>", between="", quote="<escape>"),
    "gemma4": Writing("<|tool_call>$signs<tool_call|>", between="", quote='<|"|>'),
}  # fmt: skip
"""Format → how its calls are written, by the models' chat templates."""


def _look(**arguments: Any) -> Wanted:
    return Wanted(LOOK_UP.name, arguments)


ONE = (_look(key="Oslo"),)
BATTERY: Mapping[str, tuple[Wanted, ...]] = {
    "one call": ONE,
    "no arguments": (Wanted(STATUS.name, {}),),
    "two calls": (_look(key="Oslo"), _look(key="Rome", count=2)),
    "numbers": (_look(count=-17, rate=0.5, exact=True),),
    "nested": (_look(tags=["a", "b"], place={"at": {"x": 1, "names": []}}),),
    "braces": (_look(key='} ], {"a": "b"}'),),
    "quotes": (_look(key="she said \"no\" and 'yes' \\ twice"),),
    "line ends": (_look(key="first\nsecond\tthird"),),
    "markup": (_look(key="1 < 2 && <b>3</b> > 2"),),
    "letters": (_look(key="Grüße, 世界 😀👩‍🚀"),),
}
SAID = "I look it up. "
PLAIN = "Is 2 < 3? Yes: f(x) = {1, [2]}, and <b>that</b> is | all."


@dataclass(frozen=True, slots=True)
class Written:
    """A text, what it is about, the calls in it and the prose (``said``); of others' texts neither is ``known``."""

    what: str
    text: str
    wanted: tuple[Wanted, ...]
    said: str = ""
    tools: tuple[Tool, ...] = TOOLS
    known: bool = True


def written_in(name: str) -> list[Written]:
    """The battery in one format, from the shortest text to the longest."""
    return sorted((each for each in _written(WRITINGS[name]) if _reads(name, each)), key=lambda each: len(each.text))


def _written(writing: Writing) -> Iterator[Written]:
    for what, calls in BATTERY.items():
        yield Written(what, writing.text(calls), calls)
    for what in ("letters", "quotes"):
        yield Written(f"{what}, escaped", writing.text(BATTERY[what], ascii_only=True), BATTERY[what])
    if not writing.alone:
        yield Written("prose before a call", SAID + writing.text(ONE), ONE, SAID)
    yield Written("prose alone", PLAIN, (), PLAIN)


def _reads(name: str, each: Written) -> bool:
    """Whether our own decoder finds in a text what it was made of."""
    try:
        found = NOTATIONS[name].pairs(each.text, documents(each.tools))
    except DecodeError:
        return not each.wanted
    return found == [(call.name, call.arguments) for call in each.wanted]


def documents(tools: Sequence[Tool]) -> list[Fields]:
    """Tools as decoders take them."""
    return [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]


def offered(tools: Sequence[Tool]) -> list[Parsed]:
    """Tools as chat completions has them."""
    return [{"type": "function", "function": dict(each)} for each in documents(tools)]
