"""Selecting entries: by category and group, by id (a file in the benchmark's shape, or one id a line), by
node ids and ``-m`` expressions.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, GROUPS, category_of, resolve_categories
from pytest_bfcl.dataset.entry import Entry, EntryRef
from pytest_bfcl.dataset.loading import DataSet, joint_digest
from pytest_bfcl.failures import UsageError, close_names
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.selection.sharding import ShardItem, deal, stratified_sample
from pytest_bfcl.selection.splits import is_in
from pytest_bfcl.spread_json import read_json, text_file

_SHOWN = 10
DEFAULT = "all_scoring"


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of a run; ``None`` means no restriction.

    ``categories`` are names of categories and groups; ``sample`` is a number of entries, divided in proportion to
    categories; ``shard`` (index from 1, count) is one part of the rest."""

    categories: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    sample: int | None = None
    shard: Sequence[int] | None = None

    def facts(self) -> Parsed:
        """The selection as in a fingerprint."""
        return {
            **({"categories": list(self.categories)} if self.categories else {}),
            **({"ids": list(self.ids)} if self.ids else {}),
            **({"sample": self.sample} if self.sample else {}),
            **({"shard": "{}/{}".format(*self.shard)} if self.shard else {}),
        }


def categories_to_run(dataset: DataSet, asked: Iterable[str] = (), also: Iterable[str] = ()) -> list[str]:
    """The categories that names of categories and groups select; without names, scoring categories and own ones.

    ``also`` adds to the latter. A file with only entries outside scores selects those. Raises `UsageError` for unknown
    names, and if the data has none of the selected ones.
    """
    have, names = dataset.categories(), list(asked)
    if names:
        found = [name for name in resolve_categories(names) if name in have or dataset.index(name)]
        if not found:
            raise UsageError(f"the {dataset.name} data has none of {', '.join(names)}; it has: {', '.join(have)}")
        return found
    wanted = resolve_categories([DEFAULT, "own", *also])
    if not any(name in wanted for name in have):
        return [name for name in have if not CATEGORIES[name].scored] if not dataset.official else []
    return [name for name in have if name in wanted]


def entries_to_run(
    dataset: DataSet, selection: Selection, *, part: Container[str] | None = None, seed: int = 0
) -> list[EntryRef]:
    """The selected entries by category, before a shard is taken. ``part``: only entries of this part of a split. Write
    stages are included if named by id. Raises `UsageError` for unknown names and ids.
    """
    if selection.categories is not None and not selection.categories:
        return []
    if selection.ids is None:
        found = [ref for name in categories_to_run(dataset, selection.categories or ()) for ref in dataset.index(name)]
    else:
        found = select_ids(selection.ids, dataset, "ids")
        if selection.categories:
            wanted = resolve_categories(selection.categories)
            found = [ref for ref in found if ref.category in wanted]
    return sampled([ref for ref in found if part is None or is_in(part, ref.id)], dataset, selection.sample, seed)


def sampled(refs: list[EntryRef], dataset: DataSet, sample: int | None, seed: int) -> list[EntryRef]:
    """A sample of these entries in their order, and the entries that no sample leaves out.

    These are write stages, and own entries that cannot be judged, which are always reported.
    """
    if sample is None:
        return refs
    always = {ref.id for ref in refs if is_write_stage(ref) or is_broken(dataset, ref)}
    chosen = stratified_sample((ref.id for ref in refs if ref.id not in always), sample, seed) | always
    return [ref for ref in refs if ref.id in chosen]


def is_write_stage(ref: EntryRef) -> bool:
    """Whether an entry only fills a memory."""
    return CATEGORIES[ref.category].group == "memory_prereq"


def is_broken(dataset: DataSet, ref: EntryRef) -> bool:
    """Whether an own entry cannot be judged as intended."""
    return dataset.own and bool(dataset.entry_errors(ref))


