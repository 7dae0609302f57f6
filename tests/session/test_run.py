"""A run by plain calls: what is planned, kept, counted, settled and judged, whoever feeds it; and its small parts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import FailureTag, HarnessError, UsageError, Verdict
from pytest_bfcl.models import parse_spec
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.runs.results import error_record, result_record
from pytest_bfcl.scoring.gating import GateOptions, Gates
from pytest_bfcl.session.closing import got_an_answer, measurement_of, settled_models, sizes_by_category, with_facts
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.outside import Store
from pytest_bfcl.session.run import Run
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn
from tests.runs.samples import fingerprint, single

IDS = [f"simple_python_{number}" for number in range(4)]
MODEL = "oracle:@fc"
BUNDLED = open_data("bundled")


@dataclass
class Data:
    """The bundled set, as a run asks for it."""

    dataset: DataSet

    @property
    def measured(self) -> DataSet:
        return self.dataset

    def category_of(self, entry_id: str) -> str | None:
        ref = self.dataset.find(entry_id)
        return ref.category if ref else None

    def selection_facts(self) -> dict[str, Any]:
        return {}


def run_at(
    path: Path | None, *, settings: Settings | None = None, model: str = MODEL, info: Any = None,
    writes: bool = True, **gates: Any
) -> Run:  # fmt: skip
    data, settings = Data(BUNDLED), settings or Settings()
    contender = Contender.of_spec(parse_spec(model), settings, data=data.dataset)
    asked = Gates(GateOptions(**gates))
    return Run(
        data, [contender], settings, EarlierParts.read(path), path=path, gates=asked, model_info=info, writes=writes
    )


def line(entry_id: str, passed: bool = True, model: str = MODEL, mode: str = "fc", **more: Any) -> Any:
    said = [Turn(steps=[Step(Reply(text="said"))])]
    transcript = Transcript(entry_id, "simple_python", model, mode, turns=said)
    verdict = Verdict(passed, None if passed else FailureTag.WRONG_ANSWER, None if passed else "value_error:string")
    entry = BUNDLED.entry(entry_id)
    return result_record(entry, transcript, verdict, verdict) | more


def failed_request(entry_id: str) -> Any:
    return error_record(entry_id, "simple_python", MODEL, "fc", HarnessError("worker_crash", "gone").verdict)


def filled(run: Run, *lines: Any, stopped: str | None = None) -> Run:
    """Planned, opened, fed, ended and closed."""
    run.plan(((name, "simple_python") for name in IDS), len(IDS) - len(run.earlier.settled))
    run.open()
    for each in lines:
        run.take(each)
    run.end(stopped or run.unanswered())
    run.close()
    run.release()
    return run


def summary_of(run: Run) -> Any:
    assert run.summary is not None
    return run.summary


def numbers(run: Run) -> Any:
    return summary_of(run)["models"][MODEL]["categories"]["simple_python"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_run_in_memory_and_one_on_disk_come_to_the_same(tmp_path: Path, kept: bool) -> None:
    told: list[str] = []
    run = run_at(tmp_path / "run" if kept else None, fail_under=["simple_python=50"])
    run.listeners.append(lambda record, text: told.append(record["id"]))
    filled(run, *(line(name, passed=name != IDS[0]) for name in IDS))
    result = run.result(None, run.exit_code(run.stored_code))
    assert told == IDS
    assert len(run._held) == (0 if kept else 4), "stored lines are not held, too"
    assert result.counts == {"simple_python": (3, 4)}
    assert result.summary["gate"]["verdict"] == "passed"
    assert (result.exit_code, run.stored_code, result.fingerprint.state) == (0, 1, "finished")
    assert (result.path is not None) == kept == (tmp_path / "run" / "summary.json").is_file()


def test_a_run_gone_on_with_is_planned_whole_and_ends_alike(tmp_path: Path) -> None:
    filled(run_at(tmp_path), line(IDS[0]), line(IDS[1], passed=False), stopped="budget")
    facts = json.loads((tmp_path / "run.json").read_text())
    assert (facts["planned"], facts["state"]) == (4, "stopped:budget")
    filled(run_at(tmp_path), line(IDS[2]), line(IDS[3]))
    again = filled(run_at(tmp_path))  # nothing is left to ask
    assert again.fingerprint().planned == 4
    assert again.stored_code == 1
    assert numbers(again)["passed"] == 3


def test_what_only_errors_came_of_is_stopped_and_judged_by_no_gate(tmp_path: Path) -> None:
    run = filled(run_at(tmp_path, fail_under=["simple_python=1"]), *map(failed_request, IDS))
    assert run.fingerprint().state == "stopped:no request got an answer"
    assert summary_of(run)["gate"]["verdict"] == "none"
    again = run_at(tmp_path)
    assert again.is_part is False
    assert filled(again, stopped=again.unanswered()).fingerprint().state == "stopped:no request got an answer"
    # An answer of an earlier part is one.
    assert filled(run_at(tmp_path), line(IDS[0])).unanswered() is None
    assert filled(run_at(tmp_path), *map(failed_request, IDS[1:])).fingerprint().state == "finished"
    unusable = {**line(IDS[0]), "outcome": "error", "tag": "HARNESS_ERROR", "reason": "harness:data"}
    assert filled(run_at(None), unusable).unanswered() is None, "nothing was sent for it, so no endpoint failed"


def test_the_mode_that_auto_came_to_is_written_down(tmp_path: Path) -> None:
    run = filled(run_at(tmp_path), *(line(name, model="oracle:@prompt", mode="prompt") for name in IDS))
    (model,) = RunDirectory.open(tmp_path).fingerprint.models
    assert (model.model, model.mode) == ("oracle:@prompt", "prompt")
    assert run.notes == ["mode auto came to prompt: results are oracle:@prompt"]
    fixed = filled(run_at(None, settings=Settings(mode="fc")), line(IDS[0]))
    assert fixed.notes == []


def test_money_and_skips_are_counted() -> None:
    run, free = run_at(None, settings=Settings(budget_usd=1.0)), run_at(None)
    for each in (run, free):
        each.take(line(IDS[0], cost_usd=0.5))
        assert each.spent_out is None
        each.take(line(IDS[1], cost_usd=0.5, outcome="skipped", detail={"error": "not here"}))
    assert (run.spent_out, free.spent_out) == ("budget of 1 USD reached (1.0000 spent)", None)
    run.take(line(IDS[2], passed=False))
    assert run.skips == {"not here": 1}
    assert run.counts == {"passed": 1, "skipped": 1, "failed": 1}


def test_refusals_come_before_the_first_line(tmp_path: Path) -> None:
    run = run_at(tmp_path, fail_under=["live=1"])
    with pytest.raises(UsageError, match="cannot be met, nothing was sent"):
        run.refuse_unreachable(dict.fromkeys(IDS, "simple_python"), lambda category: None)
    assert not (tmp_path / "run.json").exists()
    filled(run_at(tmp_path), *map(line, IDS))
    with pytest.raises(UsageError, match="it measured something else"):
        run_at(tmp_path, settings=Settings(temperature=1.0)).refuse_other()
    assert run_at(None, settings=Settings(sinks=("nosuch",)), writes=False).on_answer is None, "a worker has no sinks"


def test_a_full_disk_hides_nothing_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_at(tmp_path)
    run.open()
    run.take(line(IDS[0]))

    def full(*_: object) -> None:
        raise HarnessError("storage", "no space left")

    monkeypatch.setattr(RunDirectory, "write_summary", full)
    run.end(None)
    run.close()
    assert numbers(run)["passed"] == 1
    assert "no space left" in str(run.unkept)
    run.release()


def test_the_summary_is_ready_with_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new run reads nothing back; an entry with a second line, or an earlier part, is counted by what is stored."""
    monkeypatch.setattr(RunDirectory, "records", lambda *_: pytest.fail("lines were read back"))
    run = filled(run_at(tmp_path / "new"), *(line(name, passed=name != IDS[1]) for name in IDS))
    monkeypatch.undo()
    stored = filled(run_at(tmp_path / "new"))
    assert summary_of(run)["models"] == summary_of(stored)["models"]
    twice = filled(run_at(tmp_path / "twice"), line(IDS[0], passed=False), *map(line, IDS))
    assert (numbers(twice)["passed"], numbers(twice)["failed"], twice.counts["failed"]) == (4, 0, 1)
    repeated = filled(run_at(tmp_path / "repeats"), line(IDS[0]), line(IDS[1]), line(IDS[1], repeat=2))
    assert numbers(repeated)["passed"] == 3


