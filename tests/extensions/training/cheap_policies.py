"""Policies that earn without doing the work, if they can: what graded rewards must not pay for.

    python -m tests.extensions.training.cheap_policies [bundled|official]

prints the table of docs/training.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import count

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Reply, ToolCall

Policy = Callable[[Episode, int], Reply]
"""The reply to an episode, and to which step of its turn."""

PROSE = Reply("I am not able to help with that right now.")


def calls(*named: tuple[str, str]) -> Reply:
    return Reply("", tool_calls=[ToolCall(name, arguments) for name, arguments in named])


def guessed(schema: dict, text: str) -> object:
    """A value that fits a parameter, from nothing but its document and the request."""
    kind = schema.get("type")
    if schema.get("enum"):
        return schema["enum"][0]
    guesses = {"integer": 1, "float": 1.0, "number": 1.0, "boolean": True, "array": [], "object": {}, "dict": {}}
    return guesses.get(str(kind), text.split()[-1].strip(".?!") if text.split() else "")


def request_of(episode: Episode) -> str:
    said = [str(each["content"]) for each in episode.messages if each["role"] == "user"]
    return said[-1] if said else ""


def lazy(episode: Episode, step: int) -> Reply:
    """The first function, without arguments."""
    return PROSE if step or not episode.tools else calls((episode.tools[0]["function"]["name"], "{}"))


def shotgun(episode: Episode, step: int) -> Reply:
    """Every function, with whatever fits."""
    if step:
        return PROSE
    made = []
    for tool in episode.tools[:20]:
        function = tool["function"]
        properties = function["parameters"].get("properties", {})
        required = function["parameters"].get("required", [])
        chosen = {name: guessed(properties[name], request_of(episode)) for name in required if name in properties}
        made.append((function["name"], json.dumps(chosen)))
    return calls(*made)


def echo(episode: Episode, step: int) -> Reply:
    """What the user said."""
    return Reply(request_of(episode))


def name_only(episode: Episode, step: int) -> Reply:
    """The right functions, without arguments."""
    right = answer(episode.entry, "fc", episode.user_turn, step)
    return Reply(right.text, tool_calls=[ToolCall(call.name, "{}") for call in right.tool_calls])


def repeat(episode: Episode, step: int) -> Reply:
    """Everything right, three times."""
    right = answer(episode.entry, "fc", episode.user_turn, step)
    return Reply(right.text, tool_calls=[*right.tool_calls] * 3)


def stop_early(episode: Episode, step: int) -> Reply:
    """The first right call of a turn, and no more."""
    right = answer(episode.entry, "fc", episode.user_turn, 0)
    if step or not right.tool_calls:
        return PROSE
    return Reply(right.text, tool_calls=right.tool_calls[:1])


def prose(episode: Episode, step: int) -> Reply:
    """Never a call."""
    return PROSE


def changed(reply: Reply, change: Callable[[dict], dict]) -> Reply:
    """The right reply with other arguments."""
    made = [ToolCall(call.name, json.dumps(change(json.loads(call.arguments)))) for call in reply.tool_calls]
    return Reply(reply.text, tool_calls=made) if made else reply


def right(episode: Episode, step: int) -> Reply:
    return answer(episode.entry, "fc", episode.user_turn, step)


def twice(episode: Episode, step: int) -> Reply:
    """Every call twice."""
    return Reply(right(episode, step).text, tool_calls=[*right(episode, step).tool_calls] * 2)


def extra_argument(episode: Episode, step: int) -> Reply:
    """Everything right, and an argument that no function has."""
    return changed(right(episode, step), lambda given: {**given, "note": "x"})


def last_wrong(episode: Episode, step: int) -> Reply:
    """Everything right but the last argument of each call."""
    return changed(right(episode, step), lambda given: {**given, **dict.fromkeys([*given][-1:], "something else")})


def as_texts(episode: Episode, step: int) -> Reply:
    """Everything right, each value as a text."""
    return changed(right(episode, step), lambda given: {name: str(value) + " " for name, value in given.items()})


def backwards(episode: Episode, step: int) -> Reply:
    """The right calls of a turn in the opposite order."""
    return Reply(right(episode, step).text, tool_calls=[*right(episode, step).tool_calls][::-1])


def reads(episode: Episode) -> list[ToolCall]:
    tools = [each["function"] for each in episode.tools]
    return [ToolCall(each["name"], "{}") for each in tools if not each["parameters"].get("required")][:3]


def quiet_reads(episode: Episode, step: int) -> Reply:
    """Everything right, and three reads in each turn without expected calls."""
    due = (episode.entry.possible_answer or [])[episode.user_turn] if episode.entry.row.multi_step else [1]
    return right(episode, step) if due or step else Reply("", tool_calls=reads(episode))


def reads_first(episode: Episode, step: int) -> Reply:
    """Three reads before everything else, in each turn."""
    made = right(episode, step)
    return Reply(made.text, tool_calls=[*reads(episode), *made.tool_calls]) if not step else made


def early(episode: Episode, step: int) -> Reply:
    """The next turn's calls with this turn's, and none when they are asked for."""
    if step or not episode.entry.row.multi_step:
        return PROSE
    turns = [episode.user_turn + 1, *([0] if not episode.user_turn else [])]
    found = [call for turn in turns if turn < episode.user_turns
             for call in answer(episode.entry, "fc", turn, 0).tool_calls]  # fmt: skip
    return Reply("", tool_calls=found) if found else PROSE


def at_once(episode: Episode, step: int) -> Reply:
    """The calls of all turns in the first."""
    if step or episode.user_turn:
        return PROSE
    found = [call for turn in range(episode.user_turns) for call in answer(episode.entry, "fc", turn, 0).tool_calls]
    return Reply("", tool_calls=found * (1 if episode.entry.row.multi_step else 2))


def late(episode: Episode, step: int) -> Reply:
    """Each turn's calls a turn too late."""
    if step or not episode.user_turn:
        return PROSE
    return answer(episode.entry, "fc", episode.user_turn - 1, 0)


