"""Policies that earn without doing the work, if they can: what graded rewards must not pay for.

    python -m tests.extensions.training.cheap_policies [bundled|official] [STRIDE]

prints the table of docs/training.md. ``cheap_policies.toml`` says what each policy does and what it may earn.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Reply, ToolCall

Policy = Callable[[Episode, int], Reply]
"""The reply to an episode, and to which step of its turn."""
Change = Callable[[dict, dict, str], list[dict]]
"""Documented parameters, right arguments, the user's words → the arguments of each call that is made instead."""
Calls = Sequence[ToolCall]

PROSE = Reply("I am not able to help with that right now.")
WRONG = "something else"


def right(episode: Episode, step: int, turn: int | None = None) -> Reply:
    return answer(episode.entry, "fc", episode.user_turn if turn is None else turn, step)


def request_of(episode: Episode) -> str:
    said = [str(each["content"]) for each in episode.messages if each["role"] == "user"]
    return said[-1] if said else ""


def schemas(episode: Episode) -> dict[str, dict]:
    """Function → its documented parameters."""
    return {each["function"]["name"]: each["function"]["parameters"] for each in episode.tools}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def raised(value: Any) -> object:
    return value + 1 if is_number(value) else value


# -- guesses -----------------------------------------------------------------------------------------------------------


def guessed(schema: dict, text: str) -> object:
    """A value that fits a parameter, from nothing but its document and the request."""
    if schema.get("enum"):
        return schema["enum"][0]
    guesses = {"integer": 1, "float": 1.0, "number": 1.0, "boolean": True, "array": [], "object": {}, "dict": {}}
    return guesses.get(str(schema.get("type")), text.split()[-1].strip(".?!") if text.split() else "")


def other_than_default(schema: dict, text: str) -> object:
    """A value that fits, and is not what the function takes anyway."""
    value = guessed(schema, text)
    if value in ([], "") or value == schema.get("default"):
        others = {"array": ["x"], "boolean": not value, "string": "something"}
        return others.get(str(schema.get("type")), raised(value))
    return value


def guessed_call(name: str, schema: dict, text: str) -> ToolCall:
    """A call with values that fit for all required parameters."""
    properties = schema.get("properties", {})
    given = {each: guessed(properties[each], text) for each in schema.get("required", ()) if each in properties}
    return ToolCall(name, json.dumps(given))


def every_function(episode: Episode) -> Calls:
    known = islice(schemas(episode).items(), 20)
    return [guessed_call(name, schema, request_of(episode)) for name, schema in known]


def guesses(episode: Episode, step: int) -> Reply:
    known = schemas(episode)
    made = [guessed_call(call.name, known.get(call.name, {}), request_of(episode))
            for call in right(episode, step).tool_calls]  # fmt: skip
    return Reply("", tool_calls=made) if made else PROSE


def reads(episode: Episode) -> Calls:
    return [ToolCall(name, "{}") for name, schema in schemas(episode).items() if not schema.get("required")][:3]


# -- changes of the right arguments ------------------------------------------------------------------------------------


def of_arguments(change: Callable[[dict], dict]) -> Change:
    return lambda known, given, text: [change(given)]


def each_value(change: Callable[[Any], object]) -> Change:
    return of_arguments(lambda given: {name: change(value) for name, value in given.items()})


def of_type(kind: type, change: Callable[[Any], object]) -> Change:
    return each_value(lambda value: change(value) if isinstance(value, kind) else value)


def with_options(value: Callable[[dict, str], object]) -> Change:
    """A value for every optional parameter."""
    return lambda known, given, text: [
        {**given, **{name: value(each, text) for name, each in known.items() if name not in given}}
    ]


def last_wrong(given: dict) -> dict:
    return {**given, **dict.fromkeys([*given][-1:], WRONG)}


def rotated(given: dict) -> dict:
    values = [*given.values()]
    return dict(zip(given, [*values[1:], *values[:1]], strict=True))


def split_lists(known: dict, given: dict, text: str) -> list[dict]:
    name = next((name for name, value in given.items() if isinstance(value, list) and len(value) > 1), None)
    return [given] if name is None else [{**given, name: [each]} for each in given[name]]


