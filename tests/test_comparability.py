"""No number beside another without the one question: deviations × doors, the cells written down by hand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.extensions.boards.dated_runs import read_histories
from pytest_bfcl.extensions.boards.leaderboard_page import write_leaderboard
from pytest_bfcl.extensions.boards.published import PublishedBoard, named, read_board
from pytest_bfcl.extensions.boards.ranking import published as published_section
from pytest_bfcl.extensions.boards.stability import repeat_notes
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.overview_pages import OverviewPages
from pytest_bfcl.extensions.view.pages import Pages
from pytest_bfcl.extensions.view.runs import open_runs
from pytest_bfcl.extensions.view.site import SiteLinks
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.failures import UsageError
from pytest_bfcl.reporting.markdown import write_markdown as summary_markdown
from pytest_bfcl.runs.comparability import Purpose, comparability, published_comparability
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
from pytest_bfcl.runs.merge import merge_runs
from pytest_bfcl.scoring.comparison import comparison_notes
from pytest_bfcl.scoring.gating import GateOptions, Gates, gate_lines
from pytest_bfcl.scoring.measurements import Measurement, by_model
from pytest_bfcl.scoring.summary import summarise
from tests.runs.samples import SPEC, fingerprint
from tests.scoring.samples import line

HASH = "e" * 64
DATA = open_dataset("bundled")
BASE = fingerprint(
    conditions={
        "step_limit": 20,
        "simulators": "own",
        "search": "auto",
        "rest": "auto",
        "repeat": 1,
        "seed": 0,
        "served": {"shop": {"name and version": "shop 1", "tools": "0a1b"}},
    },
    counted={SPEC: {"parallel": 1}},
    state="finished",
)


def model(**changes: Any) -> dict[str, Any]:
    return {"models": (replace(BASE.models[0], **changes),)}


def condition(**changes: Any) -> dict[str, Any]:
    return {"conditions": {**BASE.conditions, **changes}}


SPLIT = {"name": "half", "sha256": HASH, "part": "test", "entries": 3}
DEVIATIONS: dict[str, dict[str, Any]] = {
    "data": {"dataset": "own", "dataset_sha256": HASH},
    "version": {"dataset_version": "2027.1.1"},
    "verified": {"dataset": "verified", "dataset_sha256": HASH},
    "rules": {"rules": "corrected"},
    "rules version": {"rules_version": "2027"},
    "steps": condition(step_limit=3),
    "simulators": condition(simulators="reference"),
    "sample": {"selection": {"sample": 60}},
    "shard": {"selection": {"shard": "1/2"}},
    "ids": {"selection": {"ids": ["parallel_1"]}},
    "split": condition(split=SPLIT),
    "trained on": condition(trained_on=SPLIT),
    "temperature": model(parameters={"temperature": 0.7}),
    "parameter": model(parameters={"temperature": 0.001, "top_k": 5}),
    "decoder": model(decoder="hermes"),
    "template": model(template="qwen-fc"),
    "thinking": model(think="strip"),
    "system prompt": model(prompt_sha256=HASH),
    "base URL": model(base_url="http://elsewhere"),
    "release": {"plugin_version": "9.9"},
    "profile": {"profile": "openai 1"},
    "repeat": condition(repeat=3),
    "MCP tools": condition(served={"shop": {"name and version": "shop 1", "tools": "ffff"}}),
    "MCP release": condition(served={"shop": {"name and version": "shop 2", "tools": "0a1b"}}),
}
R, N, S = "refused", "noted", "same"
EXPECTED: dict[str, tuple[str, ...]] = {
    #                pair board history stability resume merge published
    "data":          (R,  R,    N,      R,        R,     R,    R),
    "version":       (R,  R,    N,      R,        R,     R,    R),
    "verified":      (R,  R,    N,      R,        R,     R,    R),
    "rules":         (N,  R,    N,      R,        R,     R,    R),
    "rules version": (R,  R,    N,      R,        R,     R,    R),
    "steps":         (R,  R,    N,      R,        R,     R,    R),
    "simulators":    (R,  R,    N,      R,        R,     R,    S),
    "sample":        (N,  R,    N,      R,        S,     R,    R),
    "shard":         (N,  R,    N,      R,        S,     R,    R),
    "ids":           (N,  R,    N,      R,        S,     R,    R),
    "split":         (N,  R,    N,      R,        R,     R,    R),
    "trained on":    (N,  N,    N,      R,        R,     R,    N),
    "temperature":   (N,  N,    N,      R,        R,     R,    N),
    "parameter":     (N,  N,    N,      R,        R,     R,    N),
    "decoder":       (N,  N,    N,      R,        R,     R,    N),
    "template":      (N,  N,    N,      R,        R,     R,    N),
    "thinking":      (N,  N,    N,      R,        R,     R,    N),
    "system prompt": (N,  N,    N,      R,        R,     R,    R),
    "base URL":      (N,  N,    N,      N,        R,     R,    S),
    "release":       (N,  N,    N,      N,        S,     S,    S),
    "profile":       (N,  N,    N,      N,        S,     S,    N),
    "repeat":        (N,  N,    N,      N,        S,     R,    N),
    "MCP tools":     (R,  R,    N,      R,        R,     R,    S),
    "MCP release":   (N,  N,    N,      N,        R,     R,    S),
}  # fmt: skip
"""What each door does with a run that differs from another in one thing alone.