@pytest.mark.parametrize(
    ("lines", "judge", "verdict"), [(IDS, True, "passed"), (IDS, False, "none"), ([], True, "none")]
)
def test_a_gate_judges_what_was_measured(lines: list[str], judge: bool, verdict: str) -> None:
    run = run_at(None, fail_under=["simple_python=1"])
    run.open()
    for name in lines:
        run.take(line(name))
    run.end(None)
    assert run.close(judge=judge)["gate"]["verdict"] == verdict


@pytest.mark.parametrize(("planned", "entries"), [(IDS, 4), (IDS[:1], 2), ([], 2)])
def test_entries_that_nobody_planned_are_counted_too(planned: list[str], entries: int) -> None:
    run = run_at(None)
    run.plan(((name, "simple_python") for name in planned), len(planned))
    run.open()
    for name in IDS[:2]:
        run.take(line(name))
    run.end(None)
    run.close()
    assert numbers(run)["planned"] == entries


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


class Obedient:
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
    assert [trial(ref, Obedient()).demands()[1] for ref in (stateful, memory, plain)] == [9.0, 4.0, 1.0]
    assert [trial(ref, Obedient()).depends_on for ref in (memory, plain)] == [["stage"], []]
    assert trial(memory, Obedient(HarnessError("data", "x"))).depends_on == []
    assert trial(plain, Obedient()).place == f"{plain.path}, line {plain.line}"
    for error, said in (
        (HarnessError("data", "mine"), "mine"),
        (KeyError("k"), f"{plain.id} cannot be loaded: KeyError: 'k'"),
    ):
        with pytest.raises(HarnessError) as caught:
            trial(plain, Obedient(error)).load()
        assert str(caught.value) == said
    entry = Entry(id="memory_kv_0-a-0", category="memory_kv", question=[[]], depends_on=["s"])
    given = trial(entry, Obedient())
    assert (given.load(), given.depends_on, given.place) == (entry, ["s"], None)
    assert (
        trial(Entry(id="multi_turn_base_0", category="multi_turn_base", question=[[], []]), Obedient()).demands()[1]
        == 6.0
    )
    assert str(given.key) == "memory_kv_0-a-0"
    assert given.key_of("other")[1:3] == ("oracle:", 2)


