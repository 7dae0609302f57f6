"""The exit code (docs/contracts.md) over everything that can come together in a run, plain and with -n 2."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import pytest

from .conftest import Project, call, question, write_lines

OUTCOMES = ("pass", "fail", "error", "allowed_error", "skip")
GATES = ("none", "met", "missed")
STOPS = ("finished", "budget")
OTHERS = ("alone", "failing_test")


class Case(NamedTuple):
    outcome: str
    gate: str
    stop: str
    other: str

    @property
    def code(self) -> int:
        """CONTRACTS §7, said once more in the fewest words."""
        if self.stop == "budget":
            return 2
        if self.other == "failing_test" or self.gate == "missed":
            return 1
        if self.gate == "met":
            return int(self.outcome == "error")  # more errors than allowed
        return int(self.outcome in ("fail", "error", "allowed_error"))

    @property
    def gate_options(self) -> list[str]:
        """Met: a category that has 75 % at least. Missed: what was skipped, else too high a threshold."""
        if self.gate == "none":
            return []
        if self.gate == "met":
            return ["--bfcl-fail-under", "simple_python=70"]
        group = "live_simple=1" if self.outcome == "skip" else "simple_python=100"
        return ["--bfcl-fail-under", "simple_python=70", "--bfcl-fail-under", group]


# Where every entry passes no gate is missed: one that cannot be met is refused before the run (test_gates.py). A spent
# budget decides alone.
CASES = [
    case
    for case in (Case(*values) for values in product(OUTCOMES, GATES, STOPS, OTHERS))
    if (case.gate != "missed" or case.outcome in ("fail", "skip"))
    and (case.other == "alone" or case.outcome in ("pass", "fail"))
    and (case.stop == "finished" or (case.outcome == "fail" and case.gate != "none"))
]
ON_WORKERS = Case("fail", "met", "finished", "failing_test")
"""With two workers every case is in the slow tier; here the one in which most takes part."""


def run_case(project: Project, case: Case, *more: str) -> pytest.RunResult:
    """Four entries of one category, one of another that may be skipped, and a test of the user's own."""
    write_lines(project.path / "bench" / "simple_python.jsonl", [question(f"simple_python_{n}") for n in range(4)])
    write_lines(project.path / "bench" / "live_simple.jsonl", [question("live_simple_0-0-0")])
    right: dict[str, Any] = {"tool_calls": call(), "input_tokens": 1_000_000, "output_tokens": 0}
    project.script = {"*": right}
    if case.outcome == "fail":
        project.fail("simple_python_2")
    if case.outcome.endswith("error"):
        project.script["simple_python_2"] = {"error": "server", "status": 500}
    if case.outcome == "skip":
        project.pytester.makeconftest(
            """
            import pytest
            def pytest_collection_modifyitems(items):
                for item in items:
                    if item.name.startswith("live_simple"):
                        item.add_marker(pytest.mark.skip(reason="not here"))
            """
        )
    options = ["--bfcl-retries=0", "--bfcl-price=1,1", "--bfcl-concurrency=1", "--tb=no", *case.gate_options, *more]
    if case.outcome == "allowed_error":
        options.append("--bfcl-max-errors=30")
    if case.stop == "budget":
        options.append("--bfcl-budget=2")
    arguments = [f"bfcl/{name}.jsonl" for name in ("simple_python", "live_simple")]
    if case.other != "alone":
        project.pytester.makepyfile(test_own="def test_own(): assert False")
        arguments.append("test_own.py")
    return project.run(*arguments, *options)


def check_case(project: Project, case: Case, result: pytest.RunResult) -> None:
    assert result.ret == case.code, result.stdout.str()
    gate = project.summary()["gate"]
    if case.stop == "budget" or (case.gate == "none" and case.outcome != "allowed_error"):
        assert gate == {"verdict": "none", "checks": []}
        return
    missed = case.gate == "missed" or case.outcome == "error"
    assert gate["verdict"] == ("failed" if missed else "passed")
    last = [row for row in result.outlines if row.startswith(("gates: ", "gate MISSED"))]
    if missed:
        assert last[-1].startswith("gates: FAILED by ")
        assert len(last) > 1
    elif case.other == "failing_test" or case.gate == "none":  # --bfcl-max-errors alone excuses no entry
        troubles = ["1 other tests failed"] * (case.other != "alone")
        troubles += ["1 entry did not pass, which no gate allows"] * (case.gate == "none")
        assert last == [f"gates: met, but {', '.join(troubles)}"]
    else:
        assert last == ["gates: PASSED, 2 of 2 met"]
    assert result.outlines.index(last[-1]) > len(result.outlines) - 4  # below everything else


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_every_combination_has_the_exit_code_of_the_contract(project: Project, case: Case) -> None:
    check_case(project, case, run_case(project, case))


def test_two_workers_give_the_same_verdict(project: Project) -> None:
    check_case(project, ON_WORKERS, run_case(project, ON_WORKERS, "-n2"))
