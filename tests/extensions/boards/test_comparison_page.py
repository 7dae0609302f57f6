"""The page of a comparison: links, both answers, repeats, several models, other rules, what is missing, filters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.models import Request
from pytest_bfcl.reporting.report import write_report
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.reporting.browser import Browser
from tests.reporting.samples import RIGHT, booking, write_data

WRONG = booking(film="Heat", seats=3)
Wrong = Mapping[str, tuple[int, ...]]
"""Entry id → repeats in which it is answered wrong."""


def play(out: Path, data: DataSet, wrong: Wrong, *, repeat: int = 1) -> Path:
    """A run of a model that is wrong exactly there."""
    asked: dict[str, int] = {}

    class Model:
        spec, mode, underscore_names = "fixture:cinema@fc", "fc", True

        async def generate(self, request: Request) -> Reply:
            entry_id = request.entry.id
            asked[entry_id] = number = asked.get(entry_id, 0) + 1
            return WRONG if number in wrong.get(entry_id, ()) else booking(**RIGHT)

        async def aclose(self) -> None:
            pass

    run(data, Model(), out=out, settings=Settings(repeat=repeat, concurrency=1))
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return write_data(tmp_path_factory.mktemp("data") / "bench", None)


def compare(*arguments: object) -> str:
    """The page that a comparison writes."""
    *rest, page = map(str, arguments)
    assert main(["compare", *rest, "--html", page]) == 0
    return Path(page).read_text(encoding="utf-8").replace("<wbr>", "")


def changes(page: str) -> dict[str, str]:
    """Entry id → what the page holds of its change."""
    parts = re.split(r'(?=<details class="change")', page.split("<h3>Reasons")[0])[1:]
    return {re.search(r"<summary><code>(.*?)</code>", part)[1]: part for part in parts}  # type: ignore[index]


def text(part: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def test_each_change_opens_both_answers_and_links_to_both_pages(tmp_path: Path, data: DataSet) -> None:
    before = play(tmp_path / "a" / "before", data, {"simple_python_1": (1,)})
    after = play(tmp_path / "after", data, {"simple_python_2": (1,), "irrelevance_0": (1,)})
    write_report(before, data=data)
    found = changes(compare(before, after, "--data", data.root, tmp_path / "pages" / "c.html"))
    assert list(found) == ["simple_python_2", "simple_python_1"]
    regressed = text(found["simple_python_2"])
    assert "The argument “seats” is 3; accepted is 2." in regressed
    assert 'cinema.book(film="Heat", seats=2, row="back" or (left out))' in regressed.replace("&#34;", '"')
    assert "Two seats for Heat, at the back." in regressed
    links = re.findall(r'<a href="([^"]+)">(before|after|page)</a>', found["simple_python_2"])
    assert {name for _, name in links} == {"before", "page"}  # the other run has no report
    for link, _ in links:  # it passed there: its page is a packed one
        place, _, entry = link.partition("#entry=")
        assert (tmp_path / "pages" / place).resolve() == before / "index.html"
        assert entry.startswith("simple_python_2")
    ((link, _),) = re.findall(r'<a href="([^"]+)">(before)</a>', found["simple_python_1"])
    assert (tmp_path / "pages" / link).resolve() == before / "entries" / "simple_python_1.html"
    assert 'data-direction="improved"' in found["simple_python_1"]
    assert 'data-reasons="value_error:others → passed"' in found["simple_python_1"]


def test_score_folders_are_judged_again_where_their_results_are(tmp_path: Path) -> None:
    bundled = open_data("bundled")
    ids = [ref.id for ref in bundled.index("simple_python")]

    def official(name: str, wrong: str) -> Path:
        run_path = tmp_path / f"run-{name}"
        run("bundled", "oracle:@fc", categories=["simple_python"], out=run_path)
        lines = [json.loads(text) for text in (run_path / "results.jsonl").read_text().splitlines()]
        for each in lines:
            if each["id"] == wrong:
                each |= {"output": [], "calls": [], "outcome": "failed", "tag": "WRONG_ANSWER",
                         "reason": "simple_function_checker:wrong_count"}  # fmt: skip
        (run_path / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
        assert main(["export", str(run_path), "-o", str(tmp_path / name), "--data", "bundled"]) == 0
        return tmp_path / name / "score"

    before, after = official("before", ids[0]), official("after", ids[1])
    found = changes(compare(before, after, "--data", "bundled", tmp_path / "c.html"))
    assert list(found) == [ids[1], ids[0]]
    assert "It made no call, where one call is expected." in text(found[ids[1]])
    for folder in (before, after):  # only the scores are left: reasons, and what was expected
        (folder.parent / "result").rename(folder.parent / "gone")
    bare = changes(compare(before, after, "--data", "bundled", tmp_path / "bare.html"))
    assert list(bare) == [ids[1], ids[0]]
    assert "simple_function_checker:wrong_count" in bare[ids[1]]


@pytest.mark.slow
def test_the_script_filters_and_reading_needs_none(browser: Browser, tmp_path: Path, data: DataSet) -> None:
    before = play(tmp_path / "before", data, {"simple_python_1": (1,)})
    after = play(tmp_path / "after", data, {"simple_python_2": (1,), "simple_python_3": (1,)})
    out = tmp_path / "c.html"
    page = compare(before, after, "--data", data.root, out)
    assert len(changes(page)) == 3
    browser.open(out.as_uri())
    shown = "document.querySelectorAll('details.change:not([hidden])').length"
    choose = "(name, value) => { const box = document.querySelector(name); box.value = value; " \
        "box.dispatchEvent(new Event('change')); }"  # fmt: skip
    assert browser.js(shown) == 3
    browser.js(f"({choose})('.by-direction', 'improved')")
    assert browser.js(shown) == 1
    browser.js(f"({choose})('.by-reasons', 'passed → value_error:others')")
    assert browser.js(shown) == 0
    browser.js(f"({choose})('.by-direction', '')")
    assert browser.js(shown) == 2
    assert browser.js("document.querySelector('.shown').textContent") == "2 of 3 shown"
    browser.open(out.as_uri() + "#improved-simple_python_1")
    browser.wait("document.getElementById('improved-simple_python_1').open")