def never_asks(episode: Episode, step: int) -> Reply:
    """Everything right, but where something is missing it does the next turn's calls at once, and again."""
    turn = episode.user_turn
    truth = episode.entry.possible_answer or []
    if step or not episode.entry.row.multi_step or truth[turn] or turn + 1 >= len(truth):
        return right(episode, step)
    return Reply("", tool_calls=answer(episode.entry, "fc", turn + 1, 0).tool_calls)


def asks_always(episode: Episode, step: int) -> Reply:
    """Asks, whatever is said."""
    return Reply("Could you tell me more?")


def with_arguments(what: str, change: Callable[[dict], dict]) -> Policy:
    """Everything right but the arguments."""

    def policy(episode: Episode, step: int) -> Reply:
        return changed(right(episode, step), change)

    policy.__doc__ = f"The right calls, {what}"
    return policy


def each_value(change: Callable[[object], object]) -> Callable[[dict], dict]:
    return lambda given: {name: change(value) for name, value in given.items()}


def rotated(given: dict) -> dict:
    values = [*given.values()]
    return dict(zip(given, [*values[1:], *values[:1]], strict=True))


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def raised(value: object) -> object:
    return value + 1 if is_number(value) else value  # type: ignore[operator]


ARGUMENTS = {
    "first-wrong": ("the first argument wrong", lambda given: {**given, **dict.fromkeys([*given][:1], "another")}),
    "first-lost": ("without the first argument", lambda given: {name: given[name] for name in [*given][1:]}),
    "last-lost": ("without the last argument", lambda given: {name: given[name] for name in [*given][:-1]}),
    "all-same": ("every value `x`", each_value(lambda value: "x")),
    "empty-texts": ("every value an empty text", each_value(lambda value: "")),
    "nulls": ("every value null", each_value(lambda value: None)),
    "zeros": ("every value 0", each_value(lambda value: 0)),
    "plus-one": ("every number one more", each_value(raised)),
    "swapped": ("each value under the next name", rotated),
    "renamed": ("every argument with another name", lambda given: {f"{name}_": value for name, value in given.items()}),
    "wrapped": ("all arguments inside one", lambda given: {"arguments": given}),
    "listed": ("every value in a list", each_value(lambda value: [value])),
    "json-texts": ("every value as JSON in a text", each_value(json.dumps)),
    "whole-numbers": ("every number rounded to ten", each_value(lambda v: round(v, -1) if is_number(v) else v)),
    "first-words": ("the first word of each text", each_value(lambda v: v.split(" ")[0] if isinstance(v, str) else v)),
    "turned-lists": ("every list turned round", each_value(lambda v: v[::-1] if isinstance(v, list) else v)),
    "opposites": ("every truth value its opposite", each_value(lambda v: not v if isinstance(v, bool) else v)),
    "upper-case": ("every text in capitals", each_value(lambda v: v.upper() if isinstance(v, str) else v)),
    "padded": ("a space before and after every text", each_value(lambda v: f" {v} " if isinstance(v, str) else v)),
    "quoted": ("every text in quotes", each_value(lambda v: f'"{v}"' if isinstance(v, str) else v)),
}  # fmt: skip