def tried(known: dict, given: dict, text: str) -> list[dict]:
    made = []
    for name, schema in known.items():
        named = [True, False] if schema.get("type") == "boolean" else schema.get("enum") or ()
        made += [{**given, name: each} for each in named if name in given and each != given[name]]
    return [*made, given]


CHANGES: dict[str, Change] = {
    "name-only": of_arguments(lambda given: {}),
    "extra-argument": of_arguments(lambda given: {**given, "note": "x"}),
    "last-wrong": of_arguments(last_wrong),
    "as-texts": each_value(lambda value: f"{value} "),
    "first-wrong": of_arguments(lambda given: {**given, **dict.fromkeys([*given][:1], "another")}),
    "first-lost": of_arguments(lambda given: {name: given[name] for name in [*given][1:]}),
    "last-lost": of_arguments(lambda given: {name: given[name] for name in [*given][:-1]}),
    "all-same": each_value(lambda value: "x"),
    "empty-texts": each_value(lambda value: ""),
    "nulls": each_value(lambda value: None),
    "zeros": each_value(lambda value: 0),
    "plus-one": each_value(raised),
    "swapped": of_arguments(rotated),
    "renamed": of_arguments(lambda given: {f"{name}_": value for name, value in given.items()}),
    "wrapped": of_arguments(lambda given: {"arguments": given}),
    "listed": each_value(lambda value: [value]),
    "json-texts": each_value(json.dumps),
    "whole-numbers": each_value(lambda value: round(value, -1) if is_number(value) else value),
    "first-words": of_type(str, lambda value: value.split(" ")[0]),
    "turned-lists": of_type(list, lambda value: value[::-1]),
    "opposites": of_type(bool, lambda value: not value),
    "upper-case": of_type(str, str.upper),
    "padded": of_type(str, lambda value: f" {value} "),
    "quoted": of_type(str, lambda value: f'"{value}"'),
    "fills-options": with_options(other_than_default),
    "spelled-defaults": with_options(lambda schema, text: schema.get("default", "")),
    "splits-lists": split_lists,
    "tries-all": tried,
}


def changed(episode: Episode, reply: Reply, change: Change) -> Reply:
    """The right reply with other arguments."""
    known, text = schemas(episode), request_of(episode)
    made = [
        ToolCall(call.name, json.dumps(given))
        for call in reply.tool_calls
        for given in change(known.get(call.name, {}).get("properties", {}), json.loads(call.arguments), text)
    ]
    return Reply(reply.text, tool_calls=made) if made else reply


def of_change(change: Change) -> Policy:
    return lambda episode, step: changed(episode, right(episode, step), change)


# -- other calls -------------------------------------------------------------------------------------------------------


def once(find: Callable[[Episode], Iterable[ToolCall]]) -> Policy:
    """These calls in the first step of a turn, then words."""

    def policy(episode: Episode, step: int) -> Reply:
        found = [] if step else [*find(episode)]
        return Reply("", tool_calls=found) if found else PROSE

    return policy


def of_turns(which: Callable[[int, int], Iterable[int]]) -> Policy:
    """The right calls of these turns; ``which``: of the turn and the number of turns."""
    return once(lambda episode: [
        call for turn in which(episode.user_turn, episode.user_turns) if 0 <= turn < episode.user_turns
        for call in right(episode, 0, turn).tool_calls
    ])  # fmt: skip


def of_first(cut: Callable[[Calls], Calls]) -> Policy:
    """A part of a turn's right calls."""
    return once(lambda episode: cut(right(episode, 0).tool_calls))


def beside(more: Callable[[Episode, int, Calls], Iterable[ToolCall]]) -> Policy:
    """The right words with other calls than the right ones."""

    def policy(episode: Episode, step: int) -> Reply:
        made = right(episode, step)
        return Reply(made.text, tool_calls=[*more(episode, step, made.tool_calls)])

    return policy


def then_reads(count: int, steps: int) -> Policy:
    """Everything right, then reads, in so many steps."""

    def policy(episode: Episode, step: int) -> Reply:
        made = right(episode, step)
        return made if made.tool_calls or step > steps else Reply("", tool_calls=reads(episode)[:count])

    return policy


