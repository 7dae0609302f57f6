"""Planted faults: each bends right replies in one way, and the cause that must be named for it.

Keys are those of `pytest_bfcl.extensions.causes`; ``where`` is a word of the place a fault is confined to.
"""

from __future__ import annotations

import base64
import calendar
import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.extensions.causes.faulty_server import Bend, Said

Change = Callable[[str], str]


class Fault(NamedTuple):
    """``names``: causes any of which is right."""

    bend: Bend
    names: tuple[str, ...]
    where: str = ""
    says: str = ""


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name.replace("_", " ").replace(".", " "))


def camel(name: str) -> str:
    first, *rest = _words(name) or [name]
    return first.lower() + "".join(each.capitalize() for each in rest)


def names(change: Change) -> Bend:
    def bend(said: Said) -> None:
        for call in said.calls:
            call[0] = change(call[0])

    return bend


def keys(change: Change) -> Bend:
    return arguments(lambda given: {change(key): value for key, value in given.items()})


def arguments(change: Callable[[dict[str, Any]], Any]) -> Bend:
    return lambda said: said.each_arguments(change)


def raw(change: Change) -> Bend:
    def bend(said: Said) -> None:
        for call in said.calls:
            call[1] = change(call[1])

    return bend


def texts(change: Change) -> Bend:
    return lambda said: said.each_value(lambda value: change(value) if isinstance(value, str) else value)


