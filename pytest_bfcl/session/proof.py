"""Extra plays of a run: the proof of users' own entries, and a second play for agents that may keep state.

The oracle must pass an entry, and no adversary may. The oracle plays first, so that the adversaries meet any state that
it leaves behind. If an entry's state outlives its trial, the idle adversary passes, as repeats would. A proof is valid
until one of the entry's inputs changes (`pytest_bfcl.dataset.inputs`).

An agent with a global history remembers other entries, so its verdicts depend on their order. An entry that failed
after others passed is played again, alone. The first verdict counts; a difference is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pytest_bfcl.checkers import judge
from pytest_bfcl.checkers.expectations import calls_made
from pytest_bfcl.conversation.engine import converse, served
from pytest_bfcl.dataset.inputs import Parts, changed_parts, inputs_of, short_digest
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.fetching.official import cache_root
from pytest_bfcl.models import create_model
from pytest_bfcl.models.adversaries import (
    ADVERSARIES,
    AT_RISK,
    CALLING,
    adversaries_of,
    deeds_of,
    harmless_repeat,
    refuses,
    right_calls,
)
from pytest_bfcl.redaction import names_credentials
from pytest_bfcl.simulators import source_digests
from pytest_bfcl.spread_json import read_json
from pytest_bfcl.transcript import END_STATE, PLAYED_BEFORE, Call
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.served_entry import ServerFacts
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.models import Model
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Transcript


REMEDY = (
    'expect what only the right calls bring about, keep the state in {workdir}, or say "allows": {"NAME": "why"} '
    "(docs/own-entries.md, Proof)"
)
SHOWN_CHANGES = 5
_VERSION = "4"
DOING = ("extra", "vandal", "sweeper")
"""Adversaries that need a target, or are none."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def is_at_risk(entry: Entry) -> bool:
    """Whether an adversary could pass an entry but must not."""
    if entry.official or entry.row.checker not in AT_RISK:  # said first: most entries are no such
        return False
    return any(name not in entry.allows for name in adversaries_of(entry))


def unearned_text(names: Iterable[str]) -> str:
    """The problem of an entry that these adversaries pass."""
    told = "; ".join(f"{name}, which {ADVERSARIES[name]}" for name in names)
    return f"passes for {told}: it measures less than it says"