def other_function(episode: Episode, step: int, made: Calls) -> Iterator[ToolCall]:
    names = {call.name for call in made}
    other = next((name for name in schemas(episode) if name not in names), "nothing")
    return (ToolCall(other, call.arguments) for call in made)


def turn_before(episode: Episode, step: int) -> Calls:
    return right(episode, 0, episode.user_turn - 1).tool_calls if episode.user_turn and not step else ()


def probes(episode: Episode, step: int) -> Reply:
    made = right(episode, step // 2)
    wrong = not (episode.entry.row.multi_step and step % 2)
    return changed(episode, made, of_arguments(last_wrong)) if wrong else made


def lacks_something(episode: Episode) -> bool:
    """Whether no calls are due in this turn."""
    return episode.entry.row.multi_step and not (episode.entry.possible_answer or [])[episode.user_turn]


def where_nothing_is_due(instead: Callable[[Episode, int], Reply | None]) -> Policy:
    """Everything right, but something else where no calls are due."""
    return lambda episode, step: (lacks_something(episode) and instead(episode, step)) or right(episode, step)


def acts(text: str) -> Policy:
    """The next turn's calls at once, where no calls are due."""

    def instead(episode: Episode, step: int) -> Reply | None:
        if step or episode.user_turn + 1 >= episode.user_turns:
            return None
        return Reply(text, tool_calls=right(episode, 0, episode.user_turn + 1).tool_calls)

    return where_nothing_is_due(instead)


def says(text: str) -> Policy:
    return where_nothing_is_due(lambda episode, step: Reply(text))


POLICIES: dict[str, Policy] = {
    **{name: of_change(change) for name, change in CHANGES.items()},
    "lazy": once(lambda episode: [ToolCall(name, "{}") for name in schemas(episode)][:1]),
    "shotgun": once(every_function),
    "echo": lambda episode, step: Reply(request_of(episode)),
    "prose": lambda episode, step: PROSE,
    "asks-always": lambda episode, step: Reply("Could you tell me more?"),
    "twice": beside(lambda episode, step, made: [*made, *made]),
    "repeat": beside(lambda episode, step, made: [*made] * 3),
    "backwards": beside(lambda episode, step, made: made[::-1]),
    "stop-early": of_first(lambda made: made[:1]),
    "last-call": of_first(lambda made: made[-1:]),
    "half": of_first(lambda made: made[: len(made) // 2] or made[:1]),
    "quiet-reads": where_nothing_is_due(
        lambda episode, step: None if step else Reply("", tool_calls=reads(episode))
    ),
    "reads-first": beside(lambda episode, step, made: [*([] if step else reads(episode)), *made]),
    "reads-after": then_reads(3, 1),
    "never-stops": then_reads(1, 10**6),
    "reads-between": beside(
        lambda episode, step, made: [each for call in made for each in (call, *reads(episode)[:1])]
    ),
    "early": of_turns(lambda turn, turns: [turn + 1, *([] if turn else [0])]),
    "at-once": of_turns(lambda turn, turns: [] if turn else range(turns)),
    "late": of_turns(lambda turn, turns: [turn - 1]),
    "reverse-turns": of_turns(lambda turn, turns: [turns - 1 - turn]),
    "next-turn": of_turns(lambda turn, turns: [turn + 1]),
    "at-the-end": of_turns(lambda turn, turns: range(turns) if turn == turns - 1 else []),
    "same-call": once(lambda episode: right(episode, 0, 0).tool_calls[:1]),
    "first-turn": lambda episode, step: PROSE if episode.user_turn else right(episode, step),
    "every-second": lambda episode, step: right(episode, step) if episode.user_turn % 2 else PROSE,
    "other-function": beside(other_function),
    "again": lambda episode, step: right(episode, step // 2),
    "copies": beside(lambda episode, step, made: [*turn_before(episode, step), *made]),
    "overwrites": beside(lambda episode, step, made: [
        *made, *changed(episode, Reply("", tool_calls=[*made]), of_arguments(last_wrong)).tool_calls]),
    "shotgun-and-right": beside(lambda episode, step, made: [*made, *([] if step else every_function(episode))]),
    "in-words": lambda episode, step: Reply(
        "; ".join(f"{call.name}({call.arguments})" for call in right(episode, step).tool_calls) or "Done."),
    "loops": lambda episode, step: Reply("", tool_calls=[ToolCall(name, "{}") for name in schemas(episode)][:1]),
    "unknown": once(lambda episode: [ToolCall("do_everything", json.dumps({"request": request_of(episode)}))]),
    "guesses": guesses,
    "probes": probes,
    "never-asks": acts(""),
    "asks-and-acts": acts("Is that right?"),
    "mumbles": says("Hm."),
    "question-marks": says("???"),
    "claims-done": says("That is done."),
}  # fmt: skip
TOLD: dict[str, dict] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
assert TOLD.keys() == POLICIES.keys()
FREE = 0.1
"""What a policy may earn on average without a reason."""


def bound(name: str, place: int) -> float:
    return float(TOLD[name].get("bounds", (FREE, FREE))[place])


# -- what they earn ----------------------------------------------------------------------------------------------------


def rewards_of(episode: Episode, policy: Policy) -> list[float]:
    """The rewards of all steps, played to the end."""
    episode.reset()
    earned = []
    while not episode.done:
        step = len(episode.transcript.turns[-1].steps) if episode.transcript.turns else 0
        earned.append(episode.step(policy(episode, step)).reward)
    return earned


def due_entries(data: DataSet, checker: str) -> Iterator[Entry]:
    """Entries with this checker in which calls are due."""
    for entry in (data.load(ref) for category in data.categories() for ref in data.index(category)):
        if entry.row.scored and entry.row.checker == checker and entry.possible_answer:
            yield entry


def means(data: DataSet, checker: str, *, stride: int = 1, names: Iterable[str] = POLICIES) -> dict[str, float]:
    """Policy → mean graded reward, over the entries in which it does something else than is due."""
    entries = list(islice(due_entries(data, checker), 0, None, stride))
    found = {}
    for name in names:
        earned = [sum(rewards_of(Episode(entry, partial=True, texts=data.texts), POLICIES[name]))
                  for entry in entries if differs(name, entry)]  # fmt: skip
        found[name] = sum(earned) / len(earned) if earned else 0.0
    return found


def differs(name: str, entry: Entry) -> bool:
    """Whether a policy does something wrong with an entry."""
    answers, several = entry.possible_answer or [], entry.row.multi_step
    turns: list[Any] = answers if several else [answers]
    busy = several and sum(map(bool, turns)) > 1
    known = {document["name"]: document["parameters"].get("properties", {}) for document in entry.all_functions}
    match TOLD[name].get("where"):
        case "changed":
            calls = [call for turn in range(len(turns)) for call in answer(entry, "fc", turn, 0).tool_calls]
            given = [(known.get(call.name, {}), json.loads(call.arguments)) for call in calls]
            return any(CHANGES[name](schema, each, "") != [each] for schema, each in given)
        case "quiet":
            return several and not all(turns)
        case "turns":
            return busy
        case "first turn":
            return busy and bool(turns[0])
        case "several calls":
            return any(len(turn) > 1 for turn in turns)
        case "conversations":
            return several
    return True


if __name__ == "__main__":
    opened = open_data(sys.argv[1] if len(sys.argv) > 1 else "bundled")
    stride = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    single, multi = means(opened, "ast", stride=stride), means(opened, "state", stride=stride)
    print(
        "| policy | what it does | one turn | several turns | bounds | why more than 0.1 |\n|---|---|---:|---:|---|---|"
    )
    within = [name for name, told in TOLD.items() if "why" not in told]
    for name, told in TOLD.items():
        if "why" in told:
            bounds = f"{bound(name, 0):g}, {bound(name, 1):g}"
            print(f"| `{name}` | {told['what']} | {single[name]:.2f} | {multi[name]:.2f} | {bounds} | {told['why']} |")
    most = max(max(single[name], multi[name]) for name in within)
    print(f"\nThe other {len(within)} earn at most {most:.2f}: {', '.join(f'`{name}`' for name in within)}.")
