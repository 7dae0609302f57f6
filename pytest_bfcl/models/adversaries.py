"""Adversaries: models that must not pass an entry, because each does something wrong for every request.

The oracle must pass. An entry that an adversary passes measures less than it claims. An entry may name allowed
adversaries (``"allows": {"parrot": "why"}``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.served_entry import SHOWN_WORKDIR, ServedTool, portable_name
from pytest_bfcl.dataset.untouched import states_of
from pytest_bfcl.decoding.ground_truth import turn_ground_truth_calls
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.oracle import IDLE, answer
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.tools.json_schema import arguments_for, example_value
from pytest_bfcl.transcript import Call, Mode, Reply

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.models.base import Request
    from pytest_bfcl.models.spec import ModelSpec

BYSTANDER = "bystander"
"""The vandal's text if there is nothing to destroy."""
MOST_TRIES = 4
"""Calls that the vandal tries until one is executed."""
_DESTROYING = re.compile(r"(^|_)(delete|remove|drop|clear|empty|reset|purge|erase|unlink|truncate)(_|$)", re.IGNORECASE)
_WRITING = re.compile(
    r"(^|_)(write|create|update|add|set|move|rename|put|insert|edit|append|push|commit|merge|checkout|save|store|post|"
    r"send|book|order|buy|cancel|note)(_|$)",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"(?i)error|denied|invalid|not found|no such|fail|unknown|cannot|could not|does not exist|already exists|"
    r"nothing to|no match"
)
_CREATING = re.compile(r"(?i)(^|_)(create|add|new|insert|append|post|send|book|order|buy|save|store|note)(_|$)")
_INTRICATE = re.compile(r"(?i)(^|_)(edit|patch|apply)(_|$)")
"""Tools whose arguments must fit existing data."""
_PLACE = re.compile(r"(?i)(^|_)(path|file|filename|source|uri|target)(_|$)")
_NEW_PLACE = re.compile(r"(?i)(^|_)(destination|new_path|to_path)(_|$)")
_FOLDER = re.compile(r"(?i)(^|_)(dir|directory|folder|root)(_|$)")
_STATEMENT = re.compile(r"(?i)(^|_)(sql|query|statement)(_|$)")

CALLING = ("every", "repeat", "extra", "vandal", "sweeper")
"""Adversaries that write and delete: played only on servers that exist for tests."""
AT_RISK = ("state", "served", "answer")
"""Checkers of entries that an adversary could pass."""

ADVERSARIES: Mapping[str, str] = {
    "idle": "does nothing and says so",
    "parrot": "repeats the request's own words, forwards and backwards",
    "every": "calls every tool once, with example values",
    "repeat": "makes the right calls, and the last of them twice",
    "extra": "makes the right calls, with optional arguments that nobody asked for",
    "vandal": "makes the right calls, then one that writes or deletes elsewhere",
    "sweeper": "empties what the request is about, then makes the right calls",
}
"""Name → its behaviour."""


class Adversary:
    """One of `ADVERSARIES`, used like any model: ``adversary:vandal`` in either mode."""

    underscore_names = True

    def __init__(self, spec: ModelSpec, mode: Mode = "fc") -> None:
        """Raise `UsageError` for an unknown name."""
        if spec.name not in ADVERSARIES:
            raise UsageError(f"{spec.text}: an adversary is one of {', '.join(ADVERSARIES)}")
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self._reply = _REPLIES[spec.name]

    async def generate(self, request: Request) -> Reply:
        """Its reply to a request."""
        return self._reply(request, self.mode)

    async def aclose(self) -> None:
        """Nothing to release."""


def adversaries_of(entry: Entry) -> list[str]:
    """The adversaries that must not pass an entry, before its own exceptions.

    If calls are compared, each adversary is wrong by rule; the official set is used unchanged. In an entry without
    expected calls doing nothing is right.
    """
    checker = entry.row.checker
    if entry.official or checker not in AT_RISK:
        return []
    if checker == "answer":
        return ["parrot"]
    restraint = any(each.is_restraint for each in entry.expect) and not any(entry.possible_answer or [True])
    if checker == "state":
        return [] if restraint else ["idle"]
    speaks = any(each.kind == "answer" or each.said for each in entry.expect)
    found = [] if restraint else ["idle"]
    found += ["parrot"] if speaks or not restraint else []
    found += ["every"]
    if entry.category == "mcp" and entry.possible_answer is not None:
        found += [name for name in ("repeat", "extra", "vandal", "sweeper") if name == "vandal" or not restraint]
    return found


def harmless_repeat(entry: Entry) -> bool:
    """Whether the server declares that its last right call may be repeated: it reads, or changes nothing more."""
    calls = right_calls(entry)
    tool = entry.server_facts.tool(calls[-1].name) if calls and entry.server_facts is not None else None
    if tool is None:
        return not calls
    return tool.repeatable or (not tool.annotated and not _may_write(tool))