class Proofs:
    """The proofs of one run: each entry is played once for all its trials, and again only after a change.

    Args:
        settings: Where servers are.
        note: Receives which entries were proved again, and why.
        served: Name of a server in entries → its facts in earlier parts of the run (`ServerFacts.summary`).
    """

    def __init__(
        self,
        settings: Settings,
        note: Callable[[str], None] | None = None,
        served: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._settings = settings
        self._note = note or (lambda text: None)
        self._served = served or {}
        self._made: dict[str, asyncio.Future[None]] = {}
        self._facts: dict[str, asyncio.Future[ServerFacts]] = {}
        self._spared: set[str] = set()

    async def require(self, entry: Entry, texts: Texts, search: object = None) -> None:
        """Return once the entry, which `is_at_risk`, is proved; ``search`` is the provider of its web tools.

        Raises `HarnessError` (kind ``unearned``, or ``mcp`` if the server has changed since the run began), or the
        server's error.
        """
        if (found := self._made.get(entry.id)) is None:
            found = self._made[entry.id] = asyncio.ensure_future(self._prove(entry, texts, search))
        await asyncio.shield(found)

    async def _prove(self, entry: Entry, texts: Texts, search: object) -> None:
        parts = inputs_of(entry, self._settings)
        parts |= {f"the simulator {name}": each for name, each in source_digests(entry.involved_classes).items()}
        if entry.mcp is not None:
            facts = await self._facts_of(entry)
            self._require_same(entry, facts)
            entry = entry.model_copy(update={"server_facts": facts})
            parts |= facts.parts()
            if is_spared(entry, self._settings) and entry.mcp not in self._spared:
                self._spared.add(str(entry.mcp))
                self._note(spared_text(str(entry.mcp)))
        mark = cache_root() / "proved" / f"{short_digest(f'{_VERSION} {entry.id} {entry.folder}')}.json"
        before: Parts = {}
        with contextlib.suppress(OSError, ValueError, AttributeError):
            before = {str(name): str(digest) for name, digest in read_json(mark.read_bytes()).items()}
        changed = changed_parts(before, parts)
        if not changed:
            return
        if before:
            more = f" and {len(changed) - SHOWN_CHANGES} more" if len(changed) > SHOWN_CHANGES else ""
            self._note(f"{entry.id} is proved again: changed {', '.join(changed[:SHOWN_CHANGES])}{more}")
        if why := await weakness_of(entry, texts, self._settings, search):
            raise HarnessError(HarnessTrouble.UNEARNED, f"{entry.id}: {why}", advice=REMEDY)
        with contextlib.suppress(OSError):  # then it is proved again the next time
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text(json.dumps(parts), "utf-8")

    async def _facts_of(self, entry: Entry) -> ServerFacts:
        """The server's tool list, requested once in a run, for the first entry that names the server."""
        name = str(entry.mcp)
        found = self._facts.get(name)
        if found is None or (found.done() and found.exception() is not None):
            found = self._facts[name] = asyncio.ensure_future(facts_of_server(entry, self._settings))
        return await asyncio.shield(found)

    def _require_same(self, entry: Entry, facts: ServerFacts) -> None:
        before, now = self._served.get(str(entry.mcp)), facts.summary()
        if before is not None and (changed := changed_parts(before, now)):
            told = ", ".join(f"{name} ({before.get(name)} → {now.get(name)})" for name in changed)
            raise HarnessError(
                HarnessTrouble.MCP, f"{entry.id}: MCP server {entry.mcp!r} has changed since this run began: {told}",
                advice="begin a new run: another --bfcl-out",
            )  # fmt: skip


async def facts_of_server(entry: Entry, settings: Settings) -> ServerFacts:
    """The tool list of an entry's server, set up for this entry. Raises `HarnessError` (kind ``mcp``)."""
    async with served(entry, settings) as (offered, _):
        assert offered.server_facts is not None
        return offered.server_facts


async def weakness_of(entry: Entry, texts: Texts, settings: Settings, search: object = None) -> str | None:
    """Why an entry measures less than it claims: its ground truth fails, or an adversary passes that must not.

    Each is played after the oracle. An adversary that could not act (a vandal on a read-only server) does not count.
    Nor does a repeated call, or one with more arguments, that leaves the oracle's state.
    """
    if entry.mcp is not None and entry.server_facts is None:
        entry = entry.model_copy(update={"server_facts": await facts_of_server(entry, settings)})
    right, told = None, []
    if shows_the_way(entry):
        oracle = await _played("oracle:", entry, texts, settings, search)
        right = oracle.extra.get(END_STATE)
        verdict = judge(entry, oracle, simulators=settings.simulators)
        if not verdict.valid:
            told.append(wrong_truth_text(str(verdict.reason), verdict.detail))
    found = []
    for name in to_be_played(entry, settings):
        transcript = await _played(f"adversary:{name}", entry, texts, settings, search)
        harmless = name in ("repeat", "extra") and right is not None and transcript.extra.get(END_STATE) == right
        if harmless or not _did_it(name, entry, transcript):
            continue
        if judge(entry, transcript, simulators=settings.simulators).valid:
            found.append(name)
    if found:
        told.append(f"expect: the entry {unearned_text(found)}")
    return "; ".join(told) or None


def shows_the_way(entry: Entry) -> bool:
    """Whether an entry's ground truth has calls, so that the oracle must pass."""
    return entry.row.checker != "served" or entry.possible_answer is not None


def wrong_truth_text(reason: str, detail: Fields, how: str = "") -> str:
    """The problem of an entry whose own ground truth does not pass; ``how``: its settings."""
    about = ", ".join(f"{key} {detail[key]!r}"[:120] for key in ("param", "expected", "called") if key in detail)
    shown = str(detail.get("error") or detail.get("rule") or "")[:200]
    text = f"possible_answer: the ground truth itself does not pass{f' ({how})' if how else ''}: {reason}"
    return "; ".join(part for part in (text, shown, about) if part)


def _did_it(name: str, entry: Entry, transcript: Transcript) -> bool:
    """Whether the server executed the adversary's deed; it may have refused, also in words."""
    made = [
        Call(portable_name(str(each.call.name)), each.call.arguments)
        for each in calls_made(transcript, len(transcript.turns))
        if each.carried_out and not refuses(each.result)
    ]
    if name == "repeat":
        right = [Call(portable_name(call.name), call.arguments) for call in right_calls(entry)]
        return made.count(right[-1]) > right.count(right[-1])
    return name not in DOING or any(call in made for call in deeds_of(name, entry))


def is_spared(entry: Entry, settings: Settings) -> bool:
    """Whether a proof must not write or delete on an entry's server, because it may be a real one.

    These are addresses on other machines, and commands with a credential.
    """
    where = settings.mcp.get(entry.mcp or "", "")
    if where.startswith(("http://", "https://")):
        return (urlsplit(where).hostname or "") not in _THIS_MACHINE
    return names_credentials(where)


def spared_text(name: str) -> str:
    """The notice about a server on which no adversary played."""
    return (
        f"the adversaries {', '.join(CALLING)} were not played on the MCP server {name!r}: they write and delete, and "
        "it may be a real one. Try the entries on a local copy without credentials"
    )


def to_be_played(entry: Entry, settings: Settings) -> Iterator[str]:
    """The adversaries that must not pass an entry and may play on its server."""
    spared = is_spared(entry, settings)
    for name in adversaries_of(entry):
        if (spared and name in CALLING) or name in entry.allows or (name == "repeat" and harmless_repeat(entry)):
            continue
        if name not in DOING or deeds_of(name, entry):
            yield name


async def _played(name: str, entry: Entry, texts: Texts, settings: Settings, search: object) -> Transcript:
    model = create_model(name, settings, mode="fc")
    return await converse(entry, model, settings=settings, texts=texts, search=search)


MOST = 10
"""Entries of one agent that are played again: each costs as much as the first play."""
ALONE = "alone"
"""Key of a transcript's ``extra``: the result of the second play, ``passed`` or ``failed``."""


class PlayedAlone:
    """The second plays of one run, at most `MOST` for each agent."""

    def __init__(self, note: Callable[[str], None], simulators: Literal["own", "reference"]) -> None:
        self._note = note
        self._simulators = simulators
        self._passed: set[str] = set()
        self._left: dict[str, int] = {}

    async def check(
        self, entry: Entry, transcript: Transcript, model: Any, play: Callable[[Model], Awaitable[Transcript]]
    ) -> None:
        """Play the entry in a new process if it failed after others passed; ``play`` holds the conversation.

        ``model`` has a method ``fresh`` (agents in their own processes); nothing is done unless its process is known.
        """
        before = transcript.extra.get(PLAYED_BEFORE)
        if before is None:
            return
        if self._is_right(entry, transcript):
            self._passed.add(model.spec)
            return
        if not before or model.spec not in self._passed or self._left.setdefault(model.spec, MOST) <= 0:
            return
        self._left[model.spec] -= 1
        alone = model.fresh()
        with contextlib.suppress(BenchmarkError):  # it says nothing of the first play
            right = self._is_right(entry, await play(alone))
            transcript.extra[ALONE] = "passed" if right else "failed"
            if right:
                self._note(
                    f"{entry.id} failed after {before} other entries in its agent's process and passes alone in a "
                    "fresh one: the agent keeps state between entries (docs/agents.md, Processes)"
                )
        await alone.aclose()

    def _is_right(self, entry: Entry, transcript: Transcript) -> bool:
        return judge(entry, transcript, simulators=self._simulators).valid
