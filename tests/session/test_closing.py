"""What a run comes to at its end, and its small parts: counts, modes, sizes, a user's model in trouble."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.session import closing
from pytest_bfcl.session.closing import (
    RunInterrupted,
    RunResult,
    got_an_answer,
    handed_over,
    measurement_of,
    settled_models,
    sizes_by_category,
    with_facts,
)
from pytest_bfcl.session.contender import Contender, UsersModelTrouble
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.session.outside import Outside, Store
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from tests.runs.samples import fingerprint, single

FC, PROMPT = ModelFingerprint("a:m@fc", "fc"), ModelFingerprint("a:m@prompt", "prompt")


@pytest.mark.parametrize(
    ("models", "asked", "mode", "settled", "notes"),
    [
        ([FC], [("a:m@prompt", "prompt")], "auto", ["a:m@prompt"],
        ["mode auto came to prompt: results are a:m@prompt"]),
        ([FC], [("a:m@fc", "fc")], "auto", ["a:m@fc"], []), ([FC], [("a:m@prompt", "prompt")], "fc", ["a:m@fc"], []),
        ([FC], [("b:m@prompt", "prompt")], "auto", ["a:m@fc"], []), ([FC], [], "auto", ["a:m@fc"], []),
        ([FC, PROMPT], [("a:m@fc", "fc"), ("a:m@prompt", "prompt")], "auto", ["a:m@fc", "a:m@prompt"], []),
    ],
)  # fmt: skip
def test_modes_that_auto_came_to(models: Any, asked: Any, mode: Any, settled: list[str], notes: list[str]) -> None:
    found, told = settled_models(models, asked, Settings(mode=mode))
    assert ([model.model for model in found], told) == (settled, notes)


def test_scored_entries_are_counted_by_category() -> None:
    entries = [("a", "simple_python"), ("b", "simple_python"), ("c", "live_simple"), ("d", "memory_kv_prereq"),
               ("a~shuffled", "simple_python")]  # fmt: skip
    assert sizes_by_category(entries, ()) == {"simple_python": 3, "live_simple": 1}
    from pytest_bfcl.dataset.transforms import is_transformed

    plain = [entry for entry, _ in entries if not is_transformed(entry, ("shuffled",))]
    assert sum(sizes_by_category(entries, ("shuffled",)).values()) == len(plain) - 1


@pytest.mark.parametrize(("price", "seconds", "cost"), [(None, 3600.0, None), (2.0, 1800.0, 1.0), (0.0, 10.0, 0.0)])
def test_what_the_machine_cost(price: float | None, seconds: float, cost: float | None) -> None:
    summary: Any = with_facts({}, {}, Settings(gpu_hour_usd=price), seconds)  # type: ignore[typeddict-item]
    assert summary == ({} if cost is None else {"machine_cost_usd": cost})


@pytest.mark.parametrize(("cost", "latency", "each"), [(None, 1.8, 1.0), (0.5, 1.8, None), (None, None, None)])
def test_a_thousand_requests_of_a_machine_cost_their_latency(cost: object, latency: object, each: object) -> None:
    model = {"cost_usd": cost, "latency": {"mean": latency}}
    summary: Any = with_facts({"models": {"m": model}}, {}, Settings(gpu_hour_usd=2.0), 10.0)  # type: ignore[typeddict-item, dict-item]
    assert summary["models"]["m"].get("cost_per_1000_usd") == each


def test_lines_are_handed_over_whole_or_as_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "HELD_RECORDS", 2)
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        for number, kind in ((1, list), (2, list), (3, object)):
            run.append(single(f"simple_python_{number}"))
            found = handed_over(run)
            assert len(found) == number
            assert isinstance(found, list) is (kind is list)


def test_what_gates_compare_leaves_transformed_entries_out() -> None:
    lines = [single("simple_python_1"), single("simple_python_2")]
    measured = measurement_of(None, lines, fingerprint(), ())
    assert [each["id"] for each in measured.lines(["simple_python_2"])] == ["simple_python_2"]


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ({"outcome": "skipped"}, True),
        ({"outcome": "passed"}, True),
        ({"outcome": "error", "reason": "adapter:timeout"}, False),
    ],
)
def test_whether_anything_came_back(line: Any, answered: bool) -> None:
    assert got_an_answer({"output": None, "reason": None, "tag": None, **line}) is answered


def fixture_trouble(text: str = "the model fixture raised ValueError: line 3", kind: str = "fixture") -> AdapterError:
    return AdapterError(kind, text)


@pytest.mark.parametrize(("answered", "needed"), [(False, 5), (True, 25)])
def test_a_users_model_that_always_fails_alike(answered: bool, needed: int) -> None:
    trouble = UsersModelTrouble()
    if answered:
        trouble.answered()
    for number in range(needed - 1):
        trouble.failed(fixture_trouble(f"the model fixture raised ValueError: line {number}"))
        trouble.failed(fixture_trouble(kind="timeout"))
    assert trouble.reason is None
    trouble.failed(fixture_trouble())
    assert (
        trouble.reason
        == f"the model fixture raised ValueError: line 3; {needed} entries in a row ended with this error"
    )
    trouble.failed(fixture_trouble())
    assert str(needed) in trouble.reason


def test_other_failures_and_answers_begin_the_count_anew() -> None:
    trouble = UsersModelTrouble()
    for each in [fixture_trouble()] * 4 + [fixture_trouble("another")] + [fixture_trouble()] * 4:
        trouble.failed(each)
    assert trouble.reason is None
    trouble.answered()
    for _ in range(24):
        trouble.failed(fixture_trouble())
    assert trouble.reason is None


def test_counts_of_a_result() -> None:
    lines = [single("simple_python_1"), single("simple_python_2", valid=False),
    {**single("simple_python_3"), "outcome": "error"},
             {**single("memory_kv_prereq_1"), "category": "memory_kv_prereq"},
             {**single("live_simple_1"), "category": "live_simple"}]  # fmt: skip
    result = RunResult(lines, {}, fingerprint())  # type: ignore[arg-type]
    assert result.counts == {"simple_python": (1, 2), "live_simple": (1, 1)}
    assert repr(result) == "<RunResult 5 records>"
    assert repr(RunResult([], {}, fingerprint(), Path("x"))) == "<RunResult 0 records in x>"  # type: ignore[arg-type]
    assert RunInterrupted(result).result is result


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


def test_what_conversations_reach_is_opened_once_and_anew_after_the_end() -> None:
    data, other = open_data("bundled"), open_data("bundled")
    outside = Outside(Settings(), Store())
    web, plain = (data.load(data.index(name)[0]) for name in ("web_search_base", "simple_python"))
    search, services = outside.search(web, data), outside.services(data)
    assert outside.search(plain, data) is None
    assert (outside.search(web, data), outside.services(data)) == (search, services)
    assert outside.services(other) is not services
    outside.close()
    assert outside.search(web, data) is not search
    assert outside.services(data) is not services
    outside.close()
    given = object()
    lent = Outside(Settings(search="serpapi"), Store(), given)
    contender = Contender.of_spec(parse_spec("oracle:@fc"), Settings())
    assert lent.search(web, data) is given
    assert lent.skip_reason("web_search_base", data, contender) is None
    lent.close()
