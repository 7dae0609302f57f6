"""Faults that only pairs of what was due and what was said tell, mixtures, and noise that looks like one."""

from __future__ import annotations

import hashlib
import json
import random
import re
import textwrap
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from pytest_bfcl.extensions.causes.raw import repaired
from pytest_bfcl.tools.schemas import wire_name
from tests.extensions.causes.faults import (
    FAULTS,
    Fault,
    arguments,
    by_schema,
    calls,
    instead,
    lists,
    names,
    numbers,
    only,
    raw,
    seldom,
    texts,
)
from tests.extensions.causes.faulty_server import Bend, Said
from tests.extensions.causes.further_faults import both, each_call


def _elided(made: list[list[str]]) -> list[list[str]]:
    given = [json.loads(text) for _, text in made]
    kept = [{k: v for k, v in now.items() if before.get(k) != v} for before, now in zip([{}, *given], given)]  # noqa: B905
    return [[name, json.dumps(told)] for (name, _), told in zip(made, kept, strict=True)]


def _as_in_a_table(made: list[list[str]]) -> list[list[str]]:
    before = [sum(name == other for other, _ in made[:n]) for n, (name, _) in enumerate(made)]
    given = [json.loads(text) for _, text in made]
    suffixed = [{f"{k}.{n}" if n else k: v for k, v in each.items()} for n, each in zip(before, given, strict=True)]
    return [[name, json.dumps(told)] for (name, _), told in zip(made, suffixed, strict=True)]


def _as_the_first(made: list[list[str]]) -> list[list[str]]:
    first = dict(reversed(made))
    return [[name, first[name]] for name, _ in made]


def _spelled(text: str) -> str:
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return " ".join(re.sub(r"\d", lambda found: f" {words[int(found[0])]} ", text).split())


def _one_day_back(day: re.Match[str]) -> str:
    return f"{date.fromisoformat(day[0]) - timedelta(1)}T22:00:00Z"


def _asks_for_leave(said: Said) -> str:
    name, given = said.calls[0]
    return f"I would call {name} with {', '.join(f'{k} = {v}' for k, v in json.loads(given).items())}. Shall I go on?"


def _bad_version(said: Said) -> None:
    said.version = f"fp_{said.number % 3}"
    if said.number % 3 == 1:
        FAULTS["nested arguments"].bend(said)


def _without_secrets(given: dict[str, Any]) -> dict[str, Any]:
    secret = re.compile("password|token|secret|card")
    return {k: "*" * len(v) if isinstance(v, str) and secret.search(k) else v for k, v in given.items()}


