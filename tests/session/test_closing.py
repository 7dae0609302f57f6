"""What a run comes to at its end, and its small parts: counts, modes, sizes, a user's model in trouble."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.session.closing import (
    measurement_of,
)
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.outside import Store
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from tests.runs.samples import fingerprint, single


def test_what_gates_compare_leaves_transformed_entries_out() -> None:
    lines = [single("simple_python_1"), single("simple_python_2")]
    measured = measurement_of(None, lines, fingerprint(), ())
    assert [each["id"] for each in measured.lines(["simple_python_2"])] == ["simple_python_2"]


def test_what_a_process_keeps(tmp_path: Path) -> None:
    notes: list[str] = []
    memory = Store()
    assert (memory.journals, memory.journal, memory.archive("web")) == (False, None, None)
    assert memory.snapshots("m", 1) is memory.snapshots("m", 1) is not memory.snapshots("m", 2)
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "old.jsonl").write_text("torn")
    store = Store(tmp_path, "gw1", notes.append)
    assert store.journals
    assert store.archive("web") == tmp_path / "web"
    journal = store.journal
    assert journal is store.journal is not None
    assert len(notes) == 1
    assert notes[0].endswith("; the reply on it is asked for again")
    store.snapshots("m", 2).save("kv", "s", "e", {"x": 1})
    store.close()
    store.close()
    assert store.journal is not journal
    assert Store(tmp_path).snapshots("m", 2).load("kv", "s") == {"x": 1}


class Data:
    """A data set that does as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def load(self, ref: Any) -> Any:
        if self.error is not None:
            raise self.error
        return "loaded"

    def depends_on(self, ref: Any) -> Iterable[str]:
        return self.load(ref) and ["stage"]

    def turns(self, ref: Any) -> int:
        return 3


def trial(item: Any, data: Any) -> Trial:
    return Trial.of(item, Contender.of_spec(parse_spec("oracle:"), Settings()), data, 2)


def test_trials_of_references_and_of_entries() -> None:
    index = open_dataset("bundled").index
    stateful, memory, plain = (index(name)[0] for name in ("multi_turn_base", "memory_kv", "simple_python"))
    assert [trial(ref, Data()).demands()[1] for ref in (stateful, memory, plain)] == [9.0, 4.0, 1.0]
    assert [trial(ref, Data()).depends_on for ref in (memory, plain)] == [["stage"], []]
    assert trial(memory, Data(HarnessError("data", "x"))).depends_on == []
    assert trial(plain, Data()).place == f"{plain.path}, line {plain.line}"
    for error, said in (
        (HarnessError("data", "mine"), "mine"),
        (KeyError("k"), f"{plain.id} cannot be loaded: KeyError: 'k'"),
    ):
        with pytest.raises(HarnessError) as caught:
            trial(plain, Data(error)).load()
        assert str(caught.value) == said
    entry = Entry(id="memory_kv_0-a-0", category="memory_kv", question=[[]], depends_on=["s"])
    given = trial(entry, Data())
    assert (given.load(), given.depends_on, given.place) == (entry, ["s"], None)
    assert (
        trial(Entry(id="multi_turn_base_0", category="multi_turn_base", question=[[], []]), Data()).demands()[1] == 6.0
    )
    assert str(given.key) == "memory_kv_0-a-0"
    assert given.key_of("other")[1:3] == ("oracle:", 2)
