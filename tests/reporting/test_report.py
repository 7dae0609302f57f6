"""The report of a run: what stands in index.html and in the pages of entries."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.reporting import packing, sources
from pytest_bfcl.reporting.report import write_report
from pytest_bfcl.reporting.sources import Section
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.transcript import Reply
from tests.reporting.samples import booking, entry, make_run, packed_pages, record, stored_run, write_data

HOSTILE = (
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "[link](javascript:window.pwned=1)",
    "{{ 7*7 }} {% raw %}",
    "null \x00 bell \x07 escape \x1b[31m",
    "right \u202eto left\u202c zero\u200bwidth \u2028 line",
    "surrogate \ud800 end",
    "x" * 50_000,
    "http://x.example/a.png",
)


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    return write_data(tmp_path / "bench")


def page(run: Path, name: str) -> str:
    return (run / "entries" / f"{name}.html").read_text(encoding="utf-8").replace("<wbr>", "")


def text(markup: str) -> str:
    """What a reader sees, roughly."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup.replace("<wbr>", ""))).split())


def listing(run: Path) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', (run / "index.html").read_text(encoding="utf-8")
    )
    assert found
    return dict(json.loads(found.group(1)))


def test_questions_come_from_the_data_set_that_was_measured_only(tmp_path: Path, data: DataSet) -> None:
    run = make_run(tmp_path / "run", data, {"simple_python_1": booking(film="Heat", seats=3)})
    assert "Questions are not shown" in text(write_report(run).read_text(encoding="utf-8"))
    shown = text(page(run, "simple_python_1"))
    assert "The argument “seats” is 3; accepted is 2." in shown
    assert "Request: Two seats for Heat" in shown  # from the stored transcript
    other = write_data(tmp_path / "other", {"simple_python": [entry("simple_python_0", "Another question")]})
    assert "is not what was measured" in text(write_report(run, data=other).read_text(encoding="utf-8"))
    assert "Another question" not in json.dumps(packed_pages(run))


@pytest.mark.parametrize("said", HOSTILE)
def test_model_text_is_shown_and_not_run(tmp_path: Path, said: str) -> None:
    data = write_data(tmp_path / "bench", {"simple_python": [entry(f"simple_python_{n}") for n in range(3)]})
    replies = {
        "simple_python_0": Reply(said, reasoning=said),
        "simple_python_1": booking(film=said, seats=2),
        "simple_python_2": booking(**{said[:200]: said}),
    }
    run = make_run(tmp_path / "run", data, replies)
    write_report(run, data=data)
    for name in ("index.html", *(f"entries/simple_python_{number}.html" for number in range(3))):
        markup = (run / name).read_bytes().decode("utf-8")
        assert len(re.findall(r"<script>", markup)) == 1
        assert "default-src 'none'" in html.unescape(markup)
        assert "unsafe" not in markup
        assert not re.search(r"<(svg onload|link|iframe|object|embed|img)\b|<[^>\"]*\ssrc=|@import|url\(", markup)
        assert not [link for link in re.findall(r'href="([^"]*)"', markup) if ":" in link]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u200b\u2028]", markup)
    shown = text(page(run, "simple_python_0"))
    if len(said) < 100 and said.isprintable():
        assert " ".join(said.split()) in shown
    if len(said) > 20_000:
        assert "34000 more characters; the whole text is in the run's transcripts" in shown
    assert len(page(run, "simple_python_0")) < 200_000


def test_odd_ids_make_safe_file_names(tmp_path: Path) -> None:
    model = "openai:tiny@fc"
    ids = ("simple_python_../../../etc/x", "simple_python_<b>_1", "simple_python_" + "y" * 300)
    run = stored_run(tmp_path / "run", [record(name, "simple_python", model, "failed") for name in ids])
    write_report(run)
    names = sorted(path.name for path in (run / "entries").iterdir())
    assert len(names) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,120}\.html", name) for name in names)
    assert not (tmp_path / "etc").exists()
    assert "<b>_1" not in (run / "index.html").read_text(encoding="utf-8")


