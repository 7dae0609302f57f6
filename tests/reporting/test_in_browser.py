"""Reports in a real browser: filter, sort, keys, links, themes, load time; no errors, no requests."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards.leaderboard_page import write_leaderboard
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.reporting.pages import EntryResult, Neighbours, PageContext, entry_page, stored_of
from pytest_bfcl.reporting.report import write_report
from pytest_bfcl.reporting.sources import questions
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.session import evaluation
from pytest_bfcl.transcript import Reply
from tests.patience import patience
from tests.reporting.browser import Browser
from tests.reporting.samples import booking, entry, make_run, record, stored_run, write_data

ROWS = "document.querySelectorAll('#rows tr[data-place]').length"
FIRST = "document.querySelector('#rows tr[data-place] a').textContent"
COUNT = "document.getElementById('count').textContent"
SHOWN = """(() => {
  const main = [...document.querySelectorAll('main')].find(each => each.offsetParent);
  main.querySelectorAll('details').forEach(each => { each.open = true; });
  const texts = [...main.children].slice(1).map(each => each.innerText || '');
  return texts.map(each => each.replace(/\\s+/g, ' ').trim()).filter(Boolean).join('|');
})()"""
MODELS = ("openai:a@fc", "openai:a@prompt", "openai:b@fc")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty simple entries, every fourth failed, and ten irrelevant ones."""
    simple = [entry(f"simple_python_{number}", f"Question number {number}?") for number in range(40)]
    none = [entry(f"irrelevance_{number}", "Sing to me.", possible_answer=None) for number in range(10)]
    folder = tmp_path_factory.mktemp("browsed")
    data = write_data(folder / "bench", {"simple_python": simple, "irrelevance": none})
    replies = {f"simple_python_{number}": booking(film="Heat", seats=number + 3) for number in range(0, 40, 4)}
    replies["irrelevance_3"] = booking(film="Heat", seats=2)
    replies |= {f"irrelevance_{number}": Reply("No.") for number in range(10) if number != 3}
    write_report(make_run(folder / "run", data, replies), data=data)
    return folder / "run"


def test_failures_come_first_and_filters_narrow(browser: Browser, run: Path) -> None:
    browser.open((run / "index.html").as_uri())
    assert browser.js(COUNT) == "50 of 50 entries: 11 failed, 39 passed"
    assert browser.js(FIRST) == "simple_python_0"
    choose = "(id, value) => { const box = document.getElementById(id); box.value = value; " \
        "box.dispatchEvent(new Event('change')); }"  # fmt: skip
    browser.js(f"({choose})('f-category', 'irrelevance')")
    assert browser.js(COUNT) == "10 of 50 entries: 1 failed, 9 passed"
    browser.js(f"({choose})('f-reason', 'irrelevance_error:decoder_success')")
    assert browser.js(ROWS) == 1
    assert "reason=irrelevance_error%3Adecoder_success" in browser.js("location.hash")
    browser.press("Escape")
    assert browser.js("location.hash") == ""
    assert browser.js(COUNT).startswith("50 of 50")


def test_search_by_key_and_open_with_enter(browser: Browser, run: Path) -> None:
    browser.open((run / "index.html").as_uri())
    browser.press("/")
    assert browser.js("document.activeElement.id") == "q"
    for key in "number 12":
        browser.press(key)
    browser.wait(f"{COUNT}.startsWith('1 of 50')")
    browser.press("Enter")
    assert browser.js("document.activeElement.textContent") == "simple_python_12"
    browser.press("Enter")
    browser.wait("document.title.startsWith('simple_python_12')")
    assert "The argument “seats” is 15; accepted is 2." in browser.js("document.querySelector('.say').textContent")
    assert browser.js("document.querySelectorAll('tr.broken').length") == 1
    browser.press("j")
    browser.wait("document.title.startsWith('simple_python_16')")
    browser.press("Escape")
    browser.wait("location.hash === '#simple_python_16' && document.activeElement.textContent === 'simple_python_16'")
    browser.js("dispatchEvent(new Event('resize'))")  # the rows are drawn again
    browser.js("new Promise(requestAnimationFrame)")
    assert browser.js("document.activeElement.textContent") == "simple_python_16"


def test_sorting(browser: Browser, run: Path) -> None:
    browser.open((run / "index.html").as_uri())
    click = "document.querySelector('th[data-sort=entry] button').click()"
    browser.js(click)
    assert browser.js(FIRST) == "irrelevance_0"
    browser.js(click)
    assert browser.js(FIRST) == "simple_python_39"
    assert browser.js("document.querySelector('th[data-sort=entry]').getAttribute('aria-sort')") == "descending"


