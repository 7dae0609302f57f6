"""`--bfcl-concurrency auto` beside fixed numbers, against real servers: 100 slots, 20 requests a second
(answered after 0.3 s or after 2 s), 50 ms a token.

    python benchmarks/concurrency.py [--entries 2000] [--servers slots rate slow-rate tokens] [--fixed 8 32 128 256]

Each server is an asyncio process of its own that speaks chat completions; every side asks the same requests of the
bundled data (repeated), one side after the other. The rate is that of answered requests over the whole run, the ramp
included. Wall time: on a machine that does something else too, figures are lower for all sides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import time

SERVERS = ("slots", "rate", "slow-rate", "tokens")


class Limits:
    """How a server answers: after how many seconds, or not (429)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rng = random.Random(0)
        self.slots = asyncio.Semaphore(100)
        self.left, self.at = 5.0, time.monotonic()

    async def answered(self) -> bool:
        if self.kind == "slots":
            async with self.slots:
                await asyncio.sleep(0.3 * self.rng.lognormvariate(-0.08, 0.4))
        elif self.kind == "tokens":
            await asyncio.sleep(0.05 * self.rng.randint(5, 40))
        else:
            now = time.monotonic()
            self.left, self.at = min(5.0, self.left + 20 * (now - self.at)), now
            if self.left < 1:
                return False
            self.left -= 1
            await asyncio.sleep((2.0 if self.kind == "slow-rate" else 0.3) * self.rng.lognormvariate(-0.045, 0.3))
        return True


def serve(kind: str, port) -> None:
    from aiohttp import web

    message = {"role": "assistant", "content": "I cannot help with that."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"completion_tokens": 6}}

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        if await limits.answered():
            return web.json_response(body)
        return web.json_response({"error": {"message": "rate limit", "code": "rate_limit_exceeded"}}, status=429)

    async def main() -> None:
        nonlocal limits
        limits = Limits(kind)
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.value = runner.addresses[0][1]
        await asyncio.Event().wait()

    limits: Limits
    asyncio.run(main())


def measured(kind: str, concurrency: int, paced: bool, entries: int) -> dict:
    """One run against a server of this kind: rate of answers, errors, what auto came to."""
    from pytest_bfcl.evaluation import open_data, run
    from pytest_bfcl.settings import Settings

    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(kind, port), daemon=True)
    server.start()
    try:
        for _ in range(600):
            if port.value:
                break
            time.sleep(0.05)
        data = open_data("bundled")
        found = [data.load(ref) for name in ("simple_python", "multiple", "irrelevance") for ref in data.index(name)]
        repeat = max(1, round(entries / len(found)))
        settings = Settings(
            base_url=f"http://127.0.0.1:{port.value}/v1", concurrency=concurrency, paced=paced, repeat=repeat
        )
        began = time.perf_counter()
        result = run(found, "openai:bench@fc", settings=settings)
        seconds = time.perf_counter() - began
    finally:
        server.kill()
        server.join()
    errors = sum(record["outcome"] == "error" for record in result.records)
    return {"rate": (len(result.records) - errors) / seconds, "errors": errors, "notes": list(result.notes)}


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--servers", nargs="+", default=list(SERVERS), choices=SERVERS)
    parser.add_argument("--fixed", type=int, nargs="+", default=[8, 40, 128, 256])
    options = parser.parse_args(arguments)
    shares = {}
    for kind in options.servers:
        entries = options.entries // 4 if kind.endswith("rate") else options.entries
        fixed = {number: measured(kind, number, False, entries) for number in options.fixed}
        auto = measured(kind, 256, True, entries)
        best = max((found["rate"] for found in fixed.values() if not found["errors"]), default=float("nan"))
        shares[kind] = auto["rate"] / best
        told = ", ".join(f"{number}: {found['rate']:.1f}/s" for number, found in fixed.items())
        print(f"{kind}: {told}; auto: {auto['rate']:.1f}/s, {100 * shares[kind]:.0f} % of the best")
        print("  " + json.dumps({"errors": auto["errors"], "notes": auto["notes"]}), flush=True)
    return shares


if __name__ == "__main__":
    main(sys.argv[1:])
