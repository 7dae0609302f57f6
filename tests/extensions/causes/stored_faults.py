"""Faults of files: what exporters, loggers and tables make of the replies of a good run."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

Stored = list[dict[str, Any]]
Call = dict[str, str]


def _each(value: Any, change: Callable[[Call], Call]) -> Any:
    if isinstance(value, dict):
        return change(dict(value))
    return [_each(each, change) for each in value] if isinstance(value, list) else value


def of_calls(change: Callable[[Call], Call]) -> Callable[[Stored], Stored]:
    """Every call of a file of replies, changed."""
    return lambda lines: [{**line, "output": _each(line["output"], change)} for line in lines]


def _arguments(change: Callable[[str], str]) -> Callable[[Stored], Stored]:
    return of_calls(lambda call: {**call, "arguments": change(call["arguments"])})


def _shifted(lines: Stored) -> Stored:
    """Every reply stands at the line before."""
    one = [n for n, line in enumerate(lines) if isinstance(line["output"], list) and "turn" not in line["category"]]
    moved = {n: lines[other]["output"] for n, other in zip(one, one[1:] + one[:1], strict=True)}
    return [{**line, "output": moved.get(n, line["output"])} for n, line in enumerate(lines)]


def _nothing_in_a_third(lines: Stored) -> Stored:
    return [{**line, "output": ""} if n % 3 == 0 and _is_single(line) else line for n, line in enumerate(lines)]


def _last_call_kept(lines: Stored) -> Stored:
    return [{**line, "output": line["output"][-1:]} if _is_single(line) else line for line in lines]


def _is_single(line: dict[str, Any]) -> bool:
    return bool(isinstance(line["output"], list) and line["output"] and isinstance(line["output"][0], dict))


def _joined_by_message(lines: Stored) -> Stored:
    """Conversations without a parameter have the replies of those with all of them."""
    whole = {line["id"]: line["output"] for line in lines}
    base = {line["id"]: line["id"].replace("_miss_param", "_base") for line in lines}
    return [{**line, "output": whole.get(base[line["id"]], line["output"])} for line in lines]


def _stuck(lines: Stored) -> Stored:
    held: dict[str, Any] = {}
    of_live = [line for line in lines if line["category"].startswith("live") and _is_single(line)]
    for line in of_live:
        held.setdefault(line["category"], line["output"])
    mine = {line["id"] for line in of_live}
    return [{**line, "output": held[line["category"]]} if line["id"] in mine else line for line in lines]


def _coded(lines: Stored) -> Stored:
    """Texts are their positions among the sorted ones of their argument."""
    known: dict[str, set[str]] = {}

    def collect(call: Call) -> Call:
        for key, value in json.loads(call["arguments"]).items():
            if isinstance(value, str):
                known.setdefault(key, set()).add(value)
        return call

    def change(call: Call) -> Call:
        given = json.loads(call["arguments"])
        coded = {k: sorted(known[k]).index(v) if isinstance(v, str) else v for k, v in given.items()}
        return {**call, "arguments": json.dumps(coded)}

    of_calls(collect)(lines)
    return of_calls(change)(lines)


def _apart(given: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in given.items():
        listed = isinstance(value, list) and value and not isinstance(value[0], list | dict)
        found |= {f"{key}.{n}": each for n, each in enumerate(value)} if listed else {key: value}
    return found


def _turns_reversed(lines: Stored) -> Stored:
    return [{**line, "output": line["output"][::-1]} if "turn" in line["category"] else line for line in lines]


def _first_turns(lines: Stored) -> Stored:
    return [{**line, "output": line["output"][:1]} if "turn" in line["category"] else line for line in lines]


def _of_values(change: Callable[[Any], Any]) -> Callable[[Stored], Stored]:
    """Every value that is no object or list, however deep."""

    def mapped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: mapped(each) for key, each in value.items()}
        return [mapped(each) for each in value] if isinstance(value, list) else change(value)

    return _arguments(lambda text: json.dumps(mapped(json.loads(text))))


def _some_arguments_dropped(lines: Stored) -> Stored:
    """Each by chance, also those that may be left out."""
    return _arguments(
        lambda text: json.dumps(
            {key: value for key, value in json.loads(text).items() if random.Random(f"{key}{value}").random() > 0.15}
        )
    )(lines)


def _of_one_table(lines: Stored) -> Stored:
    """A table has the same columns in every row: calls get the arguments of the others, as nulls."""

    def table(calls: list[Call]) -> list[Call]:
        keys = {key: None for call in calls for key in json.loads(call["arguments"])}
        return [{**call, "arguments": json.dumps({**keys, **json.loads(call["arguments"])})} for call in calls]

    return [{**line, "output": table(line["output"])} if _is_single(line) else line for line in lines]


def _sexagesimal(value: Any) -> Any:
    found = re.fullmatch(r"(\d{1,2}):([0-5]\d)", value) if isinstance(value, str) else None
    return int(found[1]) * 60 + int(found[2]) if found else value


def _of_turns(change: Callable[[list[Any]], list[Any]]) -> Callable[[Stored], Stored]:
    return lambda lines: [
        {**line, "output": change(line["output"])} if "turn" in line["category"] else line for line in lines
    ]


def _some_dropped(lines: Stored) -> Stored:
    rng = random.Random(3)

    def change(call: Call) -> Call:
        given = json.loads(call["arguments"])
        if rng.random() < 0.2 and given:
            given.pop(rng.choice(list(given)))
        return {**call, "arguments": json.dumps(given)}

    return of_calls(change)(lines)


def _numbers_as_texts(call: Call) -> Call:
    given = json.loads(call["arguments"])
    texts = {k: str(v) if isinstance(v, int | float) and not isinstance(v, bool) else v for k, v in given.items()}
    return {**call, "arguments": json.dumps(texts)}


def _without_names(lines: Stored) -> Stored:
    """The lines do not say how names were sent."""
    return [{name: value for name, value in line.items() if name != "underscore_names"} for line in lines]


def _silent(turn: Any) -> Any:
    """The first reply of a turn has lost its calls; the words at the end are there."""
    return ["", *turn[1:]] if len(turn) > 1 else turn


def _last_arguments_lost(lines: Stored) -> Stored:
    bent = _arguments(lambda text: json.dumps(dict([*json.loads(text).items()][:-1])))(lines)
    return [one if one["category"] == "parallel_multiple" else line for one, line in zip(bent, lines, strict=True)]


def _wrong(rng: random.Random, value: Any) -> Any:
    """A value that a model might take for another."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, value - 1, value * 2, value + rng.randint(2, 30), 0])
    if isinstance(value, list):
        return rng.choice([value[:-1], value + value[:1], value[::-1], []])
    if isinstance(value, dict):
        return dict([*value.items()][:-1])
    cut = rng.randrange(1, max(2, len(value)))
    return rng.choice(
        ["Paris", "unknown", f"{value} two", value[:cut], value.title() + "!", f"the {value}", value[cut:]]
    )


