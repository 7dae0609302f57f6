"""The pages in a real browser: every page, filters, deep links, keys, a run that grows, hostile runs, axe, files.

Needs the extra `browser` (Playwright, axe) and a Chromium of the system; skipped with the reason otherwise.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.view.runs import open_runs
from pytest_bfcl.extensions.view.site import write_site
from pytest_bfcl.extensions.view.store import Store
from tests.extensions.view.samples import MODELS, append, dated, records
from tests.extensions.view.test_auth import hostile_run
from tests.reporting.browser import find_chromium
from tests.reporting.samples import stored_run

PAGES = (
    "", "run/night-1/index.html", "run/torn/index.html", "run/both/index.html",
    "run/night-1/entries/simple_python_3.html", "entry/simple_python_3.html", "compare/index.html",
    "compare/night-1/night-2.html", "leaderboard.html", "history.html", "stability.html", "findings.html",
    "run/night-1/live.html", "audit/audit.html",
)  # fmt: skip
SHOWN = "document.getElementById('entry').dataset.shown === location.hash"
SERIOUS = ("serious", "critical", None)
FILES = (
    "index.html", "run/night-1/index.html", "run/night-1/list-1.html", "entry.html#night-1/simple_python_3.html",
    "entry.html#beside/simple_python_3", "compare/index.html", "compare/night-1/night-2.html", "leaderboard.html",
    "history.html", "stability.html", "findings.html", "audit/audit.html",
)  # fmt: skip


@contextmanager
def viewing(*folders: Path, browser: str = "") -> Iterator[str]:
    """`pytest-bfcl view` in a process of its own, until it is interrupted; its address."""
    call = "import sys; from pytest_bfcl.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", call, "view", *([] if browser else ["--no-open"]), *map(str, folders)]
    environment = {**os.environ, "BROWSER": browser}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    found = re.search(r"http\S+", process.stdout.readline())
    assert found is not None, process.communicate()[1]
    try:
        yield found.group()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 0, said
        assert said.strip() == "stopped"


@pytest.mark.skipif(os.name == "nt", reason="starts a browser that is a shell script")
@pytest.mark.slow
def test_the_browser_is_started_without_the_token(tmp_path: Path, folder: Path) -> None:
    """Everybody on a machine reads the arguments of every process."""
    browser, kept = tmp_path / "browser", tmp_path / "kept"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {kept}\nfor page in "$@"; do page=${{page#file://}}; stat -c %a "$page" >> {kept}\n'
        f'cat "$page" >> {kept}; done\necho end >> {kept}\n'
    )
    browser.chmod(0o755)
    with viewing(folder, browser=str(browser)) as address:
        until = time.monotonic() + 20
        while not (kept.is_file() and kept.read_text().endswith("end\n")) and time.monotonic() < until:
            time.sleep(0.05)
        arguments, mode, page = kept.read_text().splitlines()[:3]
        token = address.rstrip("/").rpartition("/")[2]
        assert token not in arguments
        assert arguments.endswith("open.html")
        assert mode == "600"
        assert f"url={address}" in page
    assert not Path(arguments.removeprefix("file://")).exists()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'pytest-bfcl[browser]'")
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here (install chromium, or name one with PYTEST_BFCL_CHROMIUM)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Tab:
    """A page that fails the test for whatever the browser complains about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.set_default_timeout(20_000)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.until("document.documentElement.dataset.shown")
        if "entry.html#" in address:
            self.until(SHOWN)

    def until(self, condition: str) -> None:
        """Asked again and again from outside: inside the page its policy allows no text as a script."""
        end = time.monotonic() + 20
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(10)


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    made = Tab(context.new_page())
    yield made
    context.close()
    assert made.errors == []


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kept = os.environ.get("PYTEST_BFCL_CACHE")
    os.environ["PYTEST_BFCL_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    try:
        with viewing(folder) as address:
            yield address
    finally:
        os.environ.pop("PYTEST_BFCL_CACHE")
        if kept is not None:
            os.environ["PYTEST_BFCL_CACHE"] = kept


@pytest.fixture(scope="module")
def site(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("site")
    return write_site(Store(open_runs([folder], tmp_path_factory.mktemp("kept"))), out).parent.as_uri() + "/"


def serious(tab: Tab) -> list[str]:
    """What axe finds serious or critical."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe: pip install 'pytest-bfcl[browser]'"
    )
    found = axe.Axe().run(tab.page, options={"preload": False}).response["violations"]  # it fetches nothing itself
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_accessible_and_fits_a_narrow_screen(tab: Tab, server: str, page: str) -> None:
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.open(server + page)
        assert serious(tab) == []
    tab.page.set_viewport_size({"width": 420, "height": 800})
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420
    tab.page.emulate_media(media="print")
    assert tab.page.locator("nav.site").is_hidden()


@pytest.mark.parametrize("page", FILES)
def test_every_file_opens_from_disk(tab: Tab, site: str, page: str) -> None:
    tab.open(site + page)
    assert serious(tab) == []
    assert tab.page.locator("main").inner_text() != ""
    tab.page.set_viewport_size({"width": 420, "height": 800})
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 420


def test_runs_are_filtered_sorted_grouped_and_linked_to(tab: Tab, server: str) -> None:
    rows = tab.page.locator("#runs tr[data-run]:visible")
    tab.open(server)
    assert rows.count() == 6
    tab.page.fill("#find", "both")
    assert rows.count() == 2
    assert "q=both" in tab.page.url
    tab.page.select_option("#by-model", MODELS[1])
    assert rows.count() == 1
    tab.open(server + f"#model={MODELS[0].replace('@', '%40')}")
    assert rows.count() == 5
    tab.page.reload()
    assert rows.count() == 5
    tab.open(server + "#group=1")
    assert tab.page.locator("tr.model-head").all_inner_texts() == [f"{MODELS[0]} (5)", f"{MODELS[1]} (1)"]
    tab.open(server + "#")
    tab.page.reload()
    tab.page.click("#runs th[data-sort] >> text=score")
    first = tab.page.locator("#runs tr[data-run]").first.locator("td.num").first.inner_text()
    scores = tab.page.evaluate(
        "[...document.querySelectorAll('#runs tr[data-run]')].map(r => Number(r.cells[4].dataset.value))"
    )
    assert scores == sorted(scores, reverse=True)
    assert first.startswith(f"{100 * max(scores):.1f}")


def test_two_runs_are_picked_and_compared(tab: Tab, server: str) -> None:
    tab.open(server)
    for name in ("night-1", "night-3"):
        tab.page.check(f"input.pick[value={name}]")
    tab.page.click("#compare")
    tab.page.wait_for_url("**/compare/night-1/night-3.html")
    change = tab.page.locator("details.change").first
    change.locator("summary").click()
    change.locator(".sbs").wait_for()
    assert change.locator("section.side.verdict").count() == 2
    change.locator("a >> text=side by side").click()
    tab.page.wait_for_url("**/entry/*.html?runs=night-1,night-3")
    assert tab.page.locator("section.side.verdict").count() == 2


def test_keys_lead_from_entry_to_entry(tab: Tab, server: str) -> None:
    tab.open(server + "run/night-2/entries/simple_python_0.html")
    for key in ("f", "F", "c", "C", "r", "R", "j", "k", "s"):
        link = tab.page.locator(f"[data-key='{key}']").first
        if key in "jk":
            link = tab.page.locator("#next" if key == "j" else "#previous")
        if link.count() == 0:
            continue
        there = link.evaluate("link => link.href")
        tab.page.keyboard.press(key)
        tab.page.wait_for_url(there)
    assert "/entry/" in tab.page.url
    tab.page.keyboard.press("1")
    tab.page.wait_for_url("**/index.html")
    tab.page.keyboard.press("?")
    assert tab.page.locator("#keyhelp").is_visible()
    assert "Leaderboard" in tab.page.locator("#keyhelp").inner_text()
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#keyhelp").is_hidden()
    tab.page.keyboard.press("/")
    assert tab.page.evaluate("document.activeElement.id") == "find"


def test_the_report_opens_entries_and_comes_back(tab: Tab, server: str) -> None:
    tab.open(server + "run/night-1/index.html#outcome=failed")
    name = tab.page.locator("#rows a").first.inner_text()
    tab.page.keyboard.press("j")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(f"**/entries/{name}.html")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_url(f"**/index.html#{name}")


def test_a_run_that_goes_on_is_seen_going_on(tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    lines = records(5, entries=40)
    run = dated(stored_run(tmp_path / "runs" / "now", lines[:10]), 5, state="running", planned=120, ended_at=None)
    (run / "summary.json").unlink()
    ended = threading.Event()

    def going_on() -> None:
        for start in range(10, 120, 10):
            time.sleep(0.3)
            append(run, lines[start : start + 10])
        dated(run, 5, state="finished", planned=120)
        ended.set()

    with viewing(tmp_path / "runs") as address:
        tab.open(address + "run/now/live.html")
        assert tab.page.inner_text("#done") == "10"
        threading.Thread(target=going_on).start()
        seen = set()
        while tab.page.locator("#live[data-ended]").count() == 0:
            seen.add(int(tab.page.inner_text("#done")))
            time.sleep(0.1)
        assert ended.is_set()
        assert len(seen) >= 2
        assert tab.page.inner_text("#done") == "120"
        assert "The run has ended" in tab.page.inner_text("#live")
        tab.page.click("#live a >> text=report")
        tab.page.wait_for_url("**/run/now/index.html")
        tab.page.goto("about:blank")


def test_hostile_runs_do_not_run(tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    hostile_run(tmp_path / "runs", "one")
    hostile_run(tmp_path / "runs", "two")
    store = Store(open_runs([tmp_path / "runs"]))
    opened = store.open(store.runs.look()["one"])
    pages = [
        "",
        "run/one/index.html",
        "run/one/wire.html",
        "compare/one/two.html",
        "leaderboard.html",
        "findings.html",
        "audit/audit.html",
    ]
    pages += [f"run/one/entries/{page}" for page in opened.rows]
    harmless = "window.pwned === undefined && document.querySelectorAll('img, a[href^=javascript]').length === 0"
    with viewing(tmp_path / "runs") as address:
        for page in (*pages, "entry/simple_python_0.html"):
            tab.open(address + page)
            assert tab.page.evaluate(harmless), page
    root = write_site(store, tmp_path / "site").parent.as_uri() + "/"
    files = ["index.html", "run/one/index.html", "run/one/list-1.html", "compare/one/two.html", "audit/audit.html"]
    for page in (*files, *(f"entry.html#one/{page}" for page in opened.rows), "entry.html#beside/simple_python_0"):
        tab.open(root + page)
        assert tab.page.evaluate(harmless), page


def test_a_site_is_read_without_scripts(chromium: Any, site: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + "index.html")
    assert page.locator("#runs tr[data-run]").count() == 6
    page.click("#runs a >> text=night-1")
    assert "simple_python" in page.text_content("table.scores")
    page.click("noscript a >> text=plain list")
    assert page.locator("table.plain tbody tr").count() == 60
    page.goto(site + "compare/night-1/night-2.html")
    assert page.locator("p.change").count() > 5
    assert "value_error:others" in page.inner_text("main")
    context.close()


def test_a_site_has_every_entry_and_keys(tab: Tab, site: str, folder: Path) -> None:
    store = Store(open_runs([folder]))
    for name in ("both", "night-3", "torn"):
        opened = store.open(store.runs.look()[name])
        for page, row in list(opened.rows.items())[::9]:
            tab.open(f"{site}entry.html#{name}/{page}")
            assert row.id in tab.page.inner_text("h1")
            assert row.outcome in tab.page.inner_text("h1")
    tab.open(f"{site}entry.html#night-3/simple_python_0.html")
    tab.page.keyboard.press("f")
    tab.until("location.hash !== '#night-3/simple_python_0.html'")
    tab.until(SHOWN)
    assert "failed" in tab.page.inner_text("h1")
    tab.page.keyboard.press("s")
    tab.until("location.hash.startsWith('#beside/')")
    tab.until(SHOWN)
    assert tab.page.locator("section.side.verdict").count() >= 4
    tab.open(f"{site}entry.html#night-3/none.html")
    assert "no such entry" in tab.page.inner_text("main")
