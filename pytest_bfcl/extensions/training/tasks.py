"""The entries a trainer works on: rows for its data set, and episodes made of rows again, in any process.

A row names its data and its entry; the entry's content stays in the data, so a worker on another machine needs the same
data (a digest in the row detects other data). Official entries are only available through a split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from typing_extensions import TypedDict

from pytest_bfcl.dataset.categories import CATEGORIES, resolve_categories
from pytest_bfcl.dataset.loading import UnknownEntry
from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.rewards import READ_BY, read_by, refuse_unknown_names, refuse_unreadable, reward
from pytest_bfcl.extensions.training.splits import entries_of
from pytest_bfcl.extensions.training.training_rows import question_key
from pytest_bfcl.failures import HarnessError, UsageError, instead_of
from pytest_bfcl.judging.entries import opened
from pytest_bfcl.models.callable import on_the_wire
from pytest_bfcl.replies import read_reply
from pytest_bfcl.selection.splits import PARTS, Part, Split
from pytest_bfcl.settings import Settings
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.settings import Rules
    from pytest_bfcl.transcript import Message, Mode


class Options(TypedDict, total=False):
    """Options of `Episode`; ``step_limit`` is the run's setting. ``names``: how the policy writes names with dots,
    unchanged or with underscores (default: ``underscores`` in mode ``fc``).
    """

    mode: Mode
    decoder: str | None
    think: Think
    names: Literal["dots", "underscores"]
    rules: Rules
    partial: bool
    call_cost: float
    step_limit: int


class TaskKey(TypedDict):
    """The key of an entry in a row, and how replies to it are read (`READ_BY`): plain texts for any table, empty if
    missing."""

    data: str
    data_sha256: str
    entry_id: str
    mode: str
    decoder: str
    think: str
    names: str


class Row(TaskKey):
    """One entry as a row: ``prompt`` are the first chat messages of its episode."""

    category: str
    prompt: list[Message]


_OPTIONS = frozenset(Options.__annotations__)
KEY_COLUMNS = tuple(TaskKey.__annotations__)


@dataclass(frozen=True)
class Tasks:
    """Entries to train on, in the order of their data; see `tasks`.

    ``unpassable``: ids that are left out, because no reply passes under these rules and in this mode.
    """

    data: DataSet
    word: str
    entries: Sequence[Entry]
    options: Options = field(default_factory=Options)
    unpassable: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def episode(self, entry: Entry) -> Episode:
        """A new episode of one of these entries."""
        return _episode(self.data, entry, self.options)

    def key(self, entry: Entry) -> TaskKey:
        """The fields of a row that identify its entry and options."""
        known = {"data": self.word, "data_sha256": self.data.sha256, "entry_id": entry.id}
        return cast("TaskKey", known | {name: self.options.get(name) or "" for name in READ_BY})

    def rows(self) -> Iterator[Row]:
        """A row for each entry."""
        for entry in self.entries:
            prompt = self.episode(entry).reset().messages
            yield {**self.key(entry), "category": entry.category, "prompt": prompt}


def tasks(
    data: str | Path = "bundled",
    *,
    split: str | Path | None = None,
    part: Part = "train",
    categories: Iterable[str] | None = None,
    **options: Any,
) -> Tasks:
    """The entries of a data set, or of one part of a split of it.

    Args:
        data: ``bundled``, ``official``, or a path, as for ``--bfcl-data``.
        split: A file that ``pytest-bfcl new split`` wrote of this data.
        part: Its part, ``train`` or ``test``.
        categories: Categories and groups; default: all that are scored, without memory and web search, whose entries
            need more than themselves (a chain of earlier conversations, a provider). If named, memory questions begin
            with an empty memory, and web questions use the data's own site. options: `Options`; the default mode is
            ``prompt``, which every trainer supports.

    Entries that no reply passes are left out (`Tasks.unpassable` names them). Raises `UsageError` for the official set
    without a split, and for entries with its questions, because it is a test set.
    """
    chosen: Options = {"mode": "prompt", **options_of(options)}
    whole = opened(_word(data))
    if whole.official and split is None:
        raise UsageError(
            "the official entries are a test set: split them first and name the training part.\n"
            "  pytest-bfcl new split official -o official.split.json\n"
            "  tasks('official', split='official.split.json')   (or train on 'bundled', or on entries of your own)"
        )
    if part not in PARTS:
        raise UsageError(f"a part of a split is train or test, not {part!r}")
    made = None if split is None else Split.read(split)
    if made is not None:
        made.check(whole)
    elif whole.name != "bundled" and (copied := _copied(whole)):
        raise UsageError(
            f"{len(copied)} entries of {whole.name} repeat questions of the official set, first {copied[0]}: that set "
            "is for tests only\n  pytest-bfcl validate training FILE --against official   lists them"
        )
    names = _categories(whole, categories)
    refs = [ref for name in names for ref in whole.index(name) if made is None or made.part_of(ref.id) == part]
    hopeless = _unpassable(whole, chosen)
    entries = [whole.load(ref) for ref in refs if ref.id not in hopeless]
    if not entries:
        raise UsageError(f"nothing to train on: {whole.name} has no entry of {', '.join(names) or 'these categories'}")
    return Tasks(whole, _word(data), entries, chosen, [ref.id for ref in refs if ref.id in hopeless])


def _unpassable(data: DataSet, options: Options) -> frozenset[str]:
    """Entries that no reply passes officially: a policy would only learn to stop trying. Corrected rules pass some."""
    if options.get("rules", "official") != "official":
        return frozenset()
    mode = options.get("mode", "prompt")
    issues = known_issues(data.version)
    return frozenset(issue.id for issue in issues if issue.kind == "unpassable" and mode in issue.modes)


def _copied(data: DataSet) -> list[str]:
    """The ids of entries with an official question, if the official set is installed."""
    known = _official_questions()
    return [entry.id for entry in entries_of(data) if question_key(entry) in known] if known else []


@lru_cache(maxsize=1)
def _official_questions() -> frozenset[str]:
    from pytest_bfcl.fetching.official import fetched_folder

    if fetched_folder() is None:
        return frozenset()
    return frozenset(filter(None, map(question_key, entries_of(opened("official")))))


def options_of(given: Fields) -> Options:
    """Options from a configuration. Raises `UsageError` for an unknown one, and for unknown names."""
    if unknown := [name for name in given if name not in _OPTIONS]:
        raise UsageError(f"no option {unknown[0]!r} of episodes; {instead_of(unknown[0], sorted(_OPTIONS))}")
    refuse_unknown_names(given)
    return {**given}  # type: ignore[typeddict-item]


def key_of(row: Fields) -> TaskKey | None:
    """The key in a row, or in a trainer's copy of it; ``None`` if missing."""
    for found in (row, row.get("extra_info"), row.get("reward_spec"), row.get("task")):
        if isinstance(found, Mapping) and isinstance(found.get("entry_id"), str) and isinstance(found.get("data"), str):
            return {name: str(found.get(name) or "") for name in KEY_COLUMNS}  # type: ignore[return-value]
    return None


