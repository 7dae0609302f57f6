"""Many runs and large ones: seconds, megabytes, and a run that is watched while it asks a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.viewing import make_runs, measured
from pytest_bfcl.extensions.view.runs import open_runs
from pytest_bfcl.extensions.view.site import write_site
from pytest_bfcl.extensions.view.store import Store

pytestmark = pytest.mark.slow


def test_two_hundred_runs_of_five_thousand_entries(tmp_path: Path) -> None:
    """CPU seconds: the machine may be shared. The first look makes the indexes, which is not in the bounds."""
    make_runs(tmp_path / "runs", 200, 5_000)
    first = measured(tmp_path / "runs", 5_000, tmp_path / "cache", warm=False)
    again = measured(tmp_path / "runs", 5_000, tmp_path / "cache", warm=True)
    assert first["list"] < 1.0
    assert again["list"] < 1.0
    assert again["entry, first"] < 0.3
    assert again["entry"] < 0.3
    assert max(first["memory_mb"], again["memory_mb"]) < 500


def test_a_site_of_five_large_runs_is_small(tmp_path: Path) -> None:
    make_runs(tmp_path / "runs", 5, 5_000)
    page = write_site(Store(open_runs([tmp_path / "runs"], tmp_path / "cache")), tmp_path / "site")
    sizes = {path: path.stat().st_size for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 25_000_000
    assert sizes[page] < 1_000_000
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'pytest-bfcl[browser]'")
    from tests.reporting.browser import find_chromium

    if (program := find_chromium()) is None:
        pytest.skip("no Chromium here (install chromium, or name one with PYTEST_BFCL_CHROMIUM)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto("about:blank")
        compared = next(path for path in (tmp_path / "site" / "compare").glob("*/*.html"))
        for address in ("index.html", "run/run-000/index.html", compared.relative_to(tmp_path / "site").as_posix()):
            tab.goto((tmp_path / "site" / address).as_uri())
            shown = tab.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
            assert shown < 1000, (address, shown)
        browser.close()
