"""Splits: which entries may be trained on and which are kept to test with, by whole families, in a file.

A split names the data it was made of by digest and carries its own digest. So a run can say which split it
took, and a damaged or edited file is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import EntryRef
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.transforms import split_id
from pytest_bfcl.dataset.verified import NAME as VERIFIED
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.settings import SplitPart
from pytest_bfcl.spread_json import json_or

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = get_args(Part)
By = Literal["family", "content", "strict"]
"""What holds entries together (`pytest_bfcl.extensions.training.splits`)."""
KINDS: tuple[By, ...] = get_args(By)

FORMAT = "pytest-bfcl new split 1"
_LIMIT = 64_000_000
"""Bytes of a file that are read; the official set takes 150,000."""
_AGAIN = "write it again with `pytest-bfcl new split`"


class Measured(Protocol):
    """What a run is about, as far as a split must know it."""

    name: str
    version: str

    @property
    def sha256(self) -> str:
        """The digest of the data."""


@dataclass(frozen=True)
class Split:
    """A data set in two parts.

    ``parts``: part → category → ids, in the data's order; format-sensitivity entries and transformed ones go with the
    entry they are made of, write stages of memories with their questions. ``train``: the share that was wished for.
    """

    dataset: str
    dataset_version: str
    dataset_sha256: str
    by: By
    seed: int
    train: float
    families: int
    parts: Mapping[Part, Mapping[str, Sequence[str]]]
    name: str = ""

    @cached_property
    def sha256(self) -> str:
        """The digest of everything but the file's name."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def _places(self) -> dict[str, Part]:
        return {each: part for part, ids in self.parts.items() for each in _flat(ids)}

    def ids(self, part: Part) -> list[str]:
        """The ids of one part."""
        return list(_flat(self.parts[part]))

    def part_of(self, entry_id: str) -> Part | None:
        """The part an entry is in, also one made of another entry; ``None`` for entries that are in none."""
        return next((self._places[each] for each in origins(entry_id) if each in self._places), None)

    def refs(self, data: DataSet, part: Part) -> list[EntryRef]:
        """The references of one part's entries, in the data's order. Raises `UsageError` for other data."""
        self.check(data)
        return [ref for name in data.categories() for ref in data.index(name) if self.part_of(ref.id) == part]

    def check(self, data: Measured) -> None:
        """Raise `UsageError` when the split was made of other data."""
        check_data(self.chosen("test"), data)

    def chosen(self, part: Part) -> SplitPart:
        """One part as it travels with a run's settings."""
        data = {"name": self.dataset, "version": self.dataset_version, "sha256": self.dataset_sha256}
        return {"name": self.name, "sha256": self.sha256, "part": part, "data": data, "ids": self.ids(part)}

    # -- files ---------------------------------------------------------------------------------------------------

    def write(self, path: Path) -> Split:
        """Write a new file; returns the split by its name. Raises `UsageError` where a file is."""
        text = json.dumps({**self._content(), "sha256": self.sha256}, indent=1) + "\n"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            told = "a split that runs name must not change under them; take another name, or delete it"
            raise UsageError(f"{path} is there already: {told}") from None
        return with_name(self, path)

    @classmethod
    def read(cls, path: Path | str) -> Split:
        """A split from its file; raises `UsageError` for what is none, is damaged, or cannot be read."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                raw = file.read(_LIMIT + 1)
        except OSError as error:
            raise UsageError(f"cannot read the split {path}: {error.strerror or error}") from None
        found: Any = json_or(raw) if len(raw) <= _LIMIT else None
        split = _of(found)
        if split is None:
            raise UsageError(f"{path} is no split, or is damaged: {_AGAIN}")
        if split.sha256 != found.get("sha256"):
            raise UsageError(f"{path} was changed after it was written (its digest is another): {_AGAIN}")
        return with_name(split, path)

    def _content(self) -> Parsed:
        return {
            "format": FORMAT,
            "data": {"name": self.dataset, "version": self.dataset_version, "sha256": self.dataset_sha256},
            "by": self.by,
            "seed": self.seed,
            "train": self.train,
            "families": self.families,
            "parts": {part: {name: list(ids) for name, ids in self.parts[part].items()} for part in PARTS},
        }


def with_name(split: Split, path: Path) -> Split:
    """The split under the name of its file."""
    return replace(split, name=path.name)


def origins(entry_id: str) -> Iterator[str]:
    """An id, and those of the entries it may be made from: without its transform, without its prompt format."""
    plain, _ = split_id(entry_id)
    yield from (entry_id, plain, original_id(plain))


def original_id(entry_id: str) -> str:
    """The id of the entry that a format-sensitivity entry repeats; others' own."""
    return entry_id.rsplit(":", 1)[-1]


def is_in(ids: Container[str], entry_id: str) -> bool:
    """Whether an entry, or the one it is made from, is among the ids of a part."""
    return any(each in ids for each in origins(entry_id))


def check_data(part: SplitPart, data: Measured) -> None:
    """Raise `UsageError` when a split was made of other data; corrections of the same data are no other data."""
    made = part["data"]
    corrected = data.name == VERIFIED and data.version.startswith(f"{made['version']}+") and made["name"] == "official"
    if data.sha256 == made["sha256"] or corrected:
        return
    mine = f"{made['name']} {made['version']} ({made['sha256'][:8]})"
    raise UsageError(
        f"the split {part['name']} was made of {mine}, not of {data.name} {data.version} ({data.sha256[:8]}): "
        "name that data, or split this one (`pytest-bfcl new split`)"
    )


def read_part(text: str, default: Part = "test") -> tuple[Split, Part]:
    """``FILE``, ``FILE:train`` or ``FILE:test``. Raises `UsageError`."""
    path, colon, word = text.rpartition(":")
    if colon and word in PARTS:
        return Split.read(path), word
    if colon and not Path(text).exists() and Path(path).is_file():
        raise UsageError(f"{text}: a part of a split is train or test, not {word!r}")
    return Split.read(text), default


def _flat(ids: Mapping[str, Sequence[str]]) -> Iterator[str]:
    return (each for listed in ids.values() for each in listed)


def _of(found: Any) -> Split | None:
    """A split from what a file holds; ``None`` for anything else."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    data, parts = found.get("data"), found.get("parts")
    if not isinstance(data, dict) or not isinstance(parts, dict) or set(parts) != set(PARTS):
        return None
    name, version, sha256 = (data.get(field) for field in ("name", "version", "sha256"))
    by, seed, train, count = (found.get(name) for name in ("by", "seed", "train", "families"))
    if (
        not all(isinstance(word, str) for word in (name, version, sha256))
        or by not in KINDS
        or not _is_whole(seed, count)
    ):
        return None
    if not isinstance(train, float) or not 0 < train < 1 or not all(map(_is_part, parts.values())):
        return None
    listed = [each for part in PARTS for each in _flat(parts[part])]
    if len(listed) != len(set(listed)):
        return None
    return Split(str(name), str(version), str(sha256), by, seed, train, count, parts)  # type: ignore[arg-type]


def _is_whole(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and all(
        name in CATEGORIES and isinstance(ids, list) and all(isinstance(each, str) for each in ids)
        for name, ids in part.items()
    )