def test_links_open_a_view(browser: Browser, run: Path) -> None:
    browser.open((run / "index.html").as_uri() + "#outcome=failed&q=question")
    assert browser.js(COUNT).startswith("10 of 50")
    browser.open((run / "index.html").as_uri() + "#simple_python_8")
    assert browser.js("document.activeElement.textContent") == "simple_python_8"
    browser.open((run / "index.html").as_uri())
    browser.js("document.querySelector('a[href^=\"#reason=value\"]').click()")
    browser.wait(f"{COUNT}.startsWith('10 of 50')")


def test_errors_alike_are_one_row_that_unfolds(browser: Browser, tmp_path: Path) -> None:
    simple = [entry(f"simple_python_{number}", f"Question number {number}?") for number in range(40)]
    data = write_data(tmp_path / "bench", {"simple_python": simple})
    errors = {f"simple_python_{number}": AdapterError("server", f"no room {number}") for number in range(30)}
    write_report(make_run(tmp_path / "run", data, errors), data=data)
    browser.open((tmp_path / "run" / "index.html").as_uri())
    assert browser.js(COUNT) == "40 of 40 entries: 30 errors, 10 passed"
    assert browser.js(ROWS) == 11
    first = "document.querySelector('#rows tr[data-place]').textContent"
    assert "30 entries: No verdict, not counted: no room 0" in browser.js(first)
    browser.js("document.querySelector('#rows a.unfold').click()")
    browser.wait("location.hash === '#fold=0'")
    assert browser.js(COUNT) == "30 of 40 entries: 30 errors"
    assert browser.js(ROWS) > 11
    browser.press("Escape")
    assert browser.js(ROWS) == 11
    browser.open((tmp_path / "run" / "index.html").as_uri() + "#simple_python_7")
    assert browser.js("document.activeElement.textContent") == "simple_python_7"