def _mistake(rng: random.Random, made: list[Call]) -> Any:
    """A reply with one mistake of any kind."""
    kind, made = rng.randrange(12), [dict(each) for each in made]
    call = rng.choice(made)
    given = json.loads(call["arguments"])
    key = rng.choice([*given]) if given else ""
    if kind < 5 and given:
        given[key] = _wrong(rng, given[key])
    elif kind == 5 and given:
        given[f"{key}{rng.choice(['s', '_name', '_id'])}"] = given.pop(key)
    elif kind == 6 and given:
        del given[key]
    elif kind == 7:
        given[rng.choice(["unit", "format", "limit", "mode"])] = rng.choice(["x", 1, True])
    elif kind == 8:
        call["name"] += rng.choice(["_all", "2", "_v2", "s"])
    elif kind == 9:
        return f"{rng.choice(['Sure', 'I think so', 'Which one', 'It is done'])}: {rng.randrange(99)}?"
    else:
        return made * 2 if kind == 10 else made[1:] or ""
    call["arguments"] = json.dumps(given)
    return made


def noise(lines: Stored, seed: int) -> Stored:
    """Mistakes without a system in some replies."""
    rng, share = random.Random(seed), (0.08, 0.15, 0.25, 0.35)[seed % 4]

    def change(said: Any) -> Any:
        if isinstance(said, list) and said and isinstance(said[0], dict):
            return _mistake(rng, said) if rng.random() < share else said
        return [change(each) for each in said] if isinstance(said, list) else said

    return [{**line, "output": change(line["output"])} for line in lines]


