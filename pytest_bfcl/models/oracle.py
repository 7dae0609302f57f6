"""The oracle: answers from the ground truth, in the format a model would have to use.

It shows that harness, checkers and data can reach 100 %; what it cannot pass is a known issue (contract §8). Data spec
§8, last paragraph, says how it picks among acceptable values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.python_text import parse_expression
from pytest_bfcl.transcript import Call, Mode, Reply

REFUSAL = "None of the functions offered here can do that, so I make no call."
CLOSING = "That is done."

_OMIT = object()
_SAMPLES: dict[str, Any] = {
    "integer": 1, "float": 1.0, "double": 1.0, "number": 1.0, "long": 1, "boolean": True,
    "array": [], "tuple": [], "dict": {},
}  # fmt: skip


class OracleModel:
    """Gives the right answer; ``oracle:`` in either mode. Never fails, has no latency and no tokens."""

    def __init__(self, spec: ModelSpec, mode: Mode = "fc") -> None:
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"

    async def generate(self, request: Request) -> Reply:
        """The answer to this turn and step."""
        return answer(request.entry, self.mode, request.turn, request.step)

    async def aclose(self) -> None:
        """Nothing to release."""


def answer(entry: Entry, mode: Mode, turn: int = 0, step: int = 0) -> Reply:
    """The right reply for one turn and step of an entry."""
    checker = entry.row.checker
    if checker == "answer":
        return Reply(text=final_answer(entry), finish_reason="stop")
    if checker == "relevance":
        return reply_with_calls([_plausible_call(entry)], entry, mode) if entry.function else Reply(text=REFUSAL)
    if checker == "state":
        calls = turn_calls(entry, turn) if step == 0 else []
        return reply_with_calls(calls, entry, mode) if calls else Reply(text=CLOSING, finish_reason="stop")
    calls = list(single_turn_calls(entry)) if checker in ("ast", "executable", "sql", "rest") else []
    if calls:
        return reply_with_calls(calls, entry, mode)
    return Reply(text=REFUSAL if checker == "irrelevance" else CLOSING, finish_reason="stop")


def single_turn_calls(entry: Entry) -> Iterator[Call]:
    """The calls of a single-turn answer: the first acceptable value of every parameter that may not be left out."""
    if entry.row.checker == "rest":  # the answer is a response; the request stands beside it
        texts = [(entry.model_extra or {}).get("ground_truth_call")]
        yield from filter(None, (parse_call(text, entry) or folded_call(text) for text in texts if text))
        return
    for expected in entry.possible_answer or []:
        if isinstance(expected, str):
            call = parse_call(expected, entry) or folded_call(expected)
            if call:
                yield call
        elif isinstance(expected, Mapping):
            for name, parameters in expected.items():
                yield Call(name, _arguments(parameters, _required(entry, name)))


def _required(entry: Entry, name: str) -> list[str]:
    for doc in entry.function:
        if doc.get("name") == name:
            return list((doc.get("parameters") or {}).get("required") or [])
    return []


def _arguments(parameters: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, alternatives in parameters.items():
        value = _pick(alternatives, must=name in required)
        if value is not _OMIT:
            picked[name] = value
    return picked


def _pick(alternatives: Any, *, must: bool) -> Any:
    if not isinstance(alternatives, list):
        return alternatives
    if "" in alternatives and not must:
        return _OMIT
    chosen = next((value for value in alternatives if value != ""), _OMIT)
    if chosen is _OMIT:
        return "" if must and alternatives else _OMIT
    return _resolved(chosen)


def _resolved(value: Any) -> Any:
    """A chosen value: objects hold alternatives per key, one level deep (ast_checker spec §6.6 and §6.8)."""
    if isinstance(value, Mapping):
        return {k: v for k, v in ((k, _inner(a)) for k, a in value.items()) if v is not _OMIT}
    if isinstance(value, list):
        return [_resolved(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _inner(alternatives: Any) -> Any:
    if not isinstance(alternatives, list):
        return alternatives
    if "" in alternatives:
        return _OMIT
    return alternatives[0] if alternatives else _OMIT


def turn_calls(entry: Entry, turn: int) -> list[Call]:
    """The ground-truth calls of one turn, positional arguments turned into keywords."""
    answers = entry.possible_answer or []
    texts = answers[turn] if turn < len(answers) else []
    calls = (parse_call(text, entry) for text in texts if isinstance(text, str))
    return [call for call in calls if call is not None]


def parse_call(text: str, entry: Entry) -> Call | None:
    """A ground-truth call text as name and keyword arguments; ``None`` if it is not one plain call of literals."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call):
            return None
        name = ast.unparse(node.func)
        names = _parameter_names(entry, name)
        arguments = {names[i]: ast.literal_eval(value) for i, value in enumerate(node.args)}
        arguments.update({str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg})
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return None
    return Call(name, arguments)


def folded_call(text: str) -> Call | None:
    """A call whose arguments hold arithmetic (``p=1/6``), computed by the bounded evaluator; ``None`` otherwise."""
    from pytest_bfcl.decoding import DecodeError, decode_reply

    try:
        (call,) = decode_reply(Reply(text=text), "prompt")
    except (DecodeError, ValueError):
        return None
    return call


def _parameter_names(entry: Entry, name: str) -> list[str]:
    for doc in entry.all_functions:
        if doc.get("name") == name:
            return list((doc.get("parameters") or {}).get("properties") or {})
    return []


def _plausible_call(entry: Entry) -> Call:
    doc = entry.function[0]
    parameters = doc.get("parameters") or {}
    properties = parameters.get("properties") or {}
    required = parameters.get("required") or []
    return Call(str(doc["name"]), {name: _sample(properties.get(name) or {}) for name in required})


def _sample(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return _SAMPLES.get(str(schema.get("type")), "x")


def final_answer(entry: Entry) -> str:
    """The final message of an agentic entry: an object with ``answer`` and ``context`` (agentic spec §6)."""
    answers = [str(text) for text in entry.possible_answer or [""]]
    # Only an answer that begins and ends with a word character can be found on its own.
    chosen = next((text for text in answers if text and text[0].isalnum() and text[-1].isalnum()), answers[0])
    return repr({"answer": chosen, "context": "taken from the ground truth"})
