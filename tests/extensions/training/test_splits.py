"""Splits: no family in both parts, shares near the wish, the same for one seed, damaged files refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.splits import entries_of, families, make_split
from pytest_bfcl.failures import UsageError
from pytest_bfcl.judging.entries import entry_of
from pytest_bfcl.selection.splits import KINDS, By, Split, is_in, read_part
from pytest_bfcl.session.evaluation import open_data

BUNDLED = open_data("bundled")


def asked(question: str, name: str = "plant", *parameters: str) -> Entry:
    """A single-turn entry."""
    properties = {each: {"type": "string", "description": "x"} for each in parameters}
    document = {"name": name, "description": "x", "parameters": {"type": "dict", "properties": properties}}
    return entry_of({
        "question": [[{"role": "user", "content": question}]], "function": [document],
        "possible_answer": [{name: {}}],
    })  # fmt: skip


SAID = "Please water the old fern next to the window with two cups today"
ONE, OTHER = BUNDLED.entry("multi_turn_base_0"), BUNDLED.entry("multi_turn_base_9")
NONE: tuple[By, ...] = ()
PAIRS: dict[str, tuple[Entry, Entry, tuple[By, ...]]] = {
    "one question": (asked(SAID, "a"), asked(SAID, "b"), KINDS),
    "one function": (asked("x", "garden.Plant", "a", "b"), asked("y", "garden_plant", "b", "a"), KINDS),
    "one name": (asked("x", "plant", "a"), asked("y", "plant", "b"), ("strict",)),
    "nearly one question": (asked(SAID, "a"), asked(f"{SAID.upper()}!", "b"), ("content", "strict")),
    "nothing": (asked("x", "a"), asked("y", "b"), NONE),
    "one state": (ONE, OTHER.model_copy(update={"initial_config": ONE.initial_config, "function": []}), KINDS),
    "one simulator": (ONE, ONE.model_copy(update={
        "initial_config": {"x": 1}, "question": OTHER.question, "possible_answer": OTHER.possible_answer,
    }), ("strict",)),
    "calls of another": (ONE, ONE.model_copy(update={
        "initial_config": {"x": 1}, "question": OTHER.question, "function": [],
        "possible_answer": [*(ONE.possible_answer or ()), ["ls()"]],
    }), ("content", "strict")),
}  # fmt: skip


@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("name", PAIRS)
def test_what_makes_a_family(name: str, by: By) -> None:
    one, other, together = PAIRS[name]
    found = families([one, other.model_copy(update={"id": f"{other.category}_77"})], by)
    assert len(found) == (1 if by in together else 2)


@pytest.mark.slow
@pytest.mark.parametrize(("by", "count"), [("family", 1_315), ("content", 1_258), ("strict", 809)])
def test_official_families(official: DataSet, by: By, count: int) -> None:
    """As many as docs/splits.md says; numbers, sources and scenarios link entries."""
    found = families(entries_of(official), by)
    assert len(found) == count
    family = {each: number for number, group in enumerate(found) for each in group}
    assert family["multi_turn_base_5"] == family["multi_turn_miss_func_5"] == family["multi_turn_long_context_5"]
    assert family["web_search_base_3"] == family["web_search_no_snippet_3"]
    assert family["live_simple_4-3-0"] == family["live_simple_5-3-1"]
    assert family["memory_kv_0-customer-0"] == family["memory_vector_3-customer-3"]
    assert family["web_search_base_3"] != family["live_simple_4-3-0"]


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


def chained(links: int, groups: int, tmp_path: Path) -> DataSet:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in chain(links, groups)))
    return open_data(path)


@pytest.mark.parametrize(("links", "groups", "train"), [(5, 30, 0.5), (1, 200, 0.8), (40, 5, 0.6), (3, 33, 0.1)])
def test_chains_stay_together_and_shares_come_near(tmp_path: Path, links: int, groups: int, train: float) -> None:
    data, seen = chained(links, groups, tmp_path), set()
    for seed in range(5):
        split = make_split(data, train=train, seed=seed)
        assert split.families == groups
        for group in range(groups):
            assert len({split.part_of(f"multiple_{group * links + link}") for link in range(links)}) == 1
        assert abs(len(split.ids("train")) - train * links * groups) <= links
        assert make_split(data, train=train, seed=seed).sha256 == split.sha256
        seen.add(split.sha256)
    assert len(seen) == 5


def test_one_family_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="4 entries in 1 family"):
        make_split(chained(4, 1, tmp_path))


def test_a_damaged_line_is_named_and_never_left_out_silently(tmp_path: Path) -> None:
    chained(1, 9, tmp_path)
    with (tmp_path / "own.jsonl").open("a") as file:
        file.write('{"id": "x\n')
    with pytest.raises(UsageError, match=r"own\.jsonl:10: not JSON: .*\n.*pytest-bfcl validate"):
        make_split(open_data(tmp_path / "own.jsonl"))


@pytest.mark.parametrize("share", [0.0, 1.0, -1, float("nan")])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        make_split(BUNDLED, train=share)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> Split:
    return make_split(BUNDLED, train=0.8, seed=7)


@pytest.fixture
def written(made: Split, tmp_path: Path) -> tuple[Path, Split]:
    return tmp_path / "b.split.json", made.write(tmp_path / "b.split.json")


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
    bundled = make_split(BUNDLED, train=0.8)
    with pytest.raises(UsageError, match="made of bundled"):
        bundled.check(official)
    made = make_split(official, train=0.8)
    made.check(open_data("verified"))
    assert [ref.id for ref in made.refs(official, "test")] == [
        each.id for name in official.categories() for each in official.index(name) if made.part_of(each.id) == "test"
    ]


def test_entries_made_of_others_go_with_them() -> None:
    split = make_split(BUNDLED)
    for ref in BUNDLED.index("format_sensitivity")[:30]:
        original = ref.id.rsplit(":", 1)[-1]
        assert split.part_of(ref.id) == split.part_of(original) is not None
    (first, *_) = split.ids("train")
    assert split.part_of(f"{first}~upper-case") == "train"
    assert split.part_of("nobody_0") is None
    assert is_in({"own:thing_1"}, "own:thing_1")