IN_FILES: Mapping[str, tuple[Callable[[Stored], Stored], tuple[str, ...]]] = {
    "lines shifted": (_shifted, ("mixed_up",)),
    "texts cut by a logger": (_arguments(lambda text: text[:30]), ("json_cut", "raw_learned")),
    "written by str": (_arguments(lambda text: repr(json.loads(text))), ("json_python",)),
    "in title case": (of_calls(lambda call: {**call, "name": call["name"].title()}), ("name_learned",)),
    "escaped for a page": (_arguments(lambda text: text.replace('"', "&quot;")), ("json_encoded",)),
    "encoded once more": (_arguments(json.dumps), ("json_twice",)),
    "digits masked": (_arguments(lambda text: re.sub(r"\d(?=[^{}]*\")", "#", text)), ("masked",)),
    "one call an entry": (_last_call_kept, ("last_only", "first_lost")),
    "nothing in a third": (_nothing_in_a_third, ("empty",)),
    "name of the table before": (of_calls(lambda call: {**call, "name": f"tools.{call['name']}"}), ("name_prefix",)),
    "dates of a spreadsheet": (
        _arguments(lambda text: re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", r"\3/\2/\1", text)), ("date_order",)
    ),
    "turns in reverse order": (_turns_reversed, ("reply_learned",)),
    "first turns only": (_first_turns, ("turns_missing",)),
    "some dropped": (_some_dropped, ()),
    "joined by the first message": (_joined_by_message, ("mixed_up",)),
    "a stuck buffer": (_stuck, ("mixed_up",)),
    "codes of a table": (_coded, ("value_learned",)),
    "texts shortened": (_of_values(lambda value: value[:32] if isinstance(value, str) else value), ("value_learned",)),
    "decimals rounded": (
        _of_values(lambda value: round(value, 1) if isinstance(value, float) else value), ("value_learned",)
    ),
    "truth values of a database": (
        _of_values(lambda value: int(value) if isinstance(value, bool) else value), ("value_learned",)
    ),
    "the last turn only": (_of_turns(lambda turns: [*([] for _ in turns[1:]), turns[-1]]), ("reply_learned",)),
    "turns joined": (
        _of_turns(lambda turns: [[step for turn in turns for step in turn], *([] for _ in turns[1:])]),
        ("reply_learned",),
    ),
    "first call lost": (lambda lines: [{**line, "output": line["output"][1:]} if _is_single(line) and n % 2 else line
                                       for n, line in enumerate(lines)], ("first_lost",)),
    "some dropped at random": (_some_arguments_dropped, ()),
    "keys of all calls": (_of_one_table, ("nulls",)),
    "times of YAML": (_of_values(_sexagesimal), ("value_learned",)),
    "each turn twice": (_of_turns(lambda turns: [each for turn in turns for each in (turn, turn)]), ("turns_over",)),
    "conversations twice": (_of_turns(lambda turns: turns * 2), ("turns_over",)),
    "last turn lost": (_of_turns(lambda turns: turns[:-1]), ("turns_missing",)),
    "a column of twelve letters": (
        _of_values(lambda value: value[:12].ljust(12) if isinstance(value, str) else value), ("value_learned",)
    ),
    "two categories empty": (
        lambda lines: [{**line, "output": ""} if "java" in line["category"] else line for line in lines], ("empty",)
    ),
    "names not told": (lambda lines: _without_names(of_calls(_numbers_as_texts)(lines)), ("value_type", "number_text")),
    "last arguments of a category": (_last_arguments_lost, ("key_lost",)),
    "nothing in later turns": (_of_turns(lambda turns: [turns[0], *(_silent(turn) for turn in turns[1:])]), ("empty",)),
    "nothing in odd turns": (
        _of_turns(lambda turns: [_silent(turn) if n % 2 == 0 else turn for n, turn in enumerate(turns)]), ("empty",)
    ),
    "lists apart": (_arguments(lambda text: json.dumps(_apart(json.loads(text)))), ("spread",)),
}  # fmt: skip
