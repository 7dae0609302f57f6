"""`--bfcl-concurrency auto` beside gradient2 and fixed numbers, over real sockets against servers of eight kinds.

    python -m benchmarks.concurrency [--seeds 15] [--seconds 25] [--at-once 4] [--kinds "square beyond 48"]

The servers are those of the simulated table, behind a loopback address in a process of their own, in real time. The
client is our gate with one law or the other and the retries of a run. A run asks what the best fixed number answers in
``--seconds``; the fixed numbers are the three that are best in the simulation, each with three seeds. Prints the table
of docs/running.md, and one JSON line a run on standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

from pytest_bfcl.endpoints.pacing import Gate, Pace
from pytest_bfcl.failures import AdapterError
from tests.endpoints.servers import Server
from tests.endpoints.test_pacing import BOUND, EIGHT_KINDS, FIXED, Fixed, Gradient2, Run

KINDS: dict[str, Callable[[], Server]] = {str(case.id): case.values[0] for case in EIGHT_KINDS}  # type: ignore[misc]
TRIES, SIMULATED, CANDIDATES, FIXED_SEEDS = 6, 1_500, 3, 3


def serve(port: Any) -> None:
    """``POST /NUMBER OF KIND/RUN/SEED``: a server of its own for each run, whose time begins with the first request."""
    known: dict[str, tuple[Server, random.Random, float]] = {}
    kinds = list(KINDS.values())

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        kind, seed, name = request.match_info["kind"], request.match_info["seed"], request.path
        if name not in known:
            known[name] = kinds[int(kind)](), random.Random(int(seed)), time.monotonic()
        server, rng, began = known[name]
        answer = server.ask(time.monotonic() - began, rng)
        await asyncio.sleep(max(0.0, answer.at - (time.monotonic() - began)))
        if answer.good:
            return web.json_response({"choices": [{"message": {"content": "No."}}]})
        headers = {} if answer.retry_after_s is None else {"Retry-After": str(answer.retry_after_s)}
        return web.json_response({}, status=429, headers=headers)

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/{kind}/{run}/{seed}", chat)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        port.value = runner.addresses[0][1]
        await asyncio.Event().wait()

    asyncio.run(main())


async def measured(url: str, pace: Pace, requests: int, seed: int) -> dict[str, Any]:
    """Answers a second of one run, ramp included, and the requests that were refused six times."""
    gate, rng = Gate(pace), random.Random(seed)
    lost = 0

    async def ask(client: aiohttp.ClientSession) -> None:
        began = time.perf_counter()
        async with client.post(url, json={"messages": [{"role": "user", "content": "?"}]}) as response:
            await response.read()
            if response.status != 200:
                wish = response.headers.get("Retry-After")
                raise AdapterError("rate_limit", "refused", retry_after_s=None if wish is None else float(wish))
        gate.answered(time.perf_counter() - began)

    async def answered(client: aiohttp.ClientSession) -> None:
        nonlocal lost
        for tried in range(TRIES):
            try:
                async with gate:
                    await ask(client)
                return
            except AdapterError as error:
                pause = 0.5 * 2**tried * rng.uniform(0.5, 1.0)
                await asyncio.sleep(max(pause, error.retry_after_s or 0.0) if tried < TRIES - 1 else 0)
        lost += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        began = time.perf_counter()
        await asyncio.gather(*(answered(client) for _ in range(requests)))
        seconds = time.perf_counter() - began
    return {"rate": (requests - lost) / seconds, "lost": lost, "limit": pace.limit, "seconds": round(seconds, 1)}


def best_numbers(kind: Callable[[], Server], seconds: float) -> tuple[list[int], int]:
    """The fixed numbers that are best in the simulation, and how many requests the best answers in so many seconds."""
    runs = {number: Run(Fixed(BOUND, number), kind(), SIMULATED, 1) for number in FIXED}
    found = sorted((number for number in FIXED if not runs[number].lost), key=lambda number: -runs[number].rate)
    return found[:CANDIDATES], round(seconds * runs[found[0]].rate)


async def kind_measured(
    name: str, port: int, seconds: float, seeds: int, free: asyncio.Semaphore
) -> dict[str, list[dict[str, Any]]]:
    """Law → its runs, a seed after the other, the laws among each other."""
    numbers, requests = best_numbers(KINDS[name], seconds)
    laws: dict[str, Callable[[], Pace]] = {"auto": lambda: Pace(BOUND), "gradient2": lambda: Gradient2(BOUND)}
    laws |= {str(number): lambda number=number: Fixed(BOUND, number) for number in numbers}  # type: ignore[misc]
    runs = itertools.count()
    found: dict[str, list[dict[str, Any]]] = {law: [] for law in laws}

    async def one(law: str, seed: int) -> None:
        async with free:
            url = f"http://127.0.0.1:{port}/{[*KINDS].index(name)}/{next(runs)}/{seed}"
            told = await measured(url, laws[law](), requests, seed)
        found[law].append(told)
        print(json.dumps({"kind": name, "law": law, "seed": seed, "requests": requests, **told}), file=sys.stderr)

    await asyncio.gather(
        *(one(law, seed) for seed in range(seeds) for law in laws if not law.isdigit() or seed < FIXED_SEEDS)
    )
    return found


def row(name: str, found: dict[str, list[dict[str, Any]]]) -> str:
    """The row of the table: shares of the best fixed number that lost nothing."""
    fixed = {law: runs for law, runs in found.items() if law.isdigit()}
    whole = {law: runs for law, runs in fixed.items() if not any(run["lost"] for run in runs)} or fixed
    best = max(statistics.median(run["rate"] for run in runs) for runs in whole.values())
    told = [name]
    for law in ("auto", "gradient2"):
        shares = sorted(100 * run["rate"] / best for run in found[law])
        told += [f"{statistics.median(shares):.0f} %", f"{shares[0]:.0f} %"]
    lost = [str(round(statistics.median(run["lost"] for run in found[law]))) for law in ("auto", "gradient2")]
    return f"| {' | '.join([*told, *lost])} |"


async def table(names: list[str], seconds: float, seeds: int, at_once: int) -> None:
    port = multiprocessing.get_context("spawn").Value("i", 0)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        await asyncio.sleep(0.05)
    print("| server | `auto`, median | worst | gradient2, median | worst | lost by `auto` | by gradient2 |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        print(row(name, await kind_measured(name, port.value, seconds, seeds, asyncio.Semaphore(at_once))), flush=True)
    server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    options = parser.parse_args()
    asyncio.run(table(options.kinds, options.seconds, options.seeds, options.at_once))