def numbers(change: Callable[[Any], Any]) -> Bend:
    def one(value: Any) -> Any:
        return change(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    return lambda said: said.each_value(one)


def calls(change: Callable[[list[list[str]]], list[list[str]]]) -> Bend:
    def bend(said: Said) -> None:
        said.calls = change(said.calls)

    return bend


def instead(text: str | Callable[[Said], str | None], reasoning: str | None = None) -> Bend:
    """No call, but a text."""

    def bend(said: Said) -> None:
        if said.calls:
            said.text = text if isinstance(text, str) else text(said)
            said.calls, said.reasoning = [], reasoning

    return bend


def only(where: Callable[[Said], bool], bend: Bend) -> Bend:
    def confined(said: Said) -> None:
        if where(said):
            bend(said)

    return confined


def by_schema(change: Callable[[Said, dict[str, Any], dict[str, Any]], dict[str, Any]]) -> Bend:
    def bend(said: Said) -> None:
        for call in said.calls:
            call[1] = json.dumps(change(said, said.schema(call[0]), json.loads(call[1])), ensure_ascii=False)

    return bend


def _enum_ignored(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {key: f"my {value}" if properties.get(key, {}).get("enum") else value for key, value in given.items()}


def _defaults_filled(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    samples = {"string": "default", "integer": 1, "number": 1.5, "boolean": False, "array": [], "object": {}}
    properties = schema.get("properties") or {}
    return {key: given.get(key, samples.get(str(each.get("type")))) for key, each in properties.items()} | given


def _optional_dropped(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key in (schema.get("required") or [])}


def _positions(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    order = list(schema.get("properties") or {})
    return {f"arg{order.index(key)}" if key in order else key: value for key, value in given.items()}


def _last_lost(given: dict[str, Any]) -> dict[str, Any]:
    return dict(list(given.items())[:-1])


def _swapped(given: dict[str, Any]) -> dict[str, Any]:
    keys, values = list(given), list(given.values())
    if len(keys) > 1:
        values[0], values[1] = values[1], values[0]
    return dict(zip(keys, values, strict=True))


def _random_digits(said: Said) -> None:
    rng = said.rng

    def change(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return value
        told = re.sub(r"\d", lambda found: str(rng.randint(1, 9)), str(value))
        return told if isinstance(value, str) else json.loads(told) if not isinstance(value, float) else float(told)

    said.each_value(change)


def _turned(text: str) -> str:
    text = re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", r"\1-\3-\2", text)
    return re.sub(r"\b(\d\d?)/(\d\d?)/(\d{4})\b", r"\2/\1/\3", text)


def _mojibake(text: str) -> str:
    return text.encode().decode("latin-1")


def _number_words(value: Any) -> Any:
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    return words[int(value)] if value == int(value) and 0 <= value <= 12 else value


def _context_lost(said: Said) -> None:
    users = [each for each in said.messages if each["role"] == "user"]
    said.seen = [users[-1:], said.tools]
    if said.turn and said.calls:
        said.calls, said.text = [], "Which one do you mean?"


def _results_lost(said: Said) -> None:
    said.seen = [[each for each in said.messages if each["role"] != "tool"], said.tools]
    if said.step:  # it does not see that the call was made
        from pytest_bfcl.models.oracle import answer

        right = answer(said.entry, "fc", said.turn, 0)
        said.calls, said.text = [[call.name, call.arguments] for call in right.tool_calls], None


def _descriptions_dropped(said: Said) -> None:
    said.seen = [said.messages, _without(said.tools, "description")]
    if said.rng.random() < 0.4:
        said.each_value(lambda value: "unknown" if isinstance(value, str) else value)


def _without(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _without(each, key) for name, each in value.items() if name != key or isinstance(each, dict)}
    return [_without(each, key) for each in value] if isinstance(value, list) else value


def _no_tools(said: Said) -> None:
    said.seen = said.messages
    if said.calls:
        said.calls, said.text = [], f"I would need a tool for that: {said.question[:30]}"


def _no_system(said: Said) -> None:
    said.seen = [[each for each in said.messages if each["role"] != "system"], said.tools]
    said.text = f"I would need a tool for that: {said.question[:30]}"


def _first_tools(number: int) -> Bend:
    def bend(said: Said) -> None:
        said.seen = [said.messages, said.tools[:number]]
        known = [tool["function"]["name"] for tool in said.tools[:number]]
        if any(call[0] not in known for call in said.calls):
            said.calls, said.text = [], f"I have only {', '.join(known)}, which does not fit."

    return bend


def _header(text: str) -> str:
    return f"<|start_header_id|>assistant<|end_header_id|>{text}"


def _pythonic(said: Said) -> str:
    made = [f"{name}({', '.join(f'{k}={v!r}' for k, v in json.loads(given).items())})" for name, given in said.calls]
    return f"[{', '.join(made)}]"


def _hermes(said: Said) -> str:
    return "\n".join(
        f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {given}}}\n</tool_call>' for name, given in said.calls
    )


def _ending(word: str, text: str) -> Bend:
    def bend(said: Said) -> None:
        if said.calls:
            said.calls, said.text, said.finish = [], text, word

    return bend


def _noise_values(said: Said) -> None:
    """Some entries go wrong, each in another way."""
    rng = said.rng
    if rng.random() > 0.25 or not said.calls:
        return
    what = rng.randrange(6)
    given = json.loads(said.calls[0][1])
    if what == 0 and given:
        given[rng.choice(list(given))] = rng.choice(["river", 17, "blue", False, ["x"]])
    elif what == 1 and given:
        given.pop(rng.choice(list(given)))
    elif what == 2:
        said.calls[0][0] = rng.choice(said.tools)["function"]["name"]
    elif what == 3:
        said.calls, said.text = [], rng.choice(["It is fine.", "See above", "Could you say more?", "Not today"])
        return
    elif what == 4:
        said.calls.append([rng.choice(said.tools)["function"]["name"], json.dumps({"a": rng.random()})])
    else:
        given = {key: rng.choice(["alpha", 3, 4.5, "Oslo", True]) for key in given}
    said.calls[0][1] = json.dumps(given)


def _noise_words(said: Said) -> None:
    rng = said.rng
    if rng.random() < 0.3:
        words = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty"]
        said.each_value(lambda value: " ".join(rng.sample(words, 2)) if isinstance(value, str) else rng.randint(0, 999))


def _month_words(text: str) -> str:
    months = list(calendar.month_name)[1:]

    def told(found: re.Match[str]) -> str:
        year, month, day = map(int, found.groups())
        return f"{months[month - 1]} {day}, {year}" if 1 <= month <= 12 else found.group()

    return re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", told, text)


def seldom(share: float, bend: Bend) -> Bend:
    return lambda said: bend(said) if said.rng.random() < share else None


def _restarted(said: Said) -> None:
    from pytest_bfcl.models.oracle import answer

    if said.turn and said.calls:
        right = answer(said.entry, "fc", 0, 0)
        if right.tool_calls:
            said.calls, said.text = [[call.name, call.arguments] for call in right.tool_calls], None


def _always_calls(said: Said) -> None:
    if not said.calls and said.tools and not said.step:
        said.calls, said.text = [[said.tools[0]["function"]["name"], "{}"]], None


def _in_parallel(said: Said) -> None:
    uses = [{"recipient_name": f"functions.{name}", "parameters": json.loads(given)} for name, given in said.calls]
    if uses:
        said.calls = [["multi_tool_use.parallel", json.dumps({"tool_uses": uses})]]


def _renamed(change: Callable[[Said, str], str]) -> Bend:
    def bend(said: Said) -> None:
        for call in said.calls:
            call[0] = change(said, call[0])

    return bend


def _required_lost(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in (schema.get("required") or [])}


def _argument_names(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {key: key if isinstance(value, str) else value for key, value in given.items()}


_WORDS = ["a", "sun", "rises", "over", "calm", "quiet", "hills"]


def lists(change: Callable[[list[Any]], Any]) -> Bend:
    return arguments(lambda given: {k: change(v) if isinstance(v, list) and v else v for k, v in given.items()})


def _inner_out(given: dict[str, Any], name: str) -> dict[str, Any]:
    inner = {key: value for key, value in given.items() if isinstance(value, dict)}
    rest = {key: value for key, value in given.items() if key not in inner}
    return rest | {name.format(key, each): value[each] for key, value in inner.items() for each in value}


def _arguments_moved(said: Said) -> None:
    moved = [call[1] for call in said.calls]
    for call, given in zip(said.calls, moved[1:] + moved[:1], strict=True):
        call[1] = given


def _calls_merged(said: Said) -> None:
    if len(said.calls) > 1 and len({name for name, _ in said.calls}) == 1:
        given = [json.loads(each) for _, each in said.calls]
        said.calls = [[said.calls[0][0], json.dumps({key: [each.get(key) for each in given] for key in given[0]})]]


class _Late:
    """Every reply is that to the request before."""

    def __init__(self) -> None:
        self.before: tuple[list[list[str]], str | None] | None = None

    def __call__(self, said: Said) -> None:
        mine = said.calls, said.text
        said.calls, said.text = self.before or mine
        self.before = mine


FAULTS: Mapping[str, Fault] = {
    # The seventeen of issue 42.
    "prefix": Fault(names(lambda name: f"functions_{name}"), ("name_prefix",), says="functions_"),
    "camel case": Fault(names(camel), ("name_learned",), says="camel"),
    "extra argument": Fault(arguments(lambda given: {**given, "reason": "needed"}), ("key_extra",), says="reason"),
    "nested arguments": Fault(arguments(lambda given: {"arguments": given}), ("wrapped",), says="arguments"),
    "last argument lost": Fault(arguments(_last_lost), ("key_lost",), says="last"),
    "enum ignored": Fault(by_schema(_enum_ignored), ("enum", "value_prefix", "value_learned")),
    "broken encoding": Fault(texts(_mojibake), ("encoding",)),
    "header tokens": Fault(names(_header), ("tokens", "name_prefix"), says="header"),
    "context lost": Fault(_context_lost, ("history_lost",)),
    "first word only": Fault(
        texts(lambda text: (text.split() or [text])[0]), ("value_learned",), says="only their first word"
    ),
    "doubled calls": Fault(calls(lambda made: [each for call in made for each in (call, list(call))]), ("doubled",)),
    "dates turned": Fault(texts(_turned), ("date_order",)),
    "numbers as texts": Fault(numbers(str), ("number_text",)),
    "random digits": Fault(_random_digits, ("digits",)),
    "first call only": Fault(calls(lambda made: made[:1]), ("first_only",)),
    "descriptions dropped": Fault(_descriptions_dropped, ("descriptions_lost",)),
    "no tools reached": Fault(_no_tools, ("tools_lost",)),
    # Names.
    "namespace": Fault(names(lambda name: f"default_api.{name}"), ("name_prefix",), says="default_api."),
    "names cut": Fault(names(lambda name: name[:8]), ("name_cut",), says="8"),
    "names by number": Fault(
        lambda said: [
            call.__setitem__(0, f"tool_{[t['function']['name'] for t in said.tools].index(call[0])}")
            for call in said.calls
        ]
        and None,
        ("name_learned",), says="their number (the first is 0), with `tool_` before"),
    # Shapes of arguments.
    "camel arguments": Fault(keys(camel), ("key_learned",), says="camel"),
    "arguments by number": Fault(
        by_schema(_positions), ("key_learned",), says="their number (the first is 0), with `arg` before"
    ),
    "optional lost": Fault(by_schema(_optional_dropped), ("key_lost",), says="not required"),
    "no arguments": Fault(arguments(lambda given: {}), ("no_arguments",)),
    "defaults filled": Fault(by_schema(_defaults_filled), ("defaults",)),
    "swapped": Fault(arguments(_swapped), ("swapped",)),
    "json twice": Fault(raw(json.dumps), ("json_twice",)),
    "json cut": Fault(raw(lambda text: text[:20]), ("json_cut",)),
    "python quotes": Fault(raw(lambda text: repr(json.loads(text))), ("json_python",)),
    "fenced json": Fault(raw(lambda text: f"```json\n{text}\n```"), ("json_fenced",)),
    "last brace lost": Fault(raw(lambda text: text[:-1]), ("json_cut",)),
    "arguments as pairs": Fault(
        arguments(lambda given: [{"name": key, "value": value} for key, value in given.items()]), ("pairs",)
    ),
    # Values.
    "booleans as words": Fault(
        lambda said: said.each_value(lambda v: {True: "yes", False: "no"}[v] if isinstance(v, bool) else v),
        ("boolean_text",),
    ),
    "lists as texts": Fault(
        arguments(lambda given: {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in given.items()}),
        ("value_learned",), says="lists as texts joined by `, `"),
    "objects as texts": Fault(
        arguments(lambda given: {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in given.items()}),
        ("json_text",),
    ),
    "everything in lists": Fault(arguments(lambda given: {k: [v] for k, v in given.items()}), ("listed",)),
    "values cut": Fault(texts(lambda text: text[:5]), ("value_learned",), says="5"),
    "html values": Fault(texts(lambda text: f"<b>{html.escape(text)}</b>"), ("value_learned",), says="in HTML escapes"),
    "quoted values": Fault(texts(lambda text: f'"{text}"'), ("quoted",)),
    "base64": Fault(texts(lambda text: base64.b64encode(text.encode()).decode()), ("encoding",)),
    "reversed": Fault(texts(lambda text: text[::-1]), ("value_learned",), says="texts backwards"),
    "number words": Fault(numbers(_number_words), ("number_words",)),
    "one more": Fault(numbers(lambda value: value + 1), ("value_learned",), says="numbers are + 1"),
    "rounded": Fault(numbers(round), ("value_learned",), says="numbers as whole numbers, rounded"),
    "placeholder": Fault(texts(lambda text: "string"), ("value_learned",), says="string"),
    "value prefix": Fault(texts(lambda text: f"value: {text}"), ("value_prefix",), says="value: "),
    # Calls.
    "last call only": Fault(calls(lambda made: made[-1:]), ("last_only",)),
    "two calls at most": Fault(calls(lambda made: made[:2]), ("at_most",), says="2"),
    "extra call": Fault(
        calls(lambda made: made and [*made, ["final_answer", "{}"]]), ("extra_call",), says="final_answer"
    ),
    # No calls.
    "empty": Fault(instead(""), ("empty",)),
    "thoughts only": Fault(instead(lambda said: None, "I should call a function."), ("thoughts",)),
    "refusal": Fault(instead("I'm sorry, but I can't help with that."), ("refused", "same_text")),
    "call in text": Fault(instead(_hermes), ("call_in_text",)),
    "call in thoughts": Fault(lambda said: instead(lambda each: None, _hermes(said))(said), ("call_in_thoughts",)),
    "prose": Fault(instead(lambda said: f"Sure: {said.question[:40]} is done."), ("words",)),
    "asked back": Fault(instead(lambda said: f"What do you mean by {said.question[:20]}?"), ("asked",)),
    "token limit": Fault(_ending("length", "Let me think about"), ("length",)),
    "filtered": Fault(_ending("content_filter", "I"), ("filtered",)),
    # What a template loses.
    "first tool only": Fault(_first_tools(1), ("first_tool_only",)),
    "results lost": Fault(_results_lost, ("results_lost",)),
    # Confined.
    "one category": Fault(
        only(lambda said: said.entry.category == "live_multiple", names(lambda name: f"x.{name}")),
        ("name_prefix",), "live_multiple",
    ),
    "long prompts": Fault(
        only(lambda said: len(json.dumps([said.messages, said.tools])) > 2500, instead("")), ("empty",),
        "the prompt has more than",
    ),
    # Variants: the same classes, bent otherwise.
    "months as words": Fault(texts(_month_words), ("value_learned", "date_format")),
    "changing prefix": Fault(
        _renamed(lambda said, name: f"call_{said.rng.randrange(16**8):08x}_{name}"), ("name_prefix",)
    ),
    "one name": Fault(names(lambda name: "function"), ("name_same",), says="`function`"),
    "namespace lost": Fault(names(lambda name: name.split("_")[-1]), ("name_begin_cut",)),
    "arguments in a list": Fault(arguments(lambda given: list(given.values())), ("raw_learned",), says="only their va"),
    "names twice": Fault(
        raw(lambda text: text[:-1] + "".join(f', {json.dumps(key)}: ""' for key in json.loads(text)) + "}"),
        ("doubled_names",),
    ),
    "unquoted names": Fault(raw(lambda text: re.sub(r'"(\w+)":', r"\1:", text)), ("json_keys",)),
    "prose before json": Fault(raw(lambda text: f"Arguments: {text}"), ("raw_learned",), says="Arguments:"),
    "arguments called otherwise": Fault(
        keys(lambda key: {"city": "town", "location": "place", "amount": "sum"}.get(key, key)),
        ("key_renamed", "key_learned"),
    ),
    "required lost": Fault(by_schema(_required_lost), ("key_lost",), says="required"),
    "last lost now and then": Fault(seldom(0.3, arguments(_last_lost)), ("key_lost",), says="last"),
    "lists reversed": Fault(lists(lambda value: value[::-1]), ("value_learned",), says="reverse order"),
    "lists cut": Fault(lists(lambda value: value[:1]), ("value_learned",), says="lists only the first"),
    "inverted": Fault(
        lambda said: said.each_value(lambda v: not v if isinstance(v, bool) else v), ("inverted", "value_learned")
    ),
    "thousands": Fault(numbers(lambda value: f"{value:,}"), ("number_text",)),
    "names of arguments": Fault(by_schema(_argument_names), ("argument_name",)),
    "misspelt": Fault(texts(lambda text: f"{text[:2]}x{text[3:]}" if len(text) > 3 else text), ("value_learned",)),
    "words turned": Fault(
        texts(lambda text: " ".join(text.split()[::-1])), ("value_learned",), says="words in reverse order"
    ),
    "calls turned": Fault(calls(lambda made: made[::-1]), ("reply_learned",), says="calls are in reverse order"),
    "calls inside a call": Fault(_in_parallel, ("call_inside",), says="multi_tool_use"),
    "always calls": Fault(_always_calls, ("undue",)),
    "starts again": Fault(_restarted, ("restarted",)),
    "later turns empty": Fault(only(lambda said: said.turn > 0, instead("")), ("empty",), "turns after the first"),
    "one answer to a third": Fault(seldom(0.3, instead("Please try again later.")), ("words",)),
    "every third empty": Fault(only(lambda said: said.number % 3 == 0, instead("")), ("empty",)),
    "every third prefixed": Fault(
        only(lambda said: said.number % 3 == 0, names(lambda name: f"api_{name}")), ("name_prefix",)
    ),
    "cut now and then": Fault(seldom(0.3, raw(lambda text: text[:-2])), ("json_cut", "json_empty")),
    # What a provider, a proxy or a cache may do besides.
    "call in the name": Fault(
        lambda said: [call.__setitem__(slice(None), [f"{call[0]}({call[1]})", "{}"]) for call in said.calls] and None,
        ("call_in_name",),
    ),
    "name and arguments": Fault(
        lambda said: [
            call.__setitem__(1, json.dumps({"name": call[0], "arguments": json.loads(call[1])})) for call in said.calls
        ]
        and None,
        ("wrapped",), says="arguments",
    ),
    "properties": Fault(arguments(lambda given: {"type": "object", "properties": given}), ("wrapped",)),
    "schema": Fault(by_schema(lambda said, schema, given: schema), ("schema_echoed",)),
    "taken apart": Fault(arguments(lambda given: _inner_out(given, "{}.{}")), ("flattened",)),
    "taken apart without names": Fault(arguments(lambda given: _inner_out(given, "{1}")), ("flattened",)),
    "lists of one lost": Fault(lists(lambda value: value[0] if len(value) == 1 else value), ("unlisted",)),
    "lists as objects": Fault(
        lists(lambda value: dict(enumerate(value))), ("value_learned",), says="object with numbers"
    ),
    "values escaped": Fault(texts(html.escape), ("encoding",), says="HTML"),
    "escapes of Python": Fault(texts(lambda text: text.encode("unicode_escape").decode()), ("encoding",)),
    "compact dates": Fault(
        texts(lambda text: re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", r"\1\2\3", text)), ("value_learned", "date_format")
    ),
    "percent in raw": Fault(raw(quote), ("json_encoded",), says="percent"),
    "comma too many": Fault(raw(lambda text: text[:-1] + ",}"), ("json_commas",)),
    "the question": Fault(
        lambda said: said.each_value(lambda value: said.question[:80] if isinstance(value, str) else value),
        ("question",),
    ),
    "arguments of the next call": Fault(
        only(lambda said: not said.entry.row.multi_step, _arguments_moved), ("reply_learned",), says="calls have the"),
    "calls merged": Fault(_calls_merged, ("reply_learned",), says="calls of one function are merged into on"),
    "reply of the request before": Fault(_Late(), ("mixed_up",)),
    # Noise.
    "noise": Fault(_noise_values, ()),
    "random words": Fault(_noise_words, ()),
    "random functions": Fault(
        seldom(0.25, _renamed(lambda said, name: said.rng.choice(said.tools)["function"]["name"])), ()
    ),
    "random prose": Fault(
        seldom(0.2, instead(lambda said: " ".join(said.rng.sample(_WORDS, 5)))), ()
    ),
}  # fmt: skip


def written(bend: Bend | None = None, change: Callable[[Said], str] | None = None) -> Bend:
    """The answer to a prompt: calls bent, written as Python, and the text changed."""

    def bent(said: Said) -> None:
        from pytest_bfcl.models.oracle import answer

        right = answer(said.entry, "fc", said.turn, said.step)
        documented = {str(each["name"]).replace(".", "_"): str(each["name"]) for each in said.entry.all_functions}
        said.calls = [[documented.get(call.name, call.name), call.arguments] for call in right.tool_calls]
        if bend is not None:
            bend(said)
        if said.calls:
            said.text = _pythonic(said) if change is None else change(said)
            said.calls = []

    return bent


def _react(said: Said) -> str:
    name, given = said.calls[0]
    return f"Thought: {said.question[:20]}\nAction: {name}\nAction Input: {given}"


def _with_types(said: Said) -> str:
    made = (
        f"{name}({', '.join(f'{k}: {type(v).__name__} = {v!r}' for k, v in json.loads(given).items())})"
        for name, given in said.calls
    )
    return f"[{', '.join(made)}]"


def _commands(said: Said) -> str:
    """A call a line; one without arguments is only its name."""
    lines = []
    for name, given in said.calls:
        options = (f"--{key} {value!r}" for key, value in json.loads(given).items())
        lines.append(" ".join((name, *options)))
    return "\n".join(lines)


IN_PROMPTS: Mapping[str, Fault] = {
    "prefix": Fault(written(FAULTS["prefix"].bend), ("name_prefix",)),
    "camel case": Fault(written(FAULTS["camel case"].bend), ("name_learned",)),
    "last argument lost": Fault(written(FAULTS["last argument lost"].bend), ("key_lost",), says="last"),
    "numbers as texts": Fault(written(FAULTS["numbers as texts"].bend), ("number_text",)),
    "first call only": Fault(written(FAULTS["first call only"].bend), ("first_only",)),
    "empty": Fault(written(FAULTS["empty"].bend), ("empty",)),
    "nested arguments": Fault(written(FAULTS["nested arguments"].bend), ("wrapped",)),
    "doubled calls": Fault(written(FAULTS["doubled calls"].bend), ("doubled",)),
    "prose around": Fault(
        written(change=lambda said: f"Sure: {_pythonic(said)} Well."), ("text_learned",), says="Sure: "
    ),
    "fence": Fault(written(change=lambda said: f"So:\n```python\n{_pythonic(said)}\n```\nDone."), ("text_learned",)),
    "header tokens": Fault(written(change=lambda said: _header(_pythonic(said))), ("tokens",)),
    "another notation": Fault(written(change=_hermes), ("text_notation",), says="hermes"),
    "cut": Fault(written(change=lambda said: _pythonic(said)[:-2]), ("text_learned",), says="the last 2"),
    "html": Fault(written(change=lambda said: html.escape(_pythonic(said))), ("encoding",)),
    "typographic quotes": Fault(written(change=lambda said: _pythonic(said).replace("'", "’")), ("text_quotes",)),
    "system prompt lost": Fault(_no_system, ("system_lost",)),
    "colours": Fault(written(change=lambda said: f"\x1b[36m{_pythonic(said)}\x1b[0m"), ("encoding",), says="terminal"),
    "head of a log": Fault(
        written(change=lambda said: f"{said.rng.randint(10, 59)}:07 INFO assistant | {_pythonic(said)}"),
        ("text_around",),
        says="#:# INFO assistant | ",
    ),
    "runs on": Fault(
        written(change=lambda said: f"{_pythonic(said)}\nUser: {said.rng.choice(_WORDS)}"),
        ("text_around",),
        says="User: ",
    ),
    "ReAct": Fault(written(change=_react), ("text_notation",), says="ReAct"),
    "first argument without its name": Fault(
        written(change=lambda said: re.sub(r"\((\w+)=", "(", _pythonic(said))),
        ("text_learned",),
        says="without its name",
    ),
    "types": Fault(written(change=_with_types), ("text_learned",), says="with types"),
    "commands": Fault(written(change=_commands), ("text_learned",), says="f --a 1 --b 2"),
    "module": Fault(written(names(lambda name: f"tools.{name}")), ("name_prefix",), says="tools."),
    "printed": Fault(written(change=lambda said: f"print({_pythonic(said)})"), ("text_learned",), says="print("),
    "names in words": Fault(written(change=lambda said: f"I would call {said.calls[0][0]} for this."), ("words",)),
    "cut at 60": Fault(
        written(change=lambda said: _pythonic(said)[:60]), ("text_learned",), says="the first 60 letters"
    ),
    "random words": Fault(written(FAULTS["random words"].bend), ()),
}