def test_dark_and_light(browser: Browser, run: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.scheme("dark")
    browser.open((run / "index.html").as_uri())
    dark = browser.js(ground)
    browser.js("document.getElementById('theme').click()")
    light = browser.js(ground)
    assert dark != light
    for _ in range(10):  # a page left at once may not have handed its choice on yet
        browser.open((run / "entries" / "simple_python_0.html").as_uri())
        if browser.js(ground) == light:
            break
    assert browser.js(ground) == light  # the choice is kept
    browser.js("document.getElementById('theme').click()")
    assert browser.js(ground) == dark
    browser.js("localStorage.clear()")


@pytest.mark.slow
def test_a_packed_page_reads_as_the_page_of_a_file(browser: Browser, tmp_path: Path) -> None:
    """What passed is put together by a script; the template makes the same of it."""
    hostile = "a\x00b\u202ec\u200bd <b>x</b> [l](javascript:pwned=1)\n" + "y" * 4000
    simple = [entry(f"simple_python_{number}", f"Seats {number}? {hostile}") for number in range(3)]
    none = [entry("irrelevance_0", "Sing.", possible_answer=None), entry("irrelevance_1", "Hm.", possible_answer=None)]
    data = write_data(tmp_path / "bench", {"simple_python": simple, "irrelevance": none})
    replies = {"irrelevance_0": Reply(hostile, reasoning=hostile), "irrelevance_1": Reply("")}
    single = make_run(tmp_path / "run", data, replies)
    turns = tmp_path / "turns"
    evaluation.run("bundled", "oracle:", categories=["multi_turn_miss_func"], out=turns)
    for folder, source in ((single, data), (turns, None)):
        write_report(folder, data=source)
        run = RunDirectory.open(folder)
        found = questions(source, run.fingerprint.to_dict()["dataset"])
        for line in run.records():
            told = EntryResult.of(line, found(line["id"]), stored_of(run.transcripts, line))
            page = tmp_path / "page.html"
            page.write_bytes(entry_page(told, PageContext.of(run, found.data), Neighbours("", "")))
            texts = []
            for address in (page.as_uri(), f"{folder.as_uri()}/index.html#entry={line['id']}"):
                browser.open(address)
                browser.wait("[...document.querySelectorAll('main h1')].some(each => each.offsetParent)")
                texts.append(browser.js(SHOWN))
            assert line["id"] in texts[0]
            assert texts[0] == texts[1]
            assert browser.js("window.pwned === undefined && document.querySelectorAll('main img').length === 0")


def test_packed_pages_are_walked_by_keys_and_missing_ones_told(browser: Browser, run: Path, tmp_path: Path) -> None:
    browser.open((run / "index.html").as_uri() + "#entry=simple_python_5")
    browser.wait("document.title === 'simple_python_5 · passed'")
    browser.press("j")
    browser.wait("document.title === 'simple_python_6 · passed'")
    browser.press("k")
    browser.wait("document.title === 'simple_python_5 · passed'")
    browser.press("Escape")
    browser.wait("location.hash === '#simple_python_5' && document.activeElement.textContent === 'simple_python_5'")
    browser.press("Enter")
    browser.wait("location.hash === '#entry=simple_python_5' && document.querySelector('#packed-entry h1')")
    browser.open((run / "index.html").as_uri() + "#entry=simple_python_8")  # it failed: its page is a file
    browser.wait("location.pathname.endsWith('/entries/simple_python_8.html')")
    lacking = shutil.copytree(run, tmp_path / "lacking")
    (lacking / "entries" / "0.js").unlink()
    browser.open((lacking / "index.html").as_uri() + "#entry=simple_python_5")
    browser.wait("document.querySelector('#packed-entry .notice')?.innerText.includes('entries/0.js cannot be loaded')")
    browser.errors[:] = [each for each in browser.errors if "ERR_FILE_NOT_FOUND" not in each]


def test_hostile_replies_do_not_run(browser: Browser, tmp_path: Path) -> None:
    said = (
        "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1><a href='javascript:pwned=1'>x</a>"
    )
    data = write_data(tmp_path / "bench", {"simple_python": [entry(f"simple_python_{n}", said) for n in range(2)]})
    made = make_run(tmp_path / "run", data, {"simple_python_0": Reply(said), "simple_python_1": booking(film=said)})
    write_report(made, data=data)
    for name in ("index.html", "entries/simple_python_0.html", "entries/simple_python_1.html"):
        browser.open((made / name).as_uri())
        assert browser.js("window.pwned") is None
        assert browser.js("document.body.innerText.includes('window.pwned=1')")
        assert browser.js("document.querySelectorAll('a[href^=javascript], img').length") == 0


@pytest.mark.slow
def test_the_full_set_opens_fast(browser: Browser, tmp_path: Path) -> None:
    records = [
        record(f"{name}_{number}", name, "openai:a@fc", "failed" if number % 3 else "passed")
        for name, row in CATEGORIES.items()
        if row.scored
        for number in range(row.official_size)
    ]
    assert len(records) == 5106
    index = write_report(stored_run(tmp_path / "run", records))
    assert index.stat().st_size < 5_000_000
    assert browser.open(index.as_uri()) < 2
    assert browser.js(COUNT).startswith("5106 of 5106")
    assert browser.js(ROWS) < 100  # only what is seen is in the page
    started = time.perf_counter()
    browser.open(index.as_uri() + "#q=live_multiple_1052")
    assert browser.js(ROWS) == 1
    assert time.perf_counter() - started < patience(2)
    browser.open(index.as_uri() + "#sort=-entry")
    browser.js("scrollTo(0, document.body.scrollHeight)")
    browser.wait("document.querySelector('#rows tr:last-child a')?.textContent === 'irrelevance_0'")


def test_without_scripts_the_scores_stand(browser: Browser, run: Path) -> None:
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open((run / "index.html").as_uri())
        assert browser.js("document.querySelector('table.brief').innerText.includes('%')")
        assert browser.js("document.querySelector('table.scores').textContent.includes('simple_')")
        assert browser.js("document.querySelectorAll('svg rect').length") >= 2
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_link_into_a_folded_part_opens_it(browser: Browser, run: Path) -> None:
    browser.open((run / "index.html").as_uri())
    assert not browser.js("document.getElementById('cost').closest('details').open")
    browser.js("location.hash = '#cost'")
    browser.wait("document.getElementById('cost').closest('details').open")


def test_a_narrow_screen_has_no_side_scroll(browser: Browser, run: Path) -> None:
    browser.size(380, 800)
    for name in ("index.html", "entries/simple_python_0.html"):
        browser.open((run / name).as_uri())
        assert browser.js("document.documentElement.scrollWidth <= 380")


def test_the_board_sorts(browser: Browser, tmp_path: Path) -> None:
    runs = []
    for place, model in enumerate(MODELS):
        records = [
            record(f"multiple_{n}", "multiple", model, "passed" if n < place + 2 else "failed", cost_usd=3.0 - place)
            for n in range(6)
        ]
        runs.append(stored_run(tmp_path / f"run{place}", records))
    page, *_ = write_leaderboard(runs, tmp_path / "board")
    browser.open(page.as_uri())
    first = "document.querySelector('#places tbody th').textContent"
    assert browser.js(first) == "openai:b@fc"
    click = "[...document.querySelectorAll('#places th[data-sort] button')].find(b => b.textContent === 'cost').click()"
    browser.js(click)
    assert browser.js(first) == "openai:a@fc"
