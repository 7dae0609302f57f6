"""Messages between the driver of a run and its actors: plain values, in order.

An actor sends messages in pieces of limited size. Ray sends small answers directly, while large ones would stay in the
object store of the actor's node and be lost with it.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl import entry_points
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.registry import list_providers
from pytest_bfcl.providers.recorded import KEY_VARIABLE

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.session.earlier import DoneKey
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Mode

PIECE = 64 * 1024
"""Size of an answer that Ray always sends directly, in bytes (its own limit is 100 KB)."""


# -- to an actor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SentModel:
    """One contender: ``spec`` names it, or ``adapter`` is the user's object."""

    label: str
    spec: str | None
    adapter: object
    settled: Mode | None
    price: Price | None


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The message for an actor before its first conversation.

    ``environment`` contains keys: it is sent in a call, never in a runtime environment, which Ray stores and shows.
    ``archives``: file name below the run directory → its recorded outside calls so far. ``served``:
    `EarlierParts.served`.
    """

    process: str
    version: str
    data: DataSet
    data_sha256: str
    has_site: bool
    models: Sequence[SentModel]
    settings: Fields = field(repr=False)
    twice: frozenset[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    archives: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    served: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Job(NamedTuple):
    """One trial: by its id if the actor has the data, else with its entry. ``replies`` are journaled lines."""

    number: int
    label: str
    repeat: int
    entry_id: str
    entry: Entry | None
    replies: tuple[bytes, ...]


class Memory(NamedTuple):
    """The memory of a write stage, as `pytest_bfcl.conversation.journal.Snapshots` stores it."""

    model: str
    repeat: int
    backend: str
    scenario: str
    entry_id: str
    content: object


class Hello(NamedTuple):
    """An actor's introduction: host, versions, and whether it has the run's data."""

    host: str
    version: str
    has_data: bool
    problem: str | None = None


# -- from an actor -----------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """A reply has arrived: its journal line, with its key."""

    key: DoneKey
    line: bytes


class Spent(NamedTuple):
    """The cost of a live reply in USD."""

    label: str
    usd: float


class Recorded(NamedTuple):
    """Lines to append to a file of the run directory: results of searches, pages and requests."""

    name: str
    lines: bytes


class Lined(NamedTuple):
    """A trial has ended: its line of ``results.jsonl``."""

    number: int
    line: bytes
    outcome: str
    mode: str


class Noted(NamedTuple):
    """A note for the user at the end of the run."""

    text: str


class Switched(NamedTuple):
    """Mode ``auto`` selected prompting."""

    label: str


class Troubled(NamedTuple):
    """Why this actor must send no more requests."""

    reason: str


class Ended(NamedTuple):
    """The last message."""


Event = Answered | Spent | Memory | Recorded | Lined | Noted | Switched | Troubled | Ended


def pieces(events: Sequence[Event], size: int = PIECE) -> list[bytes]:
    """Events as bytes of at most ``size`` + 1; the first byte shows whether more of them follow."""
    whole = pickle.dumps(list(events), protocol=5)
    parts = [whole[start : start + size] for start in range(0, len(whole), size)]
    return [b"+" + part for part in parts[:-1]] + [b"." + parts[-1]]


class Joiner:
    """Joins pieces, in the order in which they were made."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def events(self, piece: bytes) -> list[Event]:
        """The events that are complete with this piece; a piece without content has none."""
        if not piece:
            return []
        self._parts.append(piece[1:])
        if piece[:1] == b"+":
            return []
        whole, self._parts = b"".join(self._parts), []
        found: list[Event] = pickle.loads(whole)
        return found


def variables_of(specs: Iterable[ModelSpec]) -> list[str]:
    """The names of the variables that these models, the web search and retired categories may need."""
    groups = (entry_points.load(point, "group of categories") for point in entry_points.offered("categories").values())
    names = {KEY_VARIABLE, *(name for group in groups for name in group.key_variables())}
    needed = {info.name: info.needs for info in list_providers()}
    for spec in specs:
        hosted = spec.name.partition("/")[0].replace("-", "_") if spec.provider == "litellm" else ""
        for provider in filter(None, (spec.provider, hosted)):
            prefix = provider.upper()
            names |= {f"{prefix}_API_KEY", f"{prefix}_BASE_URL", f"{prefix}_API_BASE"}
            names |= {name for name in needed.get(provider, ()) if "_" in name}
    return sorted(names)


def environment_of(specs: Iterable[ModelSpec]) -> dict[str, str]:
    """Those of them that are set here, with their values."""
    return {name: os.environ[name] for name in variables_of(specs) if os.environ.get(name)}