def last_call(episode: Episode, step: int) -> Reply:
    """The last right call of a turn, and no more."""
    made = right(episode, 0).tool_calls
    return PROSE if step or not made else Reply("", tool_calls=made[-1:])


def first_turn(episode: Episode, step: int) -> Reply:
    """The first turn right, then words."""
    return PROSE if episode.user_turn else right(episode, step)


def every_second(episode: Episode, step: int) -> Reply:
    """Every second turn right, words in the others."""
    return right(episode, step) if episode.user_turn % 2 else PROSE


def other_function(episode: Episode, step: int) -> Reply:
    """The right arguments, for another function."""
    made = right(episode, step)
    names = {call.name for call in made.tool_calls}
    other = next(
        (tool["function"]["name"] for tool in episode.tools if tool["function"]["name"] not in names), "nothing"
    )
    return Reply(made.text, tool_calls=[ToolCall(other, call.arguments) for call in made.tool_calls])


def again(episode: Episode, step: int) -> Reply:
    """Every step a second time, after its results."""
    return right(episode, step // 2)


def copies(episode: Episode, step: int) -> Reply:
    """Everything right, and the calls of the turn before once more."""
    before = answer(episode.entry, "fc", episode.user_turn - 1, 0).tool_calls if episode.user_turn else ()
    return Reply(right(episode, step).text, tool_calls=[*(() if step else before), *right(episode, step).tool_calls])


def overwrites(episode: Episode, step: int) -> Reply:
    """Everything right, then the same with other values."""
    made = right(episode, step)
    wrong = changed(made, lambda given: {**given, **dict.fromkeys([*given][-1:], "something else")})
    return Reply(made.text, tool_calls=[*made.tool_calls, *(wrong.tool_calls if made.tool_calls else ())])


def shotgun_and_right(episode: Episode, step: int) -> Reply:
    """Everything right, and every other function with whatever fits."""
    return Reply("", tool_calls=[*right(episode, step).tool_calls, *([] if step else shotgun(episode, 0).tool_calls)])


def in_words(episode: Episode, step: int) -> Reply:
    """The right calls written as text."""
    return Reply("; ".join(f"{call.name}({call.arguments})" for call in right(episode, step).tool_calls) or "Done.")


def reads_after(episode: Episode, step: int) -> Reply:
    """Everything right, then three reads in each turn."""
    made = right(episode, step)
    return made if made.tool_calls or step > 1 else Reply("", tool_calls=reads(episode))


def loops(episode: Episode, step: int) -> Reply:
    """The first function without arguments, until the limit."""
    return calls((episode.tools[0]["function"]["name"], "{}")) if episode.tools else PROSE


def unknown(episode: Episode, step: int) -> Reply:
    """A function that was not offered."""
    return PROSE if step else calls(("do_everything", json.dumps({"request": request_of(episode)})))


def same_call(episode: Episode, step: int) -> Reply:
    """The first right call of the entry, in every turn."""
    made = answer(episode.entry, "fc", 0, 0).tool_calls
    return PROSE if step or not made else Reply("", tool_calls=made[:1])


def guesses(episode: Episode, step: int) -> Reply:
    """The right functions, with whatever fits."""
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in episode.tools}
    made = []
    for call in right(episode, step).tool_calls:
        schema = known.get(call.name, {})
        properties = schema.get("properties", {})
        given = {n: guessed(properties[n], request_of(episode)) for n in schema.get("required", []) if n in properties}
        made.append((call.name, json.dumps(given)))
    return calls(*made) if made else PROSE