def refuses(result: str) -> bool:
    """Whether a server reports in a result's text that it did nothing."""
    return _REFUSED.search(result[:2000]) is not None


def right_calls(entry: Entry) -> list[Call]:
    """The entry's expected calls of all turns."""
    return [call for turn in range(len(entry.question)) for call in turn_ground_truth_calls(entry, turn)]


def deeds_of(name: str, entry: Entry) -> list[Call]:
    """The calls that define an adversary: one of them must be executed."""
    if name == "extra":
        return _with_options(entry)
    return extra_calls(entry, about=name == "sweeper") if name in ("vandal", "sweeper") else []


def _with_options(entry: Entry) -> list[Call]:
    """The right calls of tools that write, with a value for every omitted argument."""
    found = []
    for call in right_calls(entry):
        tool = entry.server_facts.tool(call.name) if entry.server_facts is not None else None
        options = tool.schema.get("properties") if tool is not None and _may_write(tool) else None
        left = {name: _unasked(name, each) for name, each in (options or {}).items() if name not in call.arguments}
        if left:
            found.append(Call(portable_name(call.name), {**call.arguments, **left}))
    return found


def _unasked(name: str, schema: Any) -> Any:
    """A value with another effect than omitting the argument."""
    default = schema.get("default") if isinstance(schema, dict) else None
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    plain = {key: each for key, each in schema.items() if key != "default"} if isinstance(schema, dict) else schema
    return example_value(name, plain, lambda text, told: BYSTANDER)


def extra_calls(entry: Entry, *, about: bool = False) -> list[Call]:
    """The vandal's calls: first those that destroy existing things, then those that write new ones, then the rest.

    ``about``: only things that the request names, which the sweeper destroys first; nothing new.
    """
    made: list[tuple[tuple[object, ...], Call]] = []
    done = [(portable_name(call.name), call.arguments) for call in right_calls(entry)]
    facts = entry.server_facts
    if facts is None:
        return []
    for tool in facts.tools:
        victims = _Victims(entry, facts.files, tool, about)
        call = Call(tool.name, arguments_for(tool.schema, victims.say))
        if not _may_write(tool) or (call.name, call.arguments) in done or (about and not victims.found):
            continue
        if _DESTROYING.search(tool.name) and victims.invented:
            continue  # to destroy what is not there does nothing
        intricate = _INTRICATE.search(tool.name) is not None
        says_nothing = not (victims.found or victims.invented)
        mild = tool.annotated and not tool.destroys
        made.append(((intricate, says_nothing, not victims.found, mild, tool.name), call))
    return [call for _, call in sorted(made, key=itemgetter(0))][:MOST_TRIES]


def _may_write(tool: ServedTool) -> bool:
    """By its annotations; without any by its name."""
    if tool.annotated:
        return not tool.reads_only
    return bool(_DESTROYING.search(tool.name) or _WRITING.search(tool.name))


class _Victims:
    """Existing things to destroy: those of the setup that the answer names (``about``), or the others."""

    def __init__(self, entry: Entry, there: Sequence[str], tool: ServedTool, about: bool) -> None:
        self._about = about
        self._tool = tool
        self._right = right_calls(entry)
        self._setup = [call.arguments for call in entry.setup]
        looks = [look for _, look in states_of(entry.expect)]
        told = repr([call.arguments for call in self._right])
        files = [each for each in there if "#" not in each]
        named = {str(look.file) for look in looks}
        self._files = [each for each in files if (each in named or f"{SHOWN_WORKDIR}/{each}" in told) is about]
        known = {each.partition("#")[2] for each in there if "#" in each} | _tables(repr(self._setup))
        touched = _tables(" ".join(look.sql or "" for look in looks)) | _tables(told)
        self._tables = sorted(known & touched if about else known - touched)
        self._told = told
        self.found = self.invented = False
        """Whether an argument names an existing thing, or a new one."""

    def say(self, name: str, schema: Fields) -> Any:
        """A text for an argument: the name of a victim of that kind, if any."""
        if _NEW_PLACE.search(name):
            return f"{SHOWN_WORKDIR}/{BYSTANDER}"
        known = self._known(name)
        others = [] if _CREATING.search(self._tool.name) else self._others(name)
        if _PLACE.search(name) and (self._files or not (known or self._about)):
            others = [f"{SHOWN_WORKDIR}/{each}" for each in self._files or [BYSTANDER]]
        elif _STATEMENT.search(name) and (table := self._table()):
            others = [f"DELETE FROM {table}"]
        elif _STATEMENT.search(name):
            self.invented = True
            return f"CREATE TABLE {BYSTANDER} (name TEXT)"
        elif not others and known and str(known[0]).startswith(("/", "http")):
            return known[0]
        self.found = self.found or bool(others)
        self.invented = self.invented or not others
        return others[0] if others else BYSTANDER

    def _known(self, name: str) -> list[Any]:
        return list(_values([call.arguments for call in self._right], name))

    def _others(self, name: str) -> list[str]:
        """Texts of the setup under this name, or under a name at its end (``entityNames``: ``name``)."""
        wanted = name.lower()
        keys = [key for key in _keys(self._setup) if wanted.removesuffix("s").endswith(key.lower().removesuffix("s"))]
        found = [value for key in keys for value in _values(self._setup, key)]
        return [value for value in found if isinstance(value, str) and (value in self._told) is self._about]

    def _table(self) -> str | None:
        """A table that neither the expected calls nor the expectations name; none for a tool that creates tables."""
        return self._tables[0] if self._tables and not re.search(r"(?i)create", self._tool.name) else None


