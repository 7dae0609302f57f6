"""What functions gave once, kept beside the tests: a change of behaviour shows as a change of a file.

``RECORD=1 pytest …`` writes the files anew; their difference is then read line by line before it is committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RECORD = "RECORD"


def same_as_recorded(file: Path, rows: Iterable[Any]) -> None:
    """Assert that rows (anything JSON can hold, or has a text) are those of a ``.jsonl`` file, one a line."""
    found = [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
    if os.environ.get(RECORD):
        file.write_text("\n".join(found) + "\n", encoding="utf-8", newline="\n")
    recorded = file.read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(recorded, found, strict=False) if old != new]
    assert changed[:3] == []
    assert len(found) == len(recorded)