def of_turn(which: Callable[[int, int], int]) -> Policy:
    """The right calls of other turns than are asked for."""

    def policy(episode: Episode, step: int) -> Reply:
        turn = which(episode.user_turn, episode.user_turns)
        made = answer(episode.entry, "fc", turn, 0).tool_calls if 0 <= turn < episode.user_turns else ()
        return PROSE if step or not made else Reply("", tool_calls=made)

    return policy


reverse_turns = of_turn(lambda turn, turns: turns - 1 - turn)
reverse_turns.__doc__ = "The turns' calls in reverse order"
next_turn = of_turn(lambda turn, turns: turn + 1)
next_turn.__doc__ = "The next turn's calls, never its own"


def at_the_end(episode: Episode, step: int) -> Reply:
    """The calls of all turns in the last."""
    if step or episode.user_turn < episode.user_turns - 1:
        return PROSE
    found = [call for turn in range(episode.user_turns) for call in answer(episode.entry, "fc", turn, 0).tool_calls]
    return Reply("", tool_calls=found) if found else PROSE


def half(episode: Episode, step: int) -> Reply:
    """The first half of a turn's right calls."""
    made = right(episode, 0).tool_calls
    return PROSE if step or not made else Reply("", tool_calls=made[: len(made) // 2] or made[:1])


def probes(episode: Episode, step: int) -> Reply:
    """Each call with a wrong argument first, then right."""
    if episode.entry.row.multi_step and step % 2:
        return right(episode, step // 2)
    made = right(episode, step // 2)
    return changed(made, lambda given: {**given, **dict.fromkeys([*given][-1:], "something else")})


def never_stops(episode: Episode, step: int) -> Reply:
    """Everything right, then reads until the limit."""
    made = right(episode, step)
    return made if made.tool_calls else Reply("", tool_calls=reads(episode)[:1])


def with_options(value: Callable[[dict, str], object]) -> Policy:
    """Everything right, and a value for every optional parameter."""

    def policy(episode: Episode, step: int) -> Reply:
        known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in episode.tools}
        made = []
        for call in right(episode, step).tool_calls:
            properties = known.get(call.name, {}).get("properties", {})
            given = json.loads(call.arguments)
            more = {name: value(each, request_of(episode)) for name, each in properties.items() if name not in given}
            made.append((call.name, json.dumps({**given, **more})))
        return calls(*made) if made else right(episode, step)

    return policy


def other_than_default(schema: dict, text: str) -> object:
    """A value that fits, and is not what the function takes anyway."""
    value = guessed(schema, text)
    if value in ([], "") or value == schema.get("default"):
        others = {"array": ["x"], "boolean": not value, "string": "something"}
        return others.get(str(schema.get("type")), raised(value))
    return value


fills_options = with_options(other_than_default)
fills_options.__doc__ = "Everything right, and every optional parameter with values that fit and are not its default"
spelled_defaults = with_options(lambda schema, text: schema.get("default", ""))
spelled_defaults.__doc__ = "Everything right, and every optional parameter with its default, or empty"


def lacks_something(episode: Episode) -> bool:
    """Whether no calls are due in this turn."""
    return episode.entry.row.multi_step and not (episode.entry.possible_answer or [])[episode.user_turn]


def where_asking_is_due(text: str) -> Policy:
    """Everything right, but these words where something is missing."""
    return lambda episode, step: Reply(text) if lacks_something(episode) else right(episode, step)


mumbles, question_marks, claims_done = map(where_asking_is_due, ("Hm.", "???", "That is done."))
mumbles.__doc__ = "Everything right, but where something is missing it says `Hm.`"
question_marks.__doc__ = "Everything right, but it says `???` if something is missing"
claims_done.__doc__ = "Everything right, but it claims `That is done.` if something is missing"


def asks_and_acts(episode: Episode, step: int) -> Reply:
    """Everything right, but if something is missing, it makes the next turn's calls and asks in the same reply."""
    if step or not lacks_something(episode) or episode.user_turn + 1 >= episode.user_turns:
        return right(episode, step)
    return Reply("Is that right?", tool_calls=answer(episode.entry, "fc", episode.user_turn + 1, 0).tool_calls)


def splits_lists(episode: Episode, step: int) -> Reply:
    """Everything right, but a call for each element of a list."""
    made = []
    for call in right(episode, step).tool_calls:
        given = json.loads(call.arguments)
        name = next((name for name, value in given.items() if isinstance(value, list) and len(value) > 1), None)
        parts = [given] if name is None else [{**given, name: [each]} for each in given[name]]
        made += [(call.name, json.dumps(part)) for part in parts]
    return calls(*made) if made else right(episode, step)


def named_values(schema: dict) -> list:
    """All values that a parameter may have, where its document names them."""
    return [True, False] if schema.get("type") == "boolean" else list(schema.get("enum") or ())


def tries_all(episode: Episode, step: int) -> Reply:
    """Each call with every value that the document names for a parameter, the right one last."""
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in episode.tools}
    made = []
    for call in right(episode, step).tool_calls:
        given = json.loads(call.arguments)
        for name, schema in known.get(call.name, {}).get("properties", {}).items():
            named = [True, False] if schema.get("type") == "boolean" else schema.get("enum") or ()
            made += [
                (call.name, json.dumps({**given, name: each}))
                for each in named
                if name in given and each != given[name]
            ]
        made.append((call.name, call.arguments))
    return calls(*made) if made else right(episode, step)


def reads_between(episode: Episode, step: int) -> Reply:
    """Everything right, and a read after each call."""
    made = right(episode, step)
    more = reads(episode)[:1]
    return Reply(made.text, tool_calls=[each for call in made.tool_calls for each in (call, *more)])


POLICIES: dict[str, Policy] = {
    "lazy": lazy, "shotgun": shotgun, "echo": echo, "name-only": name_only, "repeat": repeat, "twice": twice,
    "stop-early": stop_early, "prose": prose, "asks-always": asks_always, "extra-argument": extra_argument,
    "last-wrong": last_wrong, "as-texts": as_texts, "backwards": backwards, "quiet-reads": quiet_reads,
    "reads-first": reads_first, "early": early, "at-once": at_once, "late": late, "never-asks": never_asks,
    **{name: with_arguments(what, change) for name, (what, change) in ARGUMENTS.items()},
    "last-call": last_call, "first-turn": first_turn, "every-second": every_second, "other-function": other_function,
    "again": again, "copies": copies, "overwrites": overwrites, "shotgun-and-right": shotgun_and_right,
    "in-words": in_words, "reads-after": reads_after, "loops": loops, "unknown": unknown, "same-call": same_call,
    "guesses": guesses, "reverse-turns": reverse_turns, "next-turn": next_turn, "at-the-end": at_the_end, "half": half,
    "probes": probes, "mumbles": mumbles, "never-stops": never_stops, "fills-options": fills_options,
    "spelled-defaults": spelled_defaults, "question-marks": question_marks, "claims-done": claims_done,
    "asks-and-acts": asks_and_acts, "splits-lists": splits_lists, "tries-all": tries_all,
    "reads-between": reads_between,
}  # fmt: skip


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
    for category in data.categories():
        refs = list(data.index(category))
        for ref in refs:
            entry = data.load(ref)
            if entry.row.scored and entry.row.checker == checker and entry.possible_answer:
                yield entry


def stops_somewhere(entry: Entry) -> bool:
    """Whether a turn has more than one call."""
    turns = entry.possible_answer if entry.row.multi_step else [entry.possible_answer]
    return any(len(turn) > 1 for turn in turns or ())


def means(data: DataSet, checker: str, *, stride: int = 1) -> dict[str, float]:
    """Policy → mean graded reward, over the entries in which it does something else than is due."""
    entries = [entry for entry, number in zip(due_entries(data, checker), count(), strict=False) if not number % stride]
    found = {}
    for name, policy in POLICIES.items():
        earned = [sum(rewards_of(Episode(entry, partial=True, texts=data.texts), policy))
                  for entry in entries if differs(name, entry)]  # fmt: skip
        found[name] = sum(earned) / len(earned) if earned else 0.0
    return found


def right_calls(entry: Entry) -> Iterator[tuple[dict, dict]]:
    """The documented parameters and the arguments of every right call."""
    known = {document["name"]: document["parameters"].get("properties", {}) for document in entry.all_functions}
    for turn in range(len(entry.possible_answer or ()) if entry.row.multi_step else 1):
        for call in answer(entry, "fc", turn, 0).tool_calls:
            yield known.get(call.name, {}), json.loads(call.arguments)


def differs(name: str, entry: Entry) -> bool:
    """Whether a policy does something wrong with an entry."""
    turns = entry.possible_answer or []
    if name in ARGUMENTS:
        return any(ARGUMENTS[name][1](given) != given for _, given in right_calls(entry))
    if name in ("fills-options", "spelled-defaults"):
        return any({*known} - {*given} for known, given in right_calls(entry))
    if name == "splits-lists":
        return any(
            isinstance(each, list) and len(each) > 1 for _, given in right_calls(entry) for each in given.values()
        )
    if name == "tries-all":
        return any(named_values(known.get(key, {})) for known, given in right_calls(entry) for key in given)
    if name in ("quiet-reads", "never-asks", "mumbles", "question-marks", "claims-done", "asks-and-acts"):
        return entry.row.multi_step and any(not turn for turn in turns)
    if name in ("early", "at-once", "late", "reverse-turns", "next-turn", "at-the-end"):
        return entry.row.multi_step and sum(map(bool, turns)) > 1
    if name in ("first-turn", "every-second", "copies", "same-call"):
        return entry.row.multi_step and sum(map(bool, turns)) > 1 and bool(turns[0])
    if name in ("backwards", "stop-early", "last-call", "half"):
        return stops_somewhere(entry)
    if name in ("again", "reads-after", "reads-between", "never-stops"):
        return entry.row.multi_step
    return name != "reads-first" or entry.row.multi_step


FREE = 0.1
"""What a policy may earn on average, but for those below."""
DOCUMENTED = {
    "name-only": (0.15, 0.1, "functions without arguments are right calls here and there"),
    "shotgun": (0.15, 0.1, "the one function that is offered, and guesses that fit"),
    "repeat": (0.1, 0.15, "does the work; thrice the calls cost eight ninths of it"),
    "twice": (0.25, 0.3, "does the work; twice the calls cost three quarters of it"),
    "stop-early": (0.5, 0.75, "half of a task is half done"),
    "last-wrong": (0.3, 0.3, "nearly right is worth more than wrong: what training climbs by"),
    "extra-argument": (0.4, 0.15, "as above: all that was asked for is there"),
    "as-texts": (0.6, 0.35, "text values are right as they are; numbers as texts are not"),
    "backwards": (1.0, 1.0, "the rule does not ask for an order where it makes no difference"),
    "quiet-reads": (0.0, 0.85, "does the work of all other turns; each such turn is worth 0"),
    "never-asks": (0.0, 0.85, "as above; the turn in which it should have asked is worth 0"),
    "reads-first": (0.0, 0.2, "does the work; calls beyond need cost"),
    "early": (0.0, 0.2, "a call that two turns ask for is not early"),
    "late": (0.0, 0.3, "turns in which nothing changes are right a turn later, too"),
    "first-wrong": (0.3, 0.15, "as `last-wrong`"),
    "first-lost": (0.3, 0.1, "as `last-wrong`"),
    "last-lost": (0.3, 0.1, "as `last-wrong`"),
    "plus-one": (0.3, 0.55, "calls and turns without a number are right"),
    "swapped": (0.15, 0.4, "some arguments may change places; turns with one argument are right"),
    "upper-case": (1.0, 0.45, "the official rule ignores capitals in texts"),
    "quoted": (0.15, 0.3, "the official rule ignores quotes in texts"),
    "last-call": (0.5, 0.8, "as `stop-early`"),
    "first-turn": (0.0, 0.35, "does the work of one turn"),
    "every-second": (0.0, 0.3, "does the work of every second turn"),
    "again": (0.0, 0.25, "as `twice`"),
    "copies": (0.0, 0.5, "the first turn has nothing to copy; the others are worth a quarter"),
    "overwrites": (0.3, 0.3, "as `twice`"),
    "shotgun-and-right": (0.25, 0.1, "does the work; costs little where few functions are offered"),
    "reads-after": (0.0, 0.2, "does the work; calls beyond need cost"),
    "same-call": (0.0, 0.2, "a call that several turns ask for"),
    "guesses": (0.2, 0.1, "guesses that fit"),
    "half": (0.5, 0.8, "as `stop-early`"),
    "probes": (0.25, 0.3, "one turn: as `last-wrong`; several: as `twice`"),
    "reverse-turns": (0.0, 0.25, "the middle turn is its own, and a call that two turns ask for"),
    "mumbles": (0.0, 0.85, "as `never-asks`"),
    "whole-numbers": (0.35, 0.6, "as `plus-one`"),
    "first-words": (0.3, 0.8, "calls and turns without a text of several words are right"),
    "turned-lists": (
        0.45,
        1.0,
        "doors to lock and numbers to average have no order; tags of a tweet have one, and cost",
    ),
    "opposites": (0.35, 0.7, "calls and turns without a truth value are right"),
    "fills-options": (0.5, 0.85, "an invented value costs as a call too many; turns without such functions are right"),
    "spelled-defaults": (1.0, 1.0, "a function takes its default anyway: the calls are the same"),
    "question-marks": (0.0, 0.85, "as `never-asks`"),
    "claims-done": (0.0, 0.85, "as `never-asks`"),
    "asks-and-acts": (0.0, 0.85, "as `never-asks`"),
    "splits-lists": (0.1, 0.85, "locking doors one by one costs; turns without a list are right"),
    "tries-all": (0.1, 0.85, "each try costs as a call too many; turns without such parameters are right"),
    "reads-between": (0.0, 0.35, "as `twice`"),
    "padded": (1.0, 0.35, "the official rule ignores spaces in texts"),
}
"""What earns more, in one turn and in several, with the reason."""


def bound(name: str, place: int) -> float:
    return float(DOCUMENTED[name][place]) if name in DOCUMENTED else FREE  # type: ignore[arg-type]


if __name__ == "__main__":
    opened = open_data(sys.argv[1] if len(sys.argv) > 1 else "bundled")
    stride = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    single, multi = means(opened, "ast", stride=stride), means(opened, "state", stride=stride)
    print(
        "| policy | what it does | one turn | several turns | bounds | why more than 0.1 |\n|---|---|---:|---:|---|---|"
    )
    within = [name for name in POLICIES if name not in DOCUMENTED]
    for name in DOCUMENTED:
        what = (POLICIES[name].__doc__ or "").rstrip(".")
        bounds = f"{bound(name, 0):g}, {bound(name, 1):g}"
        print(f"| `{name}` | {what} | {single[name]:.2f} | {multi[name]:.2f} | {bounds} | {DOCUMENTED[name][2]} |")
    most = max(max(single[name], multi[name]) for name in within)
    print(f"\nThe other {len(within)} earn at most {most:.2f}: {', '.join(f'`{name}`' for name in within)}.")
