"""`--bfcl-concurrency auto` in whole runs: its bound, alone and on workers, refusals, going on with another number."""

from __future__ import annotations

import asyncio
import multiprocessing

import pytest

from benchmarks.concurrency import KINDS, best_numbers, measured, serve
from pytest_bfcl.endpoints.pacing import Pace
from tests.distributed import WORKERS
from tests.endpoints.test_pacing import BOUND, Fixed

from .conftest import Bench

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", WORKERS)
def test_the_bound_holds_for_all_processes_together(bench: Bench, workers: tuple[str, ...]) -> None:
    server = bench.serve(delay=0.03)
    code, text = bench.finish("--bfcl-concurrency=auto:6", "-q", *workers)
    assert code == 0, text
    assert server.most_in_flight() <= 6
    assert set(server.asked().values()) == {1}
    assert "--bfcl-concurrency auto came to " in text
    assert f"bound {3 if workers else 6})" in text


def test_a_server_that_refuses_and_a_run_that_goes_on_with_a_fixed_number(bench: Bench) -> None:
    server = bench.serve({"kind": 429, "first": 1, "ids": "simple_python_[0-4]$"})
    code, text = bench.finish("--bfcl-concurrency=auto", "-q", "-k", "simple_python")
    assert code == 0, text
    assert "5 refused)" in text
    answered = len(bench.records())
    server.faults()
    server.forget()
    code, text = bench.finish("--bfcl-concurrency=4", "-q")
    assert code == 0, text
    assert "cannot continue" not in text
    assert "came to" not in text
    assert len(bench.records()) > answered
    assert not {line["id"] for line in server.lines()} & {f"simple_python_{number}" for number in range(20)}


SECONDS = 20


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_auto_reaches_the_best_fixed_number(name: str) -> None:
    """One seed, on a machine that does other things, too: the benchmark has medians of 15."""
    port = multiprocessing.get_context("spawn").Value("i", 0)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
    server.start()
    numbers, requests = best_numbers(KINDS[name], SECONDS)

    async def both() -> list[dict[str, float]]:
        while not port.value:
            await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{port.value}/{[*KINDS].index(name)}"
        laws = (Pace(BOUND), Fixed(BOUND, numbers[0]))
        return [await measured(f"{url}/{n}/1", law, requests, 1) for n, law in enumerate(laws)]

    auto, fixed = asyncio.run(both())
    server.terminate()
    assert not auto["lost"]
    assert auto["rate"] >= 0.7 * fixed["rate"], (auto, fixed)