def _tables(text: str) -> set[str]:
    return set(re.findall(r"(?i)\b(?:from|into|table|update|join)\s+(?:if\s+not\s+exists\s+)?[\"'`]?(\w+)", text))


def _keys(holders: Any) -> Iterator[str]:
    """Every name in it, at any depth."""
    if isinstance(holders, dict):
        for key, value in holders.items():
            yield str(key)
            yield from _keys(value)
    elif isinstance(holders, list | tuple):
        for each in holders:
            yield from _keys(each)


def _values(holders: Any, name: str) -> Iterator[Any]:
    """The values under a name, at any depth; of a list its items."""
    if isinstance(holders, dict):
        for key, value in holders.items():
            if key == name:
                yield from value if isinstance(value, list) else [value]
            else:
                yield from _values(value, name)
    elif isinstance(holders, list | tuple):
        for each in holders:
            yield from _values(each, name)


def _idle(request: Request, mode: Mode) -> Reply:
    return Reply(text=IDLE, finish_reason="stop")


def _parrot(request: Request, mode: Mode) -> Reply:
    turns = request.entry.question[: request.turn + 1]
    said = [str(each.get("content")) for turn in turns for each in turn if each.get("role") == "user"]
    words = " ".join(said).split()
    return Reply(text="\n".join([*said, " ".join(reversed(words))]) if said else IDLE, finish_reason="stop")


def _own_words(name: str, schema: Fields) -> str:
    """The name of an argument as its value; paths are in the trial's directory, not in the server's."""
    is_place = any(each.search(name) for each in (_PLACE, _NEW_PLACE, _FOLDER))
    return f"{SHOWN_WORKDIR}/{name}" if is_place else name


def _every(request: Request, mode: Mode) -> Reply:
    if request.step or request.turn:
        return Reply(text=IDLE, finish_reason="stop")
    made = [
        Call(str(doc["name"]), arguments_for(doc.get("parameters") or {}, _own_words)) for doc in request.entry.function
    ]
    return reply_with_calls(made, request.entry, mode) if made else Reply(text=IDLE, finish_reason="stop")


def _repeat(request: Request, mode: Mode) -> Reply:
    entry = request.entry
    turns = [turn for turn in range(len(entry.question)) if turn_ground_truth_calls(entry, turn)]
    if request.step == 1 and turns and request.turn == turns[-1]:
        return reply_with_calls(turn_ground_truth_calls(entry, request.turn)[-1:], entry, mode)
    return answer(entry, mode, request.turn, request.step)


def _vandal(request: Request, mode: Mode) -> Reply:
    entry, last = request.entry, len(request.entry.question) - 1
    first = 1 if turn_ground_truth_calls(entry, request.turn) else 0
    tried = request.step - first
    if request.turn != last or tried < 0:
        return answer(entry, mode, request.turn, request.step)
    tries = extra_calls(entry)
    refused = tried == 0 or refuses(str(request.messages[-1].get("content")))
    if tried < len(tries) and refused:
        return reply_with_calls([tries[tried]], entry, mode)
    return answer(entry, mode, request.turn, step=1)


def _extra(request: Request, mode: Mode) -> Reply:
    entry = request.entry
    calls = turn_ground_truth_calls(entry, request.turn) if request.step == 0 else []
    more = _with_options(entry)

    def with_more(call: Call) -> Call:
        fitting = (
            e for e in more if e.name == portable_name(call.name) and call.arguments.items() <= e.arguments.items()
        )
        return next(fitting, call)

    made = [*map(with_more, calls)]
    return reply_with_calls(made, entry, mode) if made else answer(entry, mode, request.turn, request.step)


def _sweeper(request: Request, mode: Mode) -> Reply:
    entry = request.entry
    tries = extra_calls(entry, about=True) if request.turn == 0 else []
    if tries and request.step == 0:
        return reply_with_calls(tries, entry, mode)
    return answer(entry, mode, request.turn, request.step - bool(tries))


_REPLIES: Mapping[str, Callable[[Request, Mode], Reply]] = {
    "idle": _idle,
    "parrot": _parrot,
    "every": _every,
    "repeat": _repeat,
    "extra": _extra,
    "vandal": _vandal,
    "sweeper": _sweeper,
}