def test_what_answered_and_what_failed_is_written_down(tmp_path: Path) -> None:
    """Servers of entries in the run's facts; failed entries in a file of expected failures, which then fail nothing."""
    served = {"extra": {"served_by": {"server": "shop", "tools": "t"}}}
    run = filled(run_at(tmp_path / "run"), line(IDS[0], **served), line(IDS[1], passed=False), line(IDS[2]))
    assert run.fingerprint().conditions["served"] == {"shop": {"tools": "t"}}
    assert "served" not in filled(run_at(tmp_path / "other"), line(IDS[0])).fingerprint().conditions
    run.write_expected("failures.json", tmp_path)
    assert run.notes[-1] == "1 expected failures written to failures.json"
    content = json.loads((tmp_path / "failures.json").read_text())
    assert [each["id"] for each in content["failures"]] == [IDS[1]]
    known = filled(run_at(None, expected=content), line(IDS[1], passed=False))
    assert (known.exit_code(known.stored_code), known.stored_code) == (0, 1)


@pytest.mark.parametrize("same", [True, False])
def test_a_gate_is_held_against_the_run_that_is_measured(same: bool, tmp_path: Path) -> None:
    filled(run_at(tmp_path / "before"), *map(line, IDS))
    gates = {"baseline": "before"} if same else {"baseline": "before", "noninferior": ["1"]}
    run = run_at(tmp_path / "now", **gates)
    run.check_gates([MODEL], tmp_path)
    known = dict.fromkeys(IDS, "simple_python")
    if same:
        run.refuse_unreachable(known, lambda category: None)
        filled(run, *map(line, IDS))
        assert summary_of(run)["gate"]["verdict"] == "passed"
    else:
        with pytest.raises(UsageError, match="--bfcl-noninferior 1 cannot be met"):
            run.refuse_unreachable(known, lambda category: None)
    with pytest.raises(UsageError, match="before has no model 'x'"):
        run_at(tmp_path / "other", baseline="before#x").check_gates([MODEL], tmp_path)
    run_at(None, fail_under=["simple_python=5"]).check_gates([MODEL], tmp_path / "nowhere")  # nothing is compared
    ungated = run_at(None)
    ungated.data = None  # type: ignore[assignment]
    ungated.check_gates([MODEL])  # data may not be known yet, and take long to read


