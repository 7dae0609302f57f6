"""``make parity``: fuzz for `PARITY_MINUTES` and say what was found; exit code 1 when the sides differ."""

from __future__ import annotations

import os
import sys
import time

from pytest_bfcl.rescoring import open_data
from tests.parity.cases import KINDS, Source
from tests.parity.fuzzing import Found, Reference, fuzz
from tests.parity.ours import Ours


def main() -> int:
    """Run it; the Python of the other side is `PARITY_PYTHON`."""
    minutes = float(os.environ.get("PARITY_MINUTES") or 15)
    kinds = tuple(name.strip() for name in os.environ.get("PARITY_KINDS", "").split(",") if name.strip())
    start = os.environ.get("PARITY_SEED")
    data = open_data("official")
    reference = Reference(os.environ["PARITY_PYTHON"])
    began = time.monotonic()
    try:
        found = fuzz(
            Ours(data).answer, reference, Source(data), 60 * minutes, kinds=kinds or tuple(KINDS),
            start=int(start) if start else None, say=lambda text: print(text, flush=True),
        )  # fmt: skip
    finally:
        reference.close()
    print(report(found, time.monotonic() - began))
    return 1 if found.differences else 0


def report(found: Found, seconds: float) -> str:
    """The counts of a run."""
    lines = [f"{sum(found.cases.values()):,} cases in {seconds / 60:.1f} minutes, {len(found.differences)} differences"]
    lines += [f"  {kind}: {count:,}" for kind, count in sorted(found.cases.items())]
    lines += [f"  excused, {reason}: {count:,}" for reason, count in sorted(found.excused.items())]
    lines += [f"  the reference did not answer in time: {found.unanswered:,}"] * bool(found.unanswered)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
