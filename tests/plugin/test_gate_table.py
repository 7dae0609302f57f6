"""Command lines with gates: the exit code of each, and the sentence that says why (CONTRACTS §7: a gate that is asked
for always speaks)."""

from __future__ import annotations

import shutil

import pytest

from tests.distributed import WORKERS

from .conftest import Project, question, write_lines

FILES = "bfcl/simple_python.jsonl bfcl/multiple.jsonl"
ALONE = "-m simple_python"
WHOLE = "[[]n = {}, all of the full set, smallest *]"
NO_ENTRY = "*a gate is asked for, and no entry was collected that it could judge: *"
NOTHING = "*cannot be met, nothing was sent:*"
SHORT = {
    "-U": "--bfcl-fail-under", "--allow": "--bfcl-allow-missing", "WEB": "--bfcl-data web --bfcl-search replay",
}  # fmt: skip
"""Short words of the table."""
TABLE: list[tuple[str, int, str]] = [
    # of simple_python 3 of 4 entries pass, of multiple 2 of 2, of live_simple 3 of 3, of irrelevance 2 of 2
    # -- no entry is among what pytest was given
    (". -U non_live=99", 4, NO_ENTRY),
    ("tests --bfcl-baseline good", 4, NO_ENTRY),
    ("tests", 0, "*1 passed*"),
    # -- beside other tests
    (f"{FILES} tests -U simple_python=75", 0, "gates: PASSED, 2 of 2 met"),
    (f"{FILES} failing.py -U simple_python=75", 1, "gates: met, but 1 other tests failed"),
    # -- thresholds over the full set, and over parts of it
    ("-U simple_python=75", 0, f"gate met: simple_python is 75.00 %*met by 0.00 points {WHOLE.format(4)}"),
    ("-k simple_python_0 -U simple_python=1", 1, "gate MISSED: *[[]n = 1, a part: 25.0 % of the full set, *"),
    ("--bfcl-shard 1/2 -U entries=1", 0, "gate met: *[[]n = 6, a part: 54.5 % of the full set, *"),
    # -- the plain share of right entries
    ("-U entries=90.9", 0, f"gate met: entries is 90.91 %*{WHOLE.format(11)}"),
    # -- numbers that are no percentages
    ("-U simple_python=0.7", 4, "*0.7 would be less than one percent; write simple_python=70 for 70 %"),
    # -- what was not selected, or not run
    (f"{ALONE} -U overall=70 --allow", 4, NOTHING),
    (f"{ALONE} -U non_live=1", 4, "*not selected: multiple (--bfcl-allow-missing accepts that)"),
    (f"{ALONE} -U non_live=1 --allow", 0, "gate met: non_live *(without *) [[]n = 4, a part: 66.7 %*"),
    ("-p skip_live -U live=1", 1, "gate MISSED: live: not run: live_simple*"),
    ("-p skip_live -U live=1 --allow", 1, "gate MISSED: live: nothing was measured: *"),
    ("-p skip_live -m live --bfcl-expected known.json", 1, "gate MISSED: nothing was measured: no entry has a verdict"),
    ("WEB -m web_search -U web_search=90", 4, "*every entry would be skipped: *"),
    ("WEB -U web_search=90 --allow", 4, "*web_search_base will be skipped (*"),
    # -- baselines and expected failures
    ("--bfcl-baseline good", 0, f"gate met: all: -9.09 points *{WHOLE.format(11)}"),
    ("--bfcl-out good --bfcl-baseline copied", 4, "*--bfcl-baseline copied is the run itself*"),
    ("--model replay:good --bfcl-baseline good", 4, "*is the run itself*"),
    ("--bfcl-baseline good --bfcl-noninferior 20%", 0, "gate met: *is ruled out [[]n = 11, all of the full set, *"),
    ("--bfcl-expected known.json", 0, f"gate met: 0 failures that are not expected, 1 that are {WHOLE.format(11)}"),
    # -- conditions of a run: they excuse no failed entry
    ("-U n=11", 1, "gates: met, but 1 entry did not pass, which no gate allows"),
    ("-m multiple --bfcl-max-errors 5", 0, "gate met: 0 of 2 entries ended in an error (0.0 %, allowed 5 %) *"),
    # -- no verdict
    ("-x -U all=1", 1, "gates: no verdict: stopping after 1 failures"),
    ("--lf -U simple_python=1", 1, "gate MISSED: simple_python: only entries that had failed were asked*"),
    ("--bfcl-dry-run -U all=1", 0, "dry run: no gate is judged"),
]  # fmt: skip


