"""Splits: nothing alike in both parts, shares near the wish, the same for one seed, damaged files refused."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.content import near_pairs, turns_of
from pytest_bfcl.extensions.training.splits import alike, families, make_split
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.splits import KINDS, PARTS, Split, is_in, read_part
from pytest_bfcl.session.evaluation import open_data


def all_entries(data: DataSet) -> list[Entry]:
    return [data.load(ref) for name in data.categories() if name != "format_sensitivity" for ref in data.index(name)]


def likenesses(entry: Entry) -> Iterator[tuple[str, str]]:
    """What two entries may have in common, said apart from the code under test."""
    number = entry.id.split("_")[-1]
    if entry.official and entry.category.startswith("multi_turn"):
        yield "number", f"multi {number}"
    if entry.official and entry.category.startswith("web_search"):
        yield "number", f"web {number}"
    if entry.official and entry.category.startswith("live"):
        yield "source", f"{entry.category} {number.split('-')[1]}"
    if entry.scenario:
        yield "scenario", entry.scenario
    if entry.category.startswith("multi_turn"):
        yield "state", json.dumps(entry.initial_config, sort_keys=True) if entry.initial_config else entry.id
    yield "question", json.dumps([m["content"] for turn in entry.question for m in turn if m["role"] == "user"])
    if not entry.category.startswith(("multi_turn", "memory", "web_search")):
        for document in entry.function:
            names = sorted((document.get("parameters") or {}).get("properties") or {})
            yield "function", f"{document['name'].replace('.', '_').lower()} {names}"


def leaks(entries: list[Entry], split: Split) -> list[tuple[str, str]]:
    """What entries of both parts have in common."""
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for entry in entries:
        for likeness in likenesses(entry):
            seen[likeness].add(split.part_of(entry.id))
    return [likeness for likeness, parts in seen.items() if len(parts) > 1]


@pytest.fixture(scope="module", params=["bundled", pytest.param("official", marks=pytest.mark.slow)])
def known(request: pytest.FixtureRequest) -> tuple[DataSet, list[Entry], Split]:
    if request.param == "official":
        request.getfixturevalue("official_dir")
    data = open_data(request.param)
    return data, all_entries(data), make_split(data, train=0.7, seed=3)


def test_nothing_alike_is_in_both_parts(known: tuple[DataSet, list[Entry], Split]) -> None:
    _, entries, split = known
    assert leaks(entries, split) == []
    assert {split.part_of(entry.id) for entry in entries} == set(PARTS)


def test_the_check_for_leaks_finds_one(known: tuple[DataSet, list[Entry], Split]) -> None:
    """Entries put into the other part at random, one at a time: whoever has anything in common is found."""
    data, entries, split = known
    groups = {each: group for group in families(entries) for each in group}
    rng = random.Random(0)
    for entry in rng.sample([each for each in entries if len(groups[each.id]) > 1], 10):
        parts = {part: {name: list(ids) for name, ids in split.parts[part].items()} for part in PARTS}
        was = split.part_of(entry.id)
        assert was is not None
        parts[was][entry.category].remove(entry.id)
        parts["test" if was == "train" else "train"].setdefault(entry.category, []).append(entry.id)
        moved = Split(data.name, data.version, data.sha256, "family", 3, 0.7, 0, parts)  # type: ignore[arg-type]
        assert leaks(entries, moved), entry.id


def test_shares_are_near_the_wish(known: tuple[DataSet, list[Entry], Split]) -> None:
    """As near as the largest family of a category lets it come."""
    _, entries, split = known
    category = {entry.id: entry.category for entry in entries}
    largest: Counter[str] = Counter()
    for group in families(entries):
        for name, count in Counter(category[each] for each in group).items():
            largest[name] = max(largest[name], count)
    for name in set(category.values()):
        train, test = (len(split.parts[part].get(name, ())) for part in PARTS)
        assert abs(train - 0.7 * (train + test)) <= max(largest[name], 2), name
    assert len(split.ids("train")) / len(entries) == pytest.approx(0.7, abs=0.08)


@pytest.mark.slow
def test_one_seed_gives_one_split_another_another(known: tuple[DataSet, list[Entry], Split]) -> None:
    data, _, split = known
    assert make_split(data, train=0.7, seed=3).sha256 == split.sha256
    other = make_split(data, train=0.7, seed=4)
    assert set(other.ids("test")) != set(split.ids("test"))


def test_strict_families_hold_the_others() -> None:
    entries = all_entries(open_data("bundled"))
    for finer, coarser in pairwise(KINDS):
        held = {each: number for number, group in enumerate(families(entries, coarser)) for each in group}
        assert all(len({held[each] for each in group}) == 1 for group in families(entries, finer))
    assert KINDS == ("family", "content", "strict")


def test_near_questions_and_the_same_calls_are_one_family_by_content() -> None:
    """Another number in the same words, and a conversation within another's."""
    entries = all_entries(open_data("bundled"))
    pairs = {frozenset((one.id, other.id)) for one, other in alike(entries)}
    assert pairs
    asked = ["\n".join(turns_of(entry)) for entry in entries]
    assert {frozenset((entries[one].id, entries[other].id)) for one, other, _ in near_pairs(asked)} <= pairs
    texts = ["the cat sat on the red mat today", "The cat, sat on the red mat -- TODAY!", "nobody asks for this"]
    assert [(one, other) for one, other, _ in near_pairs(texts)] == [(0, 1)]