``pair`` are all commands that compare two runs entry by entry (`PAIRS`). A published board was asked at its makers'
servers with the simulators of the reference, which ours equal, and has no release of ours.
"""

Door = Callable[[Fingerprint, Fingerprint, Path], str]


def stored(folder: Path, name: str, run: Fingerprint, number: int = 1) -> Path:
    with RunDirectory.create(folder / name, run) as made:
        made.append(line(f"parallel_{number}", "parallel", "passed"))
    return folder / name


def compared(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    first, second = (Measurement(name, lambda rules: {}, run) for name, run in (("a", one), ("b", other)))
    return N if comparison_notes(first, second) else S


def ranked(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    told: list[str] = []
    runs = [stored(folder, "a", one), stored(folder, "b", other)]
    write_leaderboard(runs, folder / "board", tell=told.append)
    return N if any("the same but for" in each for each in told) else S


def dated(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    later = replace(other, started_at="2099-01-01T00:00:00Z")
    found = read_histories([stored(folder, "a", one), stored(folder, "b", later)])
    return N if any("comparable" in each or "but for" in each for each in found.notes) else S


def repeated(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    return N if repeat_notes([("a", SPEC, one), ("b", SPEC, other)]) else S


def resumed(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    RunDirectory.start(stored(folder, "a", one), other).close()
    return S


def merged(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    merge_runs([stored(folder, "a", one), stored(folder, "b", other, 2)], folder / "whole")
    return S


def published(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    found = published_comparability(other, BASE.dataset_version)
    return R if found.refused else N if found.noted else S


def gated(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    """Both gates that compare: what the run prints at its end."""
    folder.mkdir(exist_ok=True)
    lines = [{**line("parallel_1", "parallel", "passed"), "output": ""}]
    with RunDirectory.create(folder / "a", one) as made:
        made.append(lines[0])
    told = []
    for options in (GateOptions(baseline="a"), GateOptions(verify=["a"])):
        gates = Gates(options)
        gates.check_conditions(other, DATA, [SPEC], folder)
        summary = summarise(lines, fingerprint=other.to_dict())
        run = Measurement("this run", lambda rules: by_model(lines, rules), other)
        verdict = gates.evaluate(summary, lines, run)
        told.append("\n".join(text for text, _ in gate_lines(verdict, options, unjudged="")))
        assert summary_markdown({**summary, "gate": verdict}).count("but for") == told[-1].count("but for")
    noted = {"the same but for" in each or "used different rules" in each for each in told}
    assert len(noted) == 1  # both say it, or neither
    return N if noted.pop() else S


def board_file(folder: Path) -> PublishedBoard:
    columns = ["Rank", "Overall Acc", "Model", "Non-Live Parallel AST"]
    place = folder / f"board-{BASE.dataset_version}.csv"
    place.write_text(f"{','.join(columns)}\n1,50%,Theirs,50%\n", encoding="utf-8")
    return read_board(place)


def begun(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    """``--bfcl-board`` before the first request."""
    named(board_file(folder).path, other)
    return published(one, other, folder)


def ended(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    """A run that kept a table: its summary and its report."""
    board, run = board_file(folder), stored(folder, "a", other)
    board.keep(run)
    opened = RunDirectory.open(run)
    summary = summarise(opened.records(), fingerprint=other.to_dict())
    board.tell(summary, opened.records())
    section = published_section(opened, ())
    assert section is not None
    return same_mark(summary["models"][SPEC]["published"], str(section.body))


def beside(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    """``leaderboard --board``."""
    told: list[str] = []
    write_leaderboard([stored(folder, "a", other)], folder / "board", tell=told.append, board=board_file(folder))
    return same_mark("\n".join(told), (folder / "board/index.html").read_text(encoding="utf-8"))


def same_mark(*texts: str) -> str:
    marks = {R if "not comparable because" in each else N if "the same but for" in each else S for each in texts}
    assert len(marks) == 1
    return marks.pop()


DOORS: dict[str, Door] = {
    "pair": compared, "leaderboard": ranked, "history": dated, "stability": repeated, "resume": resumed,
    "merge": merged, "published": published,
}  # fmt: skip
FURTHER: dict[str, tuple[str, Door]] = {
    "gates": ("pair", gated), "board named": ("published", begun), "board kept": ("published", ended),
    "leaderboard --board": ("published", beside),
}  # fmt: skip
"""Doors with the cells of another one."""


OF_EACH_ROW = tuple({row: name for name, row in EXPECTED.items()}.values())
"""One deviation for each kind of row: enough for doors that only pass on what the rule says."""
MARKED = ("sample", "steps", "verified", "system prompt", "rules")


@pytest.mark.parametrize(("door", "deviation"), [*product(DOORS, DEVIATIONS), *product(FURTHER, OF_EACH_ROW)])
def test_no_cell_is_silent(door: str, deviation: str, tmp_path: Path) -> None:
    column, ask = FURTHER.get(door) or (door, DOORS[door])
    expected = EXPECTED[deviation][list(DOORS).index(column)]
    try:
        found = ask(BASE, replace(BASE, **DEVIATIONS[deviation]), tmp_path)
    except UsageError:
        found = R
    assert found == expected


PAIRS = {
    "compare": ["compare", "a", "b"],
    "causes": ["compare", "a", "b", "--causes"],
    "verify": ["verify", "b", "--reference", "a"],
    "comment": ["comment", "b", "--against", "a"],
}
"""Commands that hold one run against another, entry by entry."""


@pytest.mark.parametrize("command", PAIRS)
@pytest.mark.parametrize("deviation", MARKED)
def test_every_command_prints_what_the_rule_says(
    command: str, deviation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, run, outcome in (("a", BASE, "passed"), ("b", replace(BASE, **DEVIATIONS[deviation]), "failed")):
        with RunDirectory.create(tmp_path / name, run) as made:
            made.append({**line("parallel_1", "parallel", outcome), "output": ""})
            made.write_summary(summarise(made.records(), fingerprint=run.to_dict()))
    capsys.readouterr()
    code = main(PAIRS[command])
    told = "".join(capsys.readouterr())
    refused = "they differ in" in told
    assert refused == (code == 2 or "Not compared with the main branch" in told)
    assert not (refused and "The score fell" in told)  # a comment still shows the run alone
    noted = "the same but for" in told or "used different rules" in told
    assert (R if refused else N if noted else S) == EXPECTED[deviation][0]


@pytest.mark.parametrize("deviation", OF_EACH_ROW)
def test_every_page_that_puts_runs_together_says_it(deviation: str, tmp_path: Path) -> None:
    other = replace(BASE, **DEVIATIONS[deviation])
    theirs = replace(other, models=(replace(other.models[0], model="openai:other@fc"),), started_at="2099-01-01")
    earlier = replace(other, started_at="1999-01-01")
    for name, run in (("a", BASE), ("b", theirs), ("c", earlier)):
        with RunDirectory.create(tmp_path / "runs" / name, run) as made:
            made.append({**line("parallel_1", "parallel", "passed"), "model": run.models[0].model})
    store = Store(open_runs([tmp_path / "runs"], tmp_path), None, board_file(tmp_path))
    mine, their, _ = store.runs.listed
    told = dict(zip(DOORS, EXPECTED[deviation], strict=True))
    for links in (Links(), SiteLinks()):  # view, site
        pages, overviews = Pages(store, links), OverviewPages(store, links)
        try:
            page = pages.compare(mine, their).decode()
            noted = "the same but for" in page or "used different rules" in page
            assert told["pair"] == (N if noted else S)
        except UsageError:
            assert told["pair"] == R
        assert told["published"] == same_mark(pages.run(their).decode())
        data = next(each.measured for each in store.summaries()[0] if each.name == mine.name)
        ranked = overviews.leaderboard(data).decode().partition('id="published"')[0]
        grouped = "openai:other@fc" not in ranked  # other data and rules have pages of their own
        refused = grouped or "is left out" in ranked
        assert told["leaderboard"] == (R if refused else N if "the same but for" in ranked else S)
        for name, made in (("stability", overviews.stability(SPEC, data)), ("history", overviews.history(data))):
            page = made.decode()
            marked = "the same but for" in page or "not comparable because" in page
            assert grouped or told[name] == (R if "left out" in page else N if marked else S), name


PURPOSES = {Purpose.MODELS: 1, Purpose.REPEATS: 3, Purpose.PARTS: 4, Purpose.SHARDS: 5}


@pytest.mark.parametrize("purpose", PURPOSES)
def test_two_deviations_are_what_the_graver_is(purpose: Purpose) -> None:
    for one, other in combinations(DEVIATIONS, 2):
        found = comparability(replace(BASE, **DEVIATIONS[one]), replace(BASE, **DEVIATIONS[other]), purpose)
        cells = {EXPECTED[name][PURPOSES[purpose]] for name in (one, other)}
        wanted = next(each for each in (R, N, S) if each in cells)
        assert (R if found.refused else N if found.noted and wanted != S else S) == wanted, (one, other)
        if purpose is Purpose.MODELS:  # every difference says what it may do to the number
            assert all(each.effect for each in (*found.refused, *found.noted)), (one, other)
        assert found.sentence.count(" → ") >= len(found.refused)


@pytest.mark.parametrize("deviation", MARKED)
@pytest.mark.parametrize("form", ["every-eval-ever", "hf-eval-results", "lm-eval", "inspect", "badge", "latex",
                                  "markdown", "official"])  # fmt: skip
def test_what_is_exported_carries_its_mark(
    form: str, deviation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = replace(BASE, **DEVIATIONS[deviation])
    folder, out = stored(tmp_path, "a", run), tmp_path / "out"
    with RunDirectory.start(folder, run) as made:
        made.write_summary(summarise(made.records(), fingerprint=run.to_dict()))
    words = ["--official"] if form == "official" else ["--format", form]
    code = main(["export", str(folder), *words, "-o", str(out)])
    if form == "hf-eval-results" and run.dataset == "official":
        assert code == 2  # its rows have no place for it
        assert "rows on the Hub cannot show this" in capsys.readouterr().err
        return
    assert code == 0
    marked = "n = 1" if form in ("badge", "hf-eval-results") else "not comparable"
    assert any(marked in text for text in texts(out))


def texts(folder: Path) -> Iterator[str]:
    """The files below a folder; archives are opened."""
    for path in folder.rglob("*"):
        if path.suffix == ".eval":
            with ZipFile(path) as log:
                yield log.read("header.json").decode()
        elif path.is_file():
            yield path.read_text(encoding="utf-8")


def test_samples_are_ranked_over_what_they_share(tmp_path: Path) -> None:
    runs = []
    for name, ids in (("a", (1, 2, 3)), ("b", (2, 3, 4))):
        run = replace(BASE, selection={"sample": 3}, conditions={**BASE.conditions, "seed": len(runs)})
        with RunDirectory.create(tmp_path / name, run) as made:
            for number in ids:
                made.append(line(f"parallel_{number}", "parallel", "passed" if number < 4 else "failed"))
        runs.append(tmp_path / name)
    with pytest.raises(UsageError, match=r"(?s)entries: sample of 3, seed 0 → sample of 3, seed 1.*--shared"):
        write_leaderboard(runs, tmp_path / "board")
    told: list[str] = []
    write_leaderboard(runs, tmp_path / "board", shared=True, tell=told.append)
    assert "ranked over the 2 entries that every run has a verdict on" in told


def test_samples_without_a_shared_entry_are_compared_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for number, name in enumerate(("a", "b")):
        runs.append(str(stored(tmp_path, name, replace(BASE, selection={"sample": 1}), number)))
    assert main(["compare", *runs, "--fail"]) == 1  # no gate takes it
    told = capsys.readouterr().out
    assert "with unpaired intervals" in told
    assert "any value" in told


FIELDS = {field.name for each in (Fingerprint, ModelFingerprint) for field in fields(each)} | {
    "fingerprint",
    "measured",
}
ASK = {"comparability", "published_comparability", "comparison_notes", "compare_measurements", "comparable_notes",
       "repeat_notes", "read_histories", "write_leaderboard", "merge_runs"}  # fmt: skip
"""The rule, and what asks it for its caller."""
TOGETHER = {"open_measurement", "find_runs", "open_runs", "compare_models", "PairTally", "pair_tallies"}
"""What opens runs to put them together, and the arithmetic of differences."""
WITHIN = {
    "extensions/causes/diagnosis.py": "diagnoses, which explain and comment chose",
    "extensions/boards/ranking.py": "contestants, which leaderboard_page chose",
    "extensions/boards/verification.py": "conducts, which served_runs chose",
    "extensions/view/store.py": "opens the store for Pages and OverviewPages",
    "scoring/comparison_rows.py": "verdicts, which comparison and ranking chose",
    "scoring/summary.py": "entries and their transforms within one run",
}
"""Modules that put together what others asked the rule for: which."""
OF_ONE_RUN = {"model", "planned", "state"}
"""Fields whose equality says which line or model is meant, not what was measured."""


def test_nobody_else_compares_runs() -> None:
    """Two measurements meet in the rule alone: no field is held against another's elsewhere, no door leaves it out."""
    root = Path(__file__).resolve().parents[1] / "pytest_bfcl"
    left_out = set()
    for path in root.rglob("*.py"):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        if name == "runs/comparability.py" or not any(word in text for word in ("ingerprint", *TOGETHER)):
            continue
        called = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                called.add(ast.unparse(node.func).rpartition(".")[2])
            elif isinstance(node, ast.Compare):
                sides = (node.left, *node.comparators)
                ends = [side.attr if isinstance(side, ast.Attribute) else "" for side in sides]
                same = {one for one, other in pairwise(ends) if one == other} & (FIELDS - OF_ONE_RUN)
                assert not same or name == "scoring/comparison.py", f"{path}:{node.lineno}"  # the rules that led
        if called & TOGETHER and not called & ASK:
            left_out.add(name)
    assert left_out == set(WITHIN)