def test_a_refused_run_leaves_no_directory_and_an_earlier_one_stays(tmp_path: Path) -> None:
    for _ in range(2):
        run = run_at(tmp_path / "run")
        run.plan([], 0)
        assert run.open() is run.open()
        run.withdraw()
        run.withdraw()
        assert run.directory is None
        assert not (tmp_path / "run" / "run.json").exists()
    filled(run_at(tmp_path / "run"), line(IDS[0]))
    again = run_at(tmp_path / "run")
    again.plan([(IDS[1], "simple_python")], 1)
    again.open()
    assert (again.planned, again.fingerprint().planned, again.is_part) == (2, 2, True)
    again.plan([(IDS[2], "simple_python")], 3)
    assert (again.planned, again.fingerprint().planned) == (4, 4)
    again.release()
    assert (run_at(None).is_part, run_at(None).planned) == (False, 0)


def test_the_first_line_opens_the_run(tmp_path: Path) -> None:
    run = run_at(tmp_path / "run")
    run.take(line(IDS[0]))
    assert [each["id"] for each in RunDirectory.open(run.folder).records()] == IDS[:1]
    run.release()


def test_a_switch_is_written_down_at_once(tmp_path: Path) -> None:
    run = run_at(tmp_path / "run", model="oracle:")
    run.switched(run.contenders[0])
    run.plan([], 2)
    run.open()
    run.contenders[0].settle("prompt")
    run.switched(run.contenders[0])
    assert [each.mode for each in RunDirectory.open(tmp_path / "run").fingerprint.models] == ["prompt"]
    run.release()
    assert run_at(None).on_answer is None


@pytest.mark.parametrize(
    ("reason", "output", "answered"),
    [
        (None, "x", {"passed", "failed", "skipped"}),
        ("reply:length", "", {"passed", "skipped"}),
        ("harness:data", None, {"passed", "failed", "error", "skipped"}),
    ],
)
def test_which_lines_are_answers(reason: str | None, output: str | None, answered: set[str]) -> None:
    told = {
        each: line(IDS[0], outcome=each, reason=reason, output=output)
        for each in ("passed", "failed", "error", "skipped")
    }
    assert {outcome for outcome, each in told.items() if got_an_answer(each)} == answered


def test_what_a_summary_has_of_models_and_the_machine() -> None:
    info = {"models": {"m": {"name": "M", "headers": {"A": "b"}}}}
    known = {"m": (None, 2.0), "n": (1.0, None), "o": (1.0, 2.0)}
    summary: Any = {name: {"cost_usd": usd, "latency": {"mean": mean}} for name, (usd, mean) in known.items()}
    found: Any = with_facts({"models": summary}, info, Settings(gpu_hour_usd=3.0), 61.0)  # type: ignore[typeddict-item]
    assert with_facts({}, {}, Settings(), 60.0) == {}  # type: ignore[typeddict-item]
    assert (found["model_info"], found["machine_cost_usd"]) == ({"m": {"name": "M"}}, 0.050833)
    assert summary_of(filled(run_at(None, info=info), line(IDS[0])))["model_info"] == {"m": {"name": "M"}}
    assert [each.get("cost_per_1000_usd") for each in summary.values()] == [1.666667, None, None]
    entries = [("a", "parallel"), ("b~t", "parallel"), ("c", "memory_kv_prereq"), ("d", "rest")]
    assert sizes_by_category(entries, ["t"]) == {"parallel": 1, "rest": 1}


@pytest.mark.parametrize(
    ("mode", "models", "noted"),
    [("auto", ["openai:tiny@prompt", "oracle:@prompt"], 1), ("fc", ["openai:tiny@fc", "oracle:@prompt"], 0)],
)
def test_auto_is_settled_by_the_lines(mode: Any, models: list[str], noted: int) -> None:
    """A model in both modes is two."""
    of_run = fingerprint(
        models=(ModelFingerprint("openai:tiny@fc", "fc"), ModelFingerprint("oracle:@prompt", "prompt"))
    )
    asked: Any = {("openai:tiny@prompt", "prompt"), ("oracle:@fc", "fc"), ("oracle:@prompt", "prompt")}
    found, notes = settled_models(of_run.models, asked, Settings(mode=mode))
    assert ([each.model for each in found], len(notes)) == (models, noted)