@pytest.fixture
def bench(project: Project) -> Project:
    """Own tests, a run in which everything passed and a copy of it, a file of expected failures."""
    project.pytester.makepyfile(
        test_own="def test_own(): pass",
        failing="def test_failing(): assert False",
        skip_live="""
            import pytest
            def pytest_collection_modifyitems(items):
                for item in items:
                    if item.name.startswith("live_simple"):
                        item.add_marker(pytest.mark.skip(reason="not here"))
        """,
    )
    project.pytester.syspathinsert()
    (project.path / "tests").mkdir()
    (project.path / "tests" / "test_a.py").write_text("def test_a(): pass\n")
    asked = question("web_search_0", involved_classes=["WebSearchAPI"], possible_answer=["Oslo"])
    write_lines(project.path / "web" / "web_search.jsonl", [asked])
    write_lines(project.path / "web" / "multiple.jsonl", [question("multiple_0")])
    return project


def run_row(bench: Project, words: str, *more: str) -> pytest.RunResult:
    options = [each for word in words.split() for each in SHORT.get(word, word).split()]
    if {"good", "good/results.jsonl", "copied", "replay:good"} & set(options):
        bench.run("-p", "no:cacheprovider", out="good")
        shutil.copytree(bench.path / "good", bench.path / "copied")
    if "--lf" in options:
        bench.fail("simple_python_0")
        bench.run(out="before")
    bench.fail("simple_python_0")
    if "known.json" in options:
        bench.run("-p", "no:cacheprovider", "--bfcl-write-expected=known.json", out="written")
    given = None if "--model" in options else "scripted:script.json"
    out = None if "--bfcl-out" in options else "run"
    return bench.run(*options, *more, model=given, out=out, data=None if "--bfcl-data" in options else "bench")


@pytest.mark.parametrize(("words", "code", "told"), TABLE, ids=[words for words, _, _ in TABLE])
def test_a_gate_that_is_asked_for_speaks(bench: Project, words: str, code: int, told: str) -> None:
    result = run_row(bench, words)
    assert result.ret == code, result.stdout.str() + result.stderr.str()
    (result.stderr if code == 4 else result.stdout).fnmatch_lines([told])


@pytest.mark.parametrize("workers", WORKERS[1:])
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("tests/test_a.py -U non_live=99", 4, NO_ENTRY),
        (f"{ALONE} -U overall=70 --allow", 4, NOTHING),
        (
            "--bfcl-sample 4 -U entries=1 -U n=4",
            0,
            "gate met: entries is *[[]n = 4, a part: *",
        ),
    ],
)
def test_workers_say_the_same(bench: Project, words: str, code: int, told: str, workers: tuple[str, ...]) -> None:
    result = run_row(bench, words, *workers)
    assert result.ret == code, result.stdout.str() + result.stderr.str()
    (result.stderr if code == 4 else result.stdout).fnmatch_lines([told])
    assert (bench.path / "run").exists() == (code != 4)


def test_gates_of_a_configuration_file_are_not_asked_of_other_tests(bench: Project) -> None:
    bench.pytester.makeini("[pytest]\nbfcl_fail_under = all=1\nasyncio_default_fixture_loop_scope = session\n")
    result = bench.run("tests")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["bfcl: gates: no verdict: no entry was collected"])
    assert bench.run("bfcl/multiple.jsonl", "tests").ret == 4
    assert bench.run("bfcl/multiple.jsonl", "tests", "--bfcl-allow-missing").ret == 0
