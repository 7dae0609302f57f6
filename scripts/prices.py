"""Makes the compact table of list prices from an installed litellm's: ``python scripts/prices.py`` (``make prices``).

litellm's table is under the MIT licence (Copyright (c) 2023 Berri AI). Only names and prices per token are taken.
"""

from __future__ import annotations

import datetime
import json
from importlib.metadata import version
from pathlib import Path

from pytest_bfcl.models.prices import TABLE, litellm_table, million


def compact(today: datetime.date) -> str:
    """The table as text: one model a line, sorted, so that a new one shows what changed."""
    rows = litellm_table()
    if not rows:
        raise SystemExit("litellm is not installed: pip install -e '.[litellm]'")
    prices = {
        name: [million(row["input_cost_per_token"]), million(row.get("output_cost_per_token"))]
        for name, row in sorted(rows.items())
        if isinstance(row, dict) and name != "sample_spec" and row.get("input_cost_per_token") is not None
    }
    named = {row.get("litellm_provider") for name, row in rows.items() if name != "sample_spec"}
    providers = sorted(name for name in named if name)
    head = {
        "source": f"litellm {version('litellm')}, MIT licence, Copyright (c) 2023 Berri AI",
        "date": today.isoformat(),
        "unit": "USD per million tokens: input, output",
        "providers": providers,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    models = ",\n".join(f"{json.dumps(name)}: {json.dumps(price)}" for name, price in prices.items())
    return "{\n" + "\n".join(lines) + '\n"prices": {\n' + models + "\n}\n}\n"


if __name__ == "__main__":
    Path(TABLE).write_text(compact(datetime.datetime.now(datetime.UTC).date()), encoding="utf-8")
    print(f"written: {TABLE}")