def _iso(change: str) -> Bend:
    return texts(lambda text: re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", change, text))


_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


def _weekdays(text: str) -> str:
    return _DAY.sub(lambda found: date(*map(int, found.groups())).strftime("%A"), text)


def _day_later(text: str) -> str:
    return _DAY.sub(lambda found: (date(*map(int, found.groups())) + timedelta(1)).isoformat(), text)


def _descriptions(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    known = schema.get("properties") or {}
    return {k: known.get(k, {}).get("description", v) if isinstance(v, str) else v for k, v in given.items()}


def _next_of_enum(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    enums = {key: each.get("enum") or [] for key, each in (schema.get("properties") or {}).items()}
    return {
        key: enums[key][(enums[key].index(value) + 1) % len(enums[key])] if value in enums.get(key, []) else value
        for key, value in given.items()
    }


def _all_merged(made: list[list[str]]) -> list[list[str]]:
    together: dict[str, Any] = {}
    for _, given in made:
        together |= json.loads(given)
    return [[made[0][0], json.dumps(together)]] if len(made) > 1 else made


def _split(made: list[list[str]]) -> list[list[str]]:
    return [[name, json.dumps({key: value})] for name, given in made for key, value in json.loads(given).items()]


def _of_a_class(text: str) -> str:
    return f"Args({', '.join(f'{key}={value!r}' for key, value in json.loads(text).items())})"


def _one_parameter(said: Said) -> None:
    for call in said.calls:
        call[0] = f"x_{call[0]}" if len(said.schema(call[0]).get("properties") or {}) == 1 else call[0]


def _cut_and_closed(text: str) -> str:
    found = repaired(text[:45]) if len(text) > 45 else None
    return text if found is None else json.dumps(found)


def _spreadsheet(text: str) -> Any:
    found = _DAY.fullmatch(text)
    return (date(*map(int, found.groups())) - date(1899, 12, 30)).days if found else text


def _added(given: str) -> str:
    return json.dumps({**json.loads(given), "request_heartbeat": True})


def _window(said: Said) -> None:
    """Ollama's: what is longer is cut, and the tools with it."""
    if len(json.dumps(said.seen)) > 1600:
        said.seen = "x" * 1598
        said.calls, said.text = [], "I have no tool for that."


def _first_turns_tools(said: Said) -> None:
    if said.turn:
        said.seen = said.messages
        said.calls, said.text = [], "I have no tool for that."


def _many_tools_dropped(said: Said) -> None:
    if len(said.tools) > 10:
        said.seen = said.messages
        said.calls, said.text = [], "I have no tool for that."


def _query_and_body(given: dict[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in given.items() if isinstance(value, dict | list)}
    query = {key: value for key, value in given.items() if key not in body}
    return {name: held for name, held in (("query", query), ("body", body)) if held}


def _last_tool(said: Said) -> None:
    if said.tools:
        said.seen = [said.messages, said.tools[-1:]]
        if any(name != said.tools[-1]["function"]["name"] for name, _ in said.calls):
            said.calls, said.text = [], "I have no tool for that."


def _has_lists(said: Said) -> bool:
    return any(isinstance(value, list) for _, given in said.calls for value in json.loads(given).values())


def _iso_week(text: str) -> str:
    def week(found: re.Match[str]) -> str:
        return date.fromisoformat(found[0]).strftime("%G-W%V-%u")

    return re.sub(r"\b\d{4}-\d\d-\d\d\b", week, text)


def _first_of(value: list[Any]) -> list[Any]:
    return [_first_of(each) if isinstance(each, list) else each for each in value[:1]]


def _types(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {**{key: each.get("type") for key, each in schema.get("properties", {}).items()}, **given}


def _enum_letters(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {k: v[:1] if isinstance(v, str) and "enum" in properties.get(k, {}) else v for k, v in given.items()}


def _as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_texts(each) for each in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _only_tools(said: Said, kept: list[dict[str, Any]]) -> None:
    said.seen = [said.messages, kept]
    known = {tool["function"]["name"] for tool in kept}
    if any(name not in known for name, _ in said.calls):
        said.calls, said.text = [], "None of my functions does that."


def _twenty_tools(said: Said) -> None:
    _only_tools(said, said.tools[:20])


def _chosen_tools(said: Said) -> None:
    """The three tools that have most words in common with the last message."""
    words = set(re.findall(r"[a-z]+", str(said.messages[-1]["content"]).lower()))
    told = {id(tool): set(re.findall(r"[a-z]+", json.dumps(tool).lower())) for tool in said.tools}
    _only_tools(said, sorted(said.tools, key=lambda tool: -len(words & told[id(tool)]))[:3])


def _blank_if_nested(said: Said) -> None:
    for number, (_, given) in enumerate(said.calls):
        if any(isinstance(value, dict | list) and value for value in json.loads(given).values()):
            said.calls[number][1] = given[: re.search(r": [\[{]", given).end()] + " " * 400  # type: ignore[union-attr]
            said.calls, said.finish = said.calls[: number + 1], "length"
            return


def _asks_first(said: Said) -> None:
    """A confirmation is asked for in different words where a call has three arguments."""
    if any(len(json.loads(given)) > 2 for _, given in said.calls):
        texts = ("Please confirm that I should do this.", "Shall I go on?", "Is that what you want me to do?")
        instead(texts[said.number % 3])(said)


def _forced(said: Said) -> None:
    if said.tools and not said.calls:
        said.calls, said.text = [[said.tools[0]["function"]["name"], '{"value": 1}']], None


def _without_module(said: Said) -> None:
    dotted = {wire_name(str(each["name"])) for each in said.entry.all_functions if "." in str(each["name"])}
    for call in said.calls:
        call[0] = call[0].partition("_")[2] if call[0] in dotted else call[0]


def _of_first_tool(said: Said) -> None:
    if said.calls:
        first = said.tools[0]["function"]["name"]
        said.calls = [call for call in said.calls if call[0] == first]
        said.text = None if said.calls else ""


def _cut_at_limit(said: Said) -> None:
    if sum(len(given) for _, given in said.calls) > 60:
        said.calls, said.finish = [[name, given[:40]] for name, given in said.calls], "length"


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _history_forgotten(said: Said) -> None:
    if said.turn > 1:
        said.seen = said.messages[-1:]
        said.calls, said.text = [], "Hello! How can I help you today?"


LEARNED: Mapping[str, Fault] = {
    # Rules that nothing but pairs of what was due and what was said can tell.
    "Celsius to Fahrenheit": Fault(numbers(lambda v: v * 1.8 + 32), ("value_learned",), says="× 1.8 + 32"),
    "never more than 20": Fault(numbers(lambda v: min(v, 20)), ("value_learned",), says="never more than 20"),
    "small numbers one more": Fault(
        numbers(lambda v: v + 1 if type(v) is int and v < 5 else v), ("value_learned",), says="+ 1"
    ),
    "leet": Fault(texts(lambda text: text.translate(str.maketrans("leat", "13@7"))), ("value_learned",), says="e → 3"),
    "weekdays": Fault(texts(_weekdays), ("value_learned",), says="Wednesday"),
    "a day later": Fault(texts(_day_later), ("value_learned",), says="days 1 day later"),
    "descriptions for values": Fault(by_schema(_descriptions), ("value_learned", "argument_name"), says="description"),
    "next of the enum": Fault(by_schema(_next_of_enum), ("value_learned",), says="the next value of the enum"),
    "all calls merged": Fault(calls(_all_merged), ("reply_learned",), says="merged into the first"),
    "calls split": Fault(calls(_split), ("reply_learned", "bare_lost"), says="split: one for each argument"),
    "notation of a class": Fault(raw(_of_a_class), ("raw_learned",), says="Args(a=1, b=2)"),
    "tools of one parameter": Fault(_one_parameter, ("name_prefix",), where="up to 1 parameters"),
    "two entries": Fault(
        only(lambda said: said.entry.id in ("simple_python_4", "multiple_3"), texts(lambda text: text[::-1])),
        ("value_learned",), says="backwards",
    ),
    # What forms, lenses, turns and prompt tokens tell.
    "server in the name": Fault(
        names(lambda name: f"mcp__{re.split('[._]', name)[0]}__{name}"), ("name_learned",), says="mcp__⟨"
    ),
    "masked but for two letters": Fault(
        texts(lambda text: text[:2] + "*" * (len(text) - 2) if len(text) > 3 else text), ("value_learned", "masked")
    ),
    "a note of what is missing": Fault(
        texts(lambda text: f"{text[:8]}... ({len(text) - 8} more chars)" if len(text) > 8 else text),
        ("value_learned",), says="its length less 8",
    ),
    "cut and repaired": Fault(raw(_cut_and_closed), ("raw_learned",), says="cut after 45 letters, and closed"),
    "names sorted": Fault(
        arguments(lambda given: dict(zip(sorted(given), given.values(), strict=True))),
        ("raw_learned",), says="alphabet",
    ),
    "nulls of other tools": Fault(
        arguments(lambda given: {**given, **{f"other_{n}": None for n in range(3)}}), ("nulls",)
    ),
    "an agent before": Fault(
        calls(lambda made: made and [[f"transfer_to_{made[0][0].split('_')[0]}_agent", "{}"], *made]),
        ("reply_learned", "extra_call"), says="transfer_to_",
    ),
    "days of a spreadsheet": Fault(texts(_spreadsheet), ("value_learned",), says="since 1899-12-30"),
    "whole numbers in lists": Fault(
        lists(lambda value: [str(each) if type(each) is int else each for each in value]),
        ("value_learned", "number_text"),
    ),
    "extra in the last call": Fault(
        calls(lambda made: [*made[:-1], *([[made[-1][0], _added(made[-1][1])]] if made else [])]),
        ("key_extra",), "in the last call",
    ),
    "a window": Fault(_window, ("window",), says="400 tokens"),
    "tools of the first turn only": Fault(_first_turns_tools, ("later_tools_lost",)),
    "tools dropped where many": Fault(_many_tools_dropped, ("tools_lost", "first_tool_only"), "tools"),
    "a sign behind each letter": Fault(
        texts(lambda text: "".join(each + "\0" for each in text)), ("value_learned",), says="x00` behind letters"
    ),
    "query and body": Fault(arguments(_query_and_body), ("raw_learned",), says="split into `body` (objects and"),
    "asks before long calls": Fault(_asks_first, ("asked", "words"), where="more than 2 arguments"),
    "seconds for minutes": Fault(
        arguments(lambda given: {k: v * 60 if k in ("minutes", "days") else v for k, v in given.items()}),
        ("value_learned",), "named days or minutes", "× 60",
    ),
    "capitals first": Fault(
        texts(lambda text: text[:1].upper() + text[1:]), ("value_learned",), says="with a capital first letter"
    ),
    "quotes doubled behind numbers": Fault(
        raw(lambda text: re.sub(r'(\d, )"', r'\1""', text)), ("json_signs",), says='`"` is added'
    ),
    "semicolons": Fault(raw(lambda text: text.replace('", ', '"; ')), ("json_signs",), says="`;` for `,`"),
    "last tool only": Fault(_last_tool, ("first_tool_only",), says="only the last tool reaches"),
    "lists refused": Fault(only(_has_lists, instead("")), ("empty",), where="where lists are due"),
    "numbers with commas": Fault(
        numbers(lambda value: str(value).replace(".", ",") if type(value) is float else value),
        ("number_text",), where="decimal", says="a comma for the point",
    ),
    "letters joined": Fault(
        raw(lambda text: re.sub(r"(.)\1", r"\1", text)), ("raw_learned",), says="with double letters single"
    ),
    "ISO weeks": Fault(texts(_iso_week), ("value_learned",), says="2031-W14-3"),
    "lists of one, also inside": Fault(lists(_first_of), ("value_learned",), says="only the first, also inside"),
    "types filled in": Fault(by_schema(_types), ("defaults",), says="the names of their types"),
    "first twenty tools": Fault(_twenty_tools, ("first_tool_only",), says="only the first 20 tools reach"),
    "tools chosen": Fault(_chosen_tools, ("tools_dropped",)),
    "a list for no arguments": Fault(raw(lambda text: "[]" if text == "{}" else text), ("bare_list",)),
    "white space in nested ones": Fault(_blank_if_nested, ("repeating",), where="where lists or objects are due"),
    "first letters for enums": Fault(by_schema(_enum_letters), ("value_learned",), where="with an enum"),
    "numbers inside lists and objects": Fault(
        arguments(lambda given: {k: _as_texts(v) if isinstance(v, list | dict) else v for k, v in given.items()}),
        ("number_text",), where="inside lists or objects",
    ),
    "digits of a spreadsheet": Fault(
        texts(lambda text: f"{int(text):.2E}" if text.isdigit() and len(text) > 2 else text),
        ("value_learned",), says="as powers of ten",
    ),
    "lists with their class": Fault(
        arguments(lambda given: {k: ["java.util.List", v] if isinstance(v, list) else v for k, v in given.items()}),
        ("value_learned",), says="java.util.List",
    ),
    "last brace lost": Fault(raw(lambda text: text[:-1]), ("json_signs",), says="the last `}` is lost"),
    "an overflow in words": Fault(
        only(
            lambda said: len(json.dumps([said.messages, said.tools])) > 2500,
            instead("This model's maximum context length is 4096 tokens. Please shorten the messages."),
        ), ("overflow",), where="the prompt has more than",
    ),
    "what is as before left out": Fault(calls(_elided), ("elided",)),
    "columns of one name": Fault(calls(_as_in_a_table), ("key_suffix",), where="of one function"),
    "the first arguments again": Fault(
        calls(_as_the_first), ("reply_learned", "arguments_of_other"), where="one function is due several"
    ),
    "digits spelled": Fault(texts(_spelled), ("value_learned",), says="0 → zero"),
    "the first delta lost": Fault(raw(lambda text: text[4:]), ("json_begin_cut",), says="always 4 letters"),
    "asks for leave": Fault(
        only(lambda said: said.entry.row.group == "live", instead(_asks_for_leave)), ("leave",),
        where="in the group live",
    ),
    "days of another zone": Fault(
        texts(lambda text: re.sub(r"^\d{4}-\d\d-\d\d$", _one_day_back, text)),
        ("value_learned",), says="2031-04-01T22:00:00Z",
    ),
    "identifiers hidden": Fault(
        texts(lambda text: re.sub(r"^(?=.*\d)(?=.*[A-Za-z])[\w#.:/-]+$", "[REDACTED_ID]", text)),
        ("masked",), where="letters and digits",
    ),
    "secrets hidden": Fault(arguments(_without_secrets), ("masked",), where="`token`"),
    "texts wrapped": Fault(
        texts(lambda text: "\n  ".join(textwrap.wrap(text, 16, break_long_words=False))), ("broken_lines",)
    ),
    "one version bad": Fault(_bad_version, ("wrapped",), where="in replies of the version `fp_1`"),
    "numbers in a box": Fault(numbers(lambda value: {"N": str(value)}), ("boxed",), says="`N`"),
    "a prefix for each conversation": Fault(
        lambda said: names(lambda name: f"mcp_{hashlib.md5(said.entry.id.encode()).hexdigest()[:4]}_{name}")(said),
        ("name_prefix",), says="`mcp_⟨4 hexadecimal digits⟩_`",
    ),
    "a guard on a word": Fault(
        only(lambda said: "password" in said.question.lower(), instead("This conversation has a secret. I stop here.")),
        ("words",), where="`password`",
    ),
    "links for files": Fault(
        texts(lambda text: f"<http://{text}|{text}>" if re.fullmatch(r"[\w/]+\.[a-z]{2,4}", text) else text),
        ("value_learned",), where="names of files",
    ),
    "wrapped in a request of the function": Fault(
        only(lambda said: said.entry.row.group == "live", each_call(
            lambda name, given: (name, json.dumps({f"{name.title().replace('_', '')}Request": given}))
        )), ("wrapped",), where="in the group live", says="Pascal case⟩Request",
    ),
    "calls without arguments lost": Fault(
        calls(lambda made: [call for call in made if call[1] != "{}"]), ("bare_lost",), where="without arguments is due"
    ),
    "a lazy pattern": Fault(
        raw(lambda text: text[: text.index("}") + 1]), ("raw_learned",), says="cut after the first `}`"
    ),
    "the last letter lost": Fault(texts(lambda text: text[:-1]), ("value_learned",), says="without the last letter"),
    "calls forced": Fault(_forced, ("forced",)),
    "one function renamed": Fault(
        names(lambda name: "get_weather" if name == "weather_forecast" else name),
        ("name_renamed",), says="`weather_forecast` is called `get_weather`",
    ),
    "names with dots": Fault(_without_module, ("name_begin_cut",), where="where names with dots"),
    "the last word again": Fault(
        texts(lambda text: text + 3 * f" {text.split()[-1]}" if text else text), ("value_learned",),
        says="with the last word 3 times more",
    ),
    "full stops lost": Fault(texts(lambda text: text.removesuffix(".")), ("value_learned",), says="without `.` at the"),
    "durations": Fault(
        texts(lambda text: re.sub(r"^(\d\d):(\d\d)$", lambda t: f"PT{int(t[1])}H{int(t[2])}M", text)),
        ("value_learned",), says="as durations",
    ),
    "first tool forced": Fault(_of_first_tool, ("first_tool_only",)),
    "words in turn 2": Fault(
        only(lambda said: said.turn == 1, instead("Sure, done.")), ("words",), where="only in turn 2 of conversations"
    ),
    "the limit in all turns": Fault(_cut_at_limit, ("length",)),
    "texts of JSON read": Fault(
        only(lambda said: "java" in said.entry.category, texts(_read)), ("value_learned",), where="simple_java",
        says="as values of JSON",
    ),
    "tokens not counted": Fault(
        both(lambda said: setattr(said, "seen", ""), texts(lambda text: f"\n{text}\n")), ("value_learned",),
        says="with `\\n` before",
    ),
    "history forgotten": Fault(_history_forgotten, ("history_lost",), where="in turns after 2"),
    # Mixtures: each is named.
    "extra beside style": Fault(
        both(FAULTS["camel case"].bend, FAULTS["extra argument"].bend), ("name_learned", "key_extra")
    ),
    "suffix beside first call only": Fault(
        both(names(lambda name: f"{name}_tool"), FAULTS["first call only"].bend), ("name_suffix", "first_only")
    ),
    "prefix beside Python": Fault(
        both(names(lambda name: f"api-{name}"), seldom(0.4, FAULTS["python quotes"].bend)),
        ("name_prefix", "json_python"),
    ),
    "units beside dates": Fault(
        both(_iso(r"\2/\3/\1"), numbers(lambda value: f"{value} units")), ("number_with_unit", "date_order"),
        says="… units`",
    ),
    # Noise.
    "slips of calls": Fault(
        both(
            calls(lambda made: made * 2 if random.Random(str(made)).random() < 0.05 else made),
            seldom(0.12, texts(lambda text: text[1:] + text[:1] if random.Random(text).random() < 0.5 else text[:-1])),
        ), (),
    ),
    "refusals now and then": Fault(seldom(0.06, instead("I cannot help with that.")), ()),
    "questions drawn": Fault(
        seldom(0.15, instead(lambda said: f"Do you mean {said.rng.choice(said.question.split())}?")), ()
    ),
}  # fmt: skip
MIXED = ("extra beside style", "suffix beside first call only", "prefix beside Python", "units beside dates")
