from __future__ import annotations

from pathlib import Path

import pytest

from tests.scoring.golden import Golden


@pytest.fixture(scope="session")
def golden(golden_dir: Path) -> Golden:
    return Golden(golden_dir)