def chain(links: int, groups: int) -> list[dict[str, Any]]:
    """Own entries, each sharing one function with the next: groups of so many, whatever their order."""
    made = []
    for group in range(groups):
        for link in range(links):
            names = [f"f_{group}_{link}", f"f_{group}_{link + 1}"]
            functions = [
                {"name": name, "description": "x", "parameters": {"type": "dict", "properties": {}, "required": []}}
                for name in names
            ]
            made.append({
                "id": f"multiple_{group * links + link}", "function": functions,
                "question": [[{"role": "user", "content": f"{group} {link}"}]], "possible_answer": [{names[0]: {}}],
            })  # fmt: skip
    random.Random(1).shuffle(made)
    return made


@pytest.mark.parametrize(("links", "groups", "train"), [(5, 30, 0.5), (1, 200, 0.8), (40, 5, 0.6), (3, 33, 0.1)])
def test_chains_stay_together_and_shares_come_near(tmp_path: Path, links: int, groups: int, train: float) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in chain(links, groups)))
    data = open_data(path)
    for seed in range(5):
        split = make_split(data, train=train, seed=seed)
        assert split.families == groups
        for group in range(groups):
            parts = {split.part_of(f"multiple_{group * links + link}") for link in range(links)}
            assert len(parts) == 1
        assert abs(len(split.ids("train")) - train * links * groups) <= links


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Split]:
    split = make_split(open_data("bundled"), train=0.8, seed=7)
    return tmp_path / "b.split.json", split.write(tmp_path / "b.split.json")


def test_a_file_is_read_as_it_was_written_and_never_overwritten(written: tuple[Path, Split]) -> None:
    path, split = written
    assert Split.read(path) == split
    assert read_part(f"{path}:train") == (split, "train")
    assert read_part(str(path)) == (split, "test")
    with pytest.raises(UsageError, match="is there already"):
        split.write(path)
    with pytest.raises(UsageError, match="train or test, not 'dev'"):
        read_part(f"{path}:dev")


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def apply(text: str) -> str:
        content = json.loads(text)
        change(content)
        return json.dumps(content)

    return apply


def twice(content: dict[str, Any]) -> None:
    content["parts"]["test"]["simple_python"].append(content["parts"]["train"]["simple_python"][0])


DAMAGE: dict[str, Callable[[str], str]] = {
    "cut off": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "nested": lambda text: "[" * 100_000,
    "another file": lambda text: '{"parts": 3}',
    "an id moved": changed(
        lambda c: c["parts"]["test"]["simple_java"].append(c["parts"]["train"]["simple_java"].pop())
    ),
    "an id in both": changed(twice),
    "no ids": changed(lambda c: c["parts"].update(test={"simple_python": [3]})),
    "a part missing": changed(lambda c: c["parts"].pop("test")),
    "an unknown category": changed(lambda c: c["parts"]["test"].update(nonsense=[])),
    "the data changed": changed(lambda c: c["data"].update(sha256="0" * 64)),
    "a seed that is none": changed(lambda c: c.update(seed="7")),
    "a share that is none": changed(lambda c: c.update(train=7.0)),
    "no digest": changed(lambda c: c.pop("sha256")),
    "not a number": lambda text: text.replace("0.8", "NaN"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(written: tuple[Path, Split], damage: str) -> None:
    path, _ = written
    path.write_text(DAMAGE[damage](path.read_text()))
    with pytest.raises(UsageError, match="write it again") as caught:
        Split.read(path)
    assert path.name in str(caught.value)
    with pytest.raises(UsageError, match="cannot read"):
        Split.read(path.parent)


@pytest.mark.slow
def test_only_the_data_it_was_made_of_fits(official: DataSet, tmp_path: Path) -> None:
    bundled = make_split(open_data("bundled"), train=0.8)
    with pytest.raises(UsageError, match="made of bundled"):
        bundled.check(official)
    made = make_split(official, train=0.8)
    made.check(open_data("verified"))
    assert [ref.id for ref in made.refs(official, "test")] == [
        each.id for name in official.categories() for each in official.index(name) if made.part_of(each.id) == "test"
    ]


def test_entries_made_of_others_go_with_them() -> None:
    split = make_split(open_data("bundled"), train=0.8)
    data = open_data("bundled")
    for ref in data.index("format_sensitivity")[:30]:
        original = ref.id.rsplit(":", 1)[-1]
        assert split.part_of(ref.id) == split.part_of(original) is not None
    (first, *_) = split.ids("train")
    assert split.part_of(f"{first}~upper-case") == "train"
    assert split.part_of("nobody_0") is None
    assert is_in({"own:thing_1"}, "own:thing_1")


@pytest.mark.parametrize("share", [0.0, 1.0, -1, float("nan")])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        make_split(open_data("bundled"), train=share)


def test_one_family_cannot_be_split(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in chain(4, 1)))
    with pytest.raises(UsageError, match="4 entries in 1 family"):
        make_split(open_data(path))