def test_sections_of_others_stand_in_the_page_and_their_failures_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(run: RunDirectory, lines: Sequence[Any]) -> Section:
        return Section("mine", "Mine", Markup(f"<h2 id='mine'>{len(lines)} lines</h2>"), first=True)

    points = {name: EntryPoint(name, f"{__name__}:{name}", "pytest_bfcl.sections") for name in ("mine", "broken")}
    monkeypatch.setattr(sources.entry_points, "offered", lambda kind: points)
    monkeypatch.setattr(sources.entry_points, "load", lambda point, kind: made if point.name == "mine" else 1 / 0)
    page = write_report(stored_run(tmp_path / "run", [record("simple_python_0", "simple_python", "a@fc")])).read_text()
    assert page.index("<h2 id='mine'>1 lines</h2>") < page.index('id="scores"')
    assert '<a href="#mine">Mine</a>' in page
    assert "The section broken is not shown: ZeroDivisionError: division by zero." in page


@pytest.mark.parametrize("subs", [[{"reason": "value_error:others"}], [{"call": "first"}], 7])
def test_details_no_run_writes_do_not_stop_a_report(tmp_path: Path, data: DataSet, subs: object) -> None:
    run = make_run(tmp_path / "run", data, {})
    with RunDirectory.open(run) as opened:
        odd = next(iter(opened.records())) | {"outcome": "failed", "tag": "WRONG_ANSWER"}
    odd |= {"reason": "parallel_function_checker_no_order:cannot_find_match"}
    odd |= {"detail": {"sub_errors": subs, "wanted": {"f": {}}}}
    with open(run / "results.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(odd) + "\n")
    write_report(run, data=data)
    assert odd["id"] in packed_pages(run) or odd["id"] in text(page(run, odd["id"]))
    assert len(packed_pages(run)) + len(list((run / "entries").glob("*.html"))) == len(listing(run)["rows"])


@pytest.mark.slow
def test_a_very_large_run_stays_below_five_megabytes(tmp_path: Path) -> None:
    from pytest_bfcl.reporting.listing import MAX_BYTES, Listing

    listing = Listing(["m"], {})
    for number in range(40_000):
        listing.add(record(f"simple_python_{number}", "simple_python", "m", "failed"), "what was asked " * 9)
    text = listing.embedded()
    assert json.loads(text)["shortened"]
    assert len(text.encode()) <= MAX_BYTES


def test_many_pages_lie_in_several_shards_and_time_may_run_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PAGES_A_SHARD", 4)
    made = [record(f"simple_python_{n}", "simple_python", "m@fc", "failed" if n % 3 else "passed") for n in range(30)]
    run = stored_run(tmp_path / "run", made)
    write_report(run)
    assert len(list((run / "entries").glob("*.js"))) == 3
    assert len(packed_pages(run)) == 10
    with pytest.raises(TimeoutError):
        write_report(run, within_s=0)


def test_continuing_a_run_replaces_pages(tmp_path: Path, data: DataSet) -> None:
    run = make_run(tmp_path / "run", data, {})
    write_report(run, data=data)
    with RunDirectory.open(run) as opened:
        changed = next(iter(opened.records())) | {"outcome": "failed", "tag": "WRONG_ANSWER", "reason": "x:y"}
    with open(run / "results.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(changed) + "\n")
    write_report(run, data=data)
    assert "x:y" in page(run, changed["id"])
    assert changed["id"] not in packed_pages(run)
    with open(run / "results.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(changed | {"outcome": "passed", "tag": None, "reason": None}) + "\n")
    write_report(run, data=data)
    assert not (run / "entries" / f"{changed['id']}.html").exists()
    assert changed["id"] in packed_pages(run)


def test_reasons_lead_to_what_to_do_and_to_the_documentation_of_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from email.message import Message

    from pytest_bfcl.reporting import rendering

    facts = Message()
    facts["Project-URL"] = "Documentation, https://example.org/docs/"
    monkeypatch.setattr(rendering, "metadata", lambda name: facts)
    rendering.documentation_of.cache_clear()
    made = [{**record("parallel_0", "parallel", "m@fc", "failed"), "reason": "value_error:string"}]
    write_report(stored_run(tmp_path / "run", made))
    rendering.documentation_of.cache_clear()
    page = (tmp_path / "run" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://example.org/docs/reasons.md"' in page
    assert "<summary>what to do</summary>Compare with the allowed texts" in page
