"""Repeats and samples, end to end."""

from __future__ import annotations

import json

import pytest

from .conftest import Bench

ALL = 40
QUICK = ("-q", "--tb=no", "--bfcl-concurrency=16")


def test_repeats_tell_how_steady_a_model_is(bench: Bench, session) -> None:
    # Every third try of simple_python_5 gives a wrong reply; irrelevance_0 always does.
    bench.serve()
    (bench.path / "conftest.py").write_text(
        "import json, pytest\n"
        "from pytest_bfcl import Reply\n"
        "from pytest_bfcl.models.oracle import answer\n"
        "@pytest.fixture(scope='session')\n"
        "def model():\n"
        "    async def generate(request):\n"
        "        wrong = request.entry.id == 'irrelevance_0' or "
        "(request.entry.id == 'simple_python_5' and request.repeat == 3)\n"
        "        if wrong:\n"
        "            return Reply.from_output([{'name': 'get_weather', 'arguments': json.dumps({'city': 'Rome'})}])\n"
        "        return answer(request.entry, 'fc')\n"
        "    return generate\n"
    )
    result = session(*QUICK, "--bfcl-repeat=3")
    result.assert_outcomes(passed=3 * ALL - 4, failed=4)
    numbers = bench.numbers()
    repeats = numbers["repeats"]
    assert (repeats["entries"], repeats["k"]) == (ALL, 3)
    assert abs(repeats["pass_at_1"] - (38 + 2 / 3) / ALL) < 1e-9
    assert abs(repeats["pass_pow_k"] - 38 / ALL) < 1e-9
    assert abs(repeats["flip_rate"] - 1 / ALL) < 1e-9
    assert "simple_python_5-r3" in bench.records()
    result.stdout.fnmatch_lines(["repeated 3 times: pass@1 96.7 %, pass^3 95.0 %, pass@3 97.5 %, flip rate 2.5 %"])


@pytest.mark.slow
def test_a_sample_is_stratified_repeatable_and_says_so(bench: Bench, session) -> None:
    server = bench.serve()
    result = session(*QUICK, "--bfcl-sample=20", "--bfcl-seed=3")
    result.assert_outcomes(passed=20, deselected=20)
    first = set(bench.verdicts())
    numbers = bench.numbers()
    totals = {name: found["total"] for name, found in numbers["categories"].items()}
    assert totals == {"simple_python": 15, "multiple": 3, "irrelevance": 2}
    for found in numbers["categories"].values():
        low, high = found["interval95"]
        assert low < 1.0 <= high
    small, large = numbers["categories"]["irrelevance"], numbers["categories"]["simple_python"]
    assert small["interval95"][0] < large["interval95"][0]  # fewer entries: a wider interval
    assert json.loads((bench.path / "run" / "run.json").read_text())["selection"]["sample"] == 20
    server.forget()
    session(*QUICK, "--bfcl-sample=20", "--bfcl-seed=3", out="again")
    assert set(bench.verdicts("again")) == first
    session(*QUICK, "--bfcl-sample=20", "--bfcl-seed=4", out="other")
    assert set(bench.verdicts("other")) != first