def _read_by(row: Fields, options: Options) -> Options:
    """The options with the row's values. Raises `UsageError` if both set one differently, or if none does."""
    settled = read_by(key_of(row) or {}, options)
    if not settled.get("mode"):
        raise UsageError("the mode of the replies is not known: pass mode='prompt' or 'fc', or make the rows again")
    return settled  # type: ignore[return-value]


def episode_of(row: Fields, options: Options | None = None) -> Episode:
    """A new episode of a row's entry. Raises `HarnessError` if the row or its data is unusable, and `UsageError` if the
    reading of replies is not set, or the options contradict the row."""
    return _episode(*_data_and_entry(row), _read_by(row, options or {}))


def reward_of(row: Fields, completion: object, options: Options) -> float:
    """The reward of one reply to the single-turn entry that a row names, as its episode would give it.

    Raises `UsageError` for entries of several steps, replies of unknown shape, and if the reading of replies is not
    set; `HarnessError` for other data.
    """
    _, entry = _data_and_entry(row)
    if entry.row.multi_step:
        raise UsageError(f"{entry.id} has several steps, a completion is one: play it as an episode, step by step")
    options = _read_by(row, options)
    if isinstance(completion, str):
        refuse_unreadable(options["mode"], options.get("decoder"))
    said = read_reply(completion)
    given: Any = {name: value for name, value in options.items() if name not in ("step_limit", "names")}
    return reward(
        entry, on_the_wire(said, entry.function) if options["mode"] == "fc" else said,
        underscore_names=_underscores(options), **given,
    )  # fmt: skip


def _data_and_entry(row: Fields) -> tuple[DataSet, Entry]:
    key = key_of(row)
    if key is None:
        raise HarnessError(
            HarnessTrouble.DATA,
            "the row names no entry (entry_id, data): make rows with pytest_bfcl.extensions.training.tasks",
        )
    data = opened(key["data"])
    if key["data_sha256"] not in ("", data.sha256):
        raise HarnessError(
            HarnessTrouble.DATA,
            f"the rows were made of other data than {key['data']} is here ({data.sha256[:8]}): make them again",
        )
    return data, _loaded(data, key["entry_id"])


@lru_cache(maxsize=20_000)
def _loaded(data: DataSet, entry_id: str) -> Entry:
    try:
        return data.entry(entry_id)
    except UnknownEntry as error:
        raise HarnessError(HarnessTrouble.DATA, str(error)) from None


def _episode(data: DataSet, entry: Entry, options: Options) -> Episode:
    limit = options.get("step_limit")
    settings = Settings() if limit is None else Settings(step_limit=limit)
    given = {name: value for name, value in options.items() if name != "step_limit"}
    search = _search(data) if entry.row.group == "web_search" else None
    return Episode(entry, settings=settings, texts=data.texts, search=search, **given)  # type: ignore[arg-type]


def _underscores(options: Options) -> bool:
    return options.get("names", "underscores" if options.get("mode") == "fc" else "dots") == "underscores"


def _categories(data: DataSet, asked: Iterable[str] | None) -> list[str]:
    have = data.categories()
    if asked is None:
        return [name for name in have if CATEGORIES[name].scored and CATEGORIES[name].checker != "answer"]
    return [name for name in resolve_categories(asked) if name in have]


def _word(data: str | Path) -> str:
    """How other processes on any machine open the same data."""
    return str(data) if str(data) in ("bundled", "official", "verified") else str(Path(data).expanduser().resolve())


@lru_cache(maxsize=8)
def _search(data: DataSet) -> object:
    from pytest_bfcl.providers import open_search

    if data.official:
        raise UsageError("web questions of the official set need a provider: use Episode(entry, search=…)")
    return open_search(official=False, site=data.site)
