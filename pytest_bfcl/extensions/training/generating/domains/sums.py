"""MathAPI: sums over other calls' results. It has no state, so it is rarely alone in a task."""

from __future__ import annotations

from random import Random

from pytest_bfcl.extensions.training.generating.moves import domain_of


def _several(sums: object, rng: Random) -> list[float]:
    return [round(rng.randrange(21, 899) / 10 + 0.05, 2) for _ in range(rng.randint(3, 5))]


DOMAIN = domain_of("sums", "MathAPI", lambda rng: {}, {
    "several": _several, "signed": lambda sums, rng: rng.choice((-1, 1)) * (rng.randrange(12, 900) + 0.5),
    "result_number": lambda result: result["result"] if isinstance(result["result"], int | float) else None,
    "last_one": lambda given, result, value: result["result"] == given["numbers"][-1],
    "as_drawn": lambda config, given, fails: None,
})  # fmt: skip