def read_ids(path: Path | str, dataset: DataSet) -> list[EntryRef]:
    """The entries named in a file, each once, by category in table order and in file order within one.

    Two shapes: ``test_case_ids_to_generate.json`` (category → list of ids; empty lists are skipped) and plain text with
    one id a line (blank lines and ``#`` comments ignored). A memory question adds its write stage, which comes first.
    Raises `UsageError` for an unreadable file, an empty selection, and unknown ids.
    """
    path = Path(path)
    try:
        text = text_file(path, "it is a text file, one entry id a line")
    except UsageError as error:
        named = [name for name in str(path).replace(",", " ").split() if category_of(name) in CATEGORIES]
        if named:
            one = f"bfcl/{category_of(named[0])}.jsonl::{named[0]}"
            raise UsageError(f"{path} is no file: --bfcl-ids names a file of ids; under pytest write {one}") from error
        raise UsageError(f"--bfcl-ids: {error}") from None
    ids = _ids_from_json(text, path) if text.lstrip().startswith("{") else _ids_from_lines(text)
    if not ids:
        raise UsageError(f"{path} names no ids")
    return select_ids(ids, dataset, str(path))


def select_ids(ids: Iterable[str], dataset: DataSet, where: str) -> list[EntryRef]:
    """References of the ids with their write stages; the error about unknown ids names ``where``."""
    found: dict[str, EntryRef] = {}
    unknown: list[str] = []
    for entry_id in ids:
        ref = dataset.find(entry_id)
        if ref is None:
            unknown.append(entry_id)
        else:
            found[entry_id] = ref
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise UsageError(
            f"{where}: not in the {dataset.name} data: {', '.join(each[:80] for each in unknown[:_SHOWN])}{more}; "
            "ids are as the reports show them (for instance memory_kv_0-customer-0)"
        )
    stages = _write_stages(list(found.values()), dataset)
    chosen = [ref for ref in found.values() if CATEGORIES[ref.category].group != "memory_prereq"]
    place = {name: number for number, name in enumerate(CATEGORIES)}
    return [*stages, *sorted(chosen, key=lambda ref: place[ref.category])]


def _write_stages(refs: list[EntryRef], dataset: DataSet) -> list[EntryRef]:
    """Selected write stages and those that selected entries need, in the order in which they must run."""
    needed: dict[str, set[str]] = {}
    for ref in refs:
        if CATEGORIES[ref.category].backend:
            stage = f"{ref.category.removesuffix('_prereq')}_prereq"
            needed.setdefault(stage, set()).update(dataset.depends_on(ref))
            if ref.category == stage:
                needed[stage].add(ref.id)
    return [ref for stage, ids in needed.items() for ref in dataset.index(stage) if ref.id in ids]


