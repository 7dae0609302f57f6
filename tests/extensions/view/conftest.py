"""One folder of runs for all tests that only look."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `view` is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from tests.extensions.view.samples import Looking, client, make_folder, runs_of


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def looking(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Looking:
    return client(runs_of(folder, tmp_path_factory.mktemp("cache")))