def _ids_from_lines(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _ids_from_json(text: str, path: Path) -> list[str]:
    try:
        selection = read_json(text.encode())
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    ids: list[str] = []
    for category, names in selection.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UsageError(f"{path}: {category!r} must hold a list of ids")
        ids += names
    return ids


class JointData:
    """The data set and further files together, for a fingerprint and a report."""

    def __init__(self, chosen: DataSet, files: DataSet) -> None:
        self._sets = (chosen, files)
        self.name = f"{chosen.name}+{files.name}"
        self.version = chosen.version
        self.root = files.root

    def unread(self) -> JointData:
        """Both without anything read yet: small to send to another process."""
        chosen, files = self._sets
        return JointData(chosen.unread(), files.unread())

    @cached_property
    def file_digests(self) -> dict[str, str]:
        """Digest of the data set and of each file, by name."""
        chosen, files = self._sets
        return {chosen.name: chosen.sha256, **(files.file_digests or {files.name: files.sha256})}

    @property
    def templates(self) -> dict[str, str]:
        """Digests of the files that own entries copy into their trials."""
        return {**self._sets[0].templates, **self._sets[1].templates}

    @cached_property
    def sha256(self) -> str:
        """Digest of all data files, for the run's fingerprint."""
        return joint_digest(self.file_digests)

    def entry(self, entry_id: str) -> Entry:
        """The entry of this id; raises `pytest_bfcl.dataset.loading.UnknownEntry`."""
        chosen, files = self._sets
        return (chosen if chosen.find(entry_id) is not None else files).entry(entry_id)

    def clash(self) -> str | None:
        """The first id that both have, with both places."""
        chosen, files = self._sets
        for ref in (ref for name in files.categories() for ref in files.index(name)):
            other = chosen.find(ref.id)
            if other is not None:
                places = f"{other.path}:{other.line} and in {ref.path}:{ref.line}"
                return f"the id {ref.id!r} occurs in {places}: results are stored by id, so change one of the two"
        return None


LANGUAGES = ("java", "javascript")
_VIRTUAL = re.compile(r"(?:.*/)?bfcl/(?P<category>[A-Za-z0-9_]+)\.jsonl(?:::(?P<name>.+))?", re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_WORD = re.compile(r"(not\s+)?\(*\b([A-Za-z_]\w*)")


class VirtualArgument(NamedTuple):
    """``bfcl/<category>.jsonl[::<entry id>[...]]`` on the command line; ``name`` is the text after ``::``."""

    category: str
    name: str | None


def virtual_argument(text: str) -> VirtualArgument | None:
    """The parsed argument, or ``None`` if it is an ordinary path."""
    match = _VIRTUAL.fullmatch(text.replace("\\", "/"))
    return VirtualArgument(match["category"], match["name"]) if match else None


def entry_id_of(nodeid: str) -> str:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1``."""
    return nodeid.partition("::")[2].partition("[")[0]


def mentioned(expression: str) -> list[str]:
    """Categories and groups that a ``-m`` expression selects (words after ``not`` select nothing)."""
    return [word for word in _mark_words(expression) if word in CATEGORIES or word in GROUPS]


def mentioned_checks(expression: str) -> list[str]:
    """The sets of checks (entry points ``pytest_bfcl.checks``) that a ``-m`` expression selects."""
    unknown = set(_mark_words(expression)) - set(mark_names())
    return [word for word in unknown if entry_points.find("checks", word)]


def _mark_words(expression: str) -> list[str]:
    return [word for negated, word in _WORD.findall(expression or "") if not negated]


def without_arguments(expression: str) -> str:
    """A ``-m`` expression without the arguments of its marks."""
    return _ARGUMENTS.sub("", expression)


def misspelt_marks(expression: str, registered: Iterable[str]) -> Iterator[str]:
    """Words of a ``-m`` expression that name no mark but resemble one of our marks.

    Other words may be unregistered marks.
    """
    ours = mark_names()
    known = {*ours, *registered, "and", "or", "not", "True", "False", "None"}
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", without_arguments(expression))):
        ours_once = word in EARLIER or bool(close_names(word, ours))
        if word not in known and ours_once and not entry_points.find("checks", word):
            yield word


def shard_item(nodeid: str) -> ShardItem:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1`` of the model (and repeat) ``spec``."""
    return ShardItem(entry_id_of(nodeid), nodeid.partition("[")[2].removesuffix("]"))


def stripes(nodeids: Sequence[str], count: int) -> list[list[list[int]]]:
    """Positions divided into ``count`` stripes: stripe → units → positions; see
    `pytest_bfcl.selection.sharding.deal`."""
    return deal(list(map(shard_item, nodeids)), count)


def marks() -> Iterator[tuple[str, str]]:
    """Every group, category, language and mode: its name, and the items that carry it."""
    for name in GROUPS:
        if name not in CATEGORIES:
            yield name, f"function-calling entries of the group {name}"
    for name, row in CATEGORIES.items():
        yield name, f"function-calling entries of the category {name} ({row.group})"
    for name in LANGUAGES:
        yield name, f"function-calling entries whose calls are {name}"
    yield "fc", "function-calling entries asked with native tool calls"
    yield "prompt", "function-calling entries whose calls are written as text"


def mark_names() -> list[str]:
    """The names alone."""
    return [name for name, _ in marks()]
