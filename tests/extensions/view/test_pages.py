"""What the pages say, over HTTP, without a browser: every page, deep links, damage, and files that change meanwhile."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from html import unescape
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.lab.pages import FindingPage, write_audit_pages
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.live import LiveRun
from pytest_bfcl.extensions.view.site import write_site
from pytest_bfcl.scoring.comparison import compare_measurements
from pytest_bfcl.scoring.measurements import open_measurement
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from tests.extensions.view.samples import MODELS, TOKEN, Looking, Tags, append, client, dated, records, runs_of
from tests.models.loopback import threaded
from tests.reporting.samples import record, stored_run

ENTRY = "run/night-1/entries/simple_python_3.html"
PAGES = (
    "", "index.html", "run/night-1/", "run/night-1/index.html", "run/both/index.html", "run/torn/index.html", ENTRY,
    "entry/simple_python_3.html", "entry/simple_python_3.html?runs=night-1,night-2", "compare/index.html",
    "compare/night-1/night-2.html", "compare/night-1/torn.html", "leaderboard.html", "history.html", "stability.html",
    "findings.html", "run/night-1/live.html", "audit/audit.html",
)  # fmt: skip


@contextmanager
def saying_no() -> Iterator[str]:
    """The address of an endpoint that answers every request with words."""
    reply = {"choices": [{"message": {"role": "assistant", "content": "No, thank you."}, "finish_reason": "stop"}]}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with threaded(Handler) as address:
        yield address


@pytest.fixture(scope="module")
def status(looking: Looking) -> Callable[[str], int]:
    """What an address is answered with; each is asked once."""
    return cache(lambda address: looking.http.get(address).status_code)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_whole_and_its_links_lead_somewhere(
    looking: Looking, status: Callable[[str], int], page: str
) -> None:
    links = Tags(looking.get(page))
    assert links.inline == []
    here = f"http://127.0.0.1:8000/{TOKEN}/{page}"
    for link in sorted(set(links.found))[:60]:
        there = urljoin(here, link)
        if urlsplit(there).path != urlsplit(here).path and not link.startswith("#"):
            assert there.startswith(f"http://127.0.0.1:8000/{TOKEN}/"), link
            assert status(there.partition("#")[0]) == 200, (page, link)


def test_the_table_has_every_run_and_names_what_is_none(looking: Looking) -> None:
    text = looking.get("")
    rows = re.findall(r'<tr data-data="([^"]*)" data-model="([^"]*)" data-state="([^"]*)" data-run="([^"]*)"', text)
    assert [(model, name) for _, model, _, name in rows] == [
        (MODELS[0], "both"), (MODELS[1], "both"), (MODELS[0], "night-3"), (MODELS[0], "torn"),
        (MODELS[0], "night-2"), (MODELS[0], "night-1"),
    ]  # fmt: skip
    refused = text.replace("<wbr>", "").split('id="refused"')[1]
    for name, why in (("foreign", "not a run directory"), ("no-run.json", "no run.json"), ("broken", "models")):
        assert re.search(rf"{name}</th><td>[^<]*{why}", refused), name


def test_next_failed_walks_through_all_failures(looking: Looking, folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "night-1" / "results.jsonl").read_text().splitlines()]
    wanted = [line["id"] for line in lines if line["outcome"] == "failed"]
    seen, page = [], f"run/night-1/entries/{lines[0]['id']}.html"
    if lines[0]["outcome"] == "failed":
        seen.append(lines[0]["id"])
    while link := re.search(r'href="([^"]+)" data-key="f"', looking.get(page)):
        page = urljoin(f"/{TOKEN}/{page}", link.group(1)).removeprefix(f"/{TOKEN}/")
        seen.append(Path(page).stem)
    assert seen == wanted


def test_next_changed_walks_through_what_a_comparison_lists(looking: Looking, folder: Path) -> None:
    (found,) = compare_measurements(*(open_measurement(folder / f"night-{night}") for night in (1, 2)))
    wanted = {change.id for change in (*found.improved, *found.regressed)}
    assert len(wanted) > 5
    text = looking.get("compare/night-1/night-2.html")
    assert set(re.findall(r'id="(?:improved|regressed)-([^"]+)"', text)) == wanted
    first = next(iter(json.loads(line)["id"] for line in (folder / "night-2" / "results.jsonl").open()))
    page, seen = f"run/night-2/entries/{first}.html?against=night-1", {first} & wanted
    while link := re.search(r'href="([^"]+)" data-key="c"', looking.get(page)):
        page = urljoin(f"/{TOKEN}/{page}", link.group(1).replace("&amp;", "&")).removeprefix(f"/{TOKEN}/")
        seen.add(Path(urlsplit(page).path).stem)
    assert seen == wanted
    part = looking.get(unquote(re.search(r'data-part="\.\./\.\./([^"]+)"', text).group(1)))  # type: ignore[union-attr]
    assert part.count('class="side verdict') == 2


def test_side_by_side_shows_every_answer(looking: Looking) -> None:
    text = looking.get("entry/multiple_2.html")
    assert text.count('class="side verdict') == 4 + 4  # four runs, and one of two models twice
    only = looking.get("entry/multiple_2.html?runs=night-2,night-1")
    labels = re.findall(r'class="side verdict [a-z]+-by" aria-label="([^"]+)"', only)
    assert labels == ["night-2", "night-1"]
    assert looking.get("entry/none_1.html", 404)


def test_damage_is_told_on_the_run(looking: Looking) -> None:
    text = looking.get("run/torn/index.html")
    assert text.count("2 damaged lines of ") == 1
    assert "cut off" in text
    assert "is damaged" in text
    assert "19 of 20 lines of simple_python are there" in text
    assert "2 damaged lines of " in looking.get("compare/night-1/torn.html")


def test_a_run_that_grows_is_seen_growing(tmp_path: Path) -> None:
    lines = records(1)
    run = dated(stored_run(tmp_path / "runs" / "now", lines[:20]), 5, state="running", planned=60, ended_at=None)
    (run / "summary.json").unlink()
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    assert '<b id="done">20</b>' in looking.get("run/now/live.html")
    assert ">live</a>" in looking.get("")
    append(run, lines[20:45])
    text = looking.get("run/now/live.html")
    assert '<b id="done">45</b><span>of 60</span>' in text
    passed = sum(line["outcome"] == "passed" for line in lines[:45])
    assert f'<td class="num">{passed}</td>' in text
    append(run, [record("simple_python_99", "simple_python", MODELS[0], "error", reason="adapter:timeout")])
    text = looking.get("run/now/live.html")
    assert '<th scope="row">adapter:<wbr>timeout</th><td class="num">1</td>' in text
    assert "simple_python_99" in text.split("Latest failures")[1]
    looking.get("run/now/entries/simple_python_99.html")
    with looking.http.stream("GET", f"/{TOKEN}/run/now/events") as events:
        dated(run, 5, state="finished")
        got = "".join(events.iter_text())
    assert got.startswith("event: figures\ndata: ")
    assert "event: ended" in got


def test_looking_again_counts_what_counting_anew_counts(tmp_path: Path) -> None:
    """Lines that were added, lines that replace an earlier one, both at once, nothing."""
    dice, lines = random.Random(5), records(3, 40, MODELS)
    run = dated(stored_run(tmp_path / "runs" / "now", lines[:7]), 5, state="running", planned=240, ended_at=None)
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    listed = looking.store.runs.look()["now"]
    live, seen = LiveRun(looking.store, listed, Links()), set()
    taken = 7
    while taken < len(lines):
        earlier = dice.sample(lines[:taken], dice.choice((0, 0, 3)))
        again = [{**line, "outcome": "error", "reason": "adapter:timeout"} for line in earlier]
        more = lines[taken : taken + dice.randrange(12)]
        taken += len(more)
        append(run, dice.sample([*again, *more], len(again) + len(more)))
        anew = LiveRun(looking.store, listed, Links()).look()
        figures = live.look()
        assert replace(figures, rate=None, left_s=None) == replace(anew, rate=None, left_s=None)
        assert figures.done == len(listed.index)
        seen.add(bool(again))
    assert seen == {True, False}


def test_files_replaced_while_somebody_looks(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "runs" / "r", records(1))
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    looking.get("run/r/index.html")
    lines = [{**line, "outcome": "passed", "reason": None, "detail": {}} for line in records(1)]
    (run / "results.jsonl").write_bytes(b"")
    append(run, lines[::-1])
    assert "Right: the rules" in looking.get("run/r/entries/simple_python_3.html")
    (run / "results.jsonl").unlink()
    (run / "run.json").unlink()
    assert "No run was found" in looking.get("")
    assert "There is no such page" in looking.get("run/r/entries/simple_python_3.html", 404)


def test_a_model_over_http_gives_a_command_without_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-of-mine")
    with saying_no() as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address.replace("//", "//user:word@") + "/v1")
        out, settings = tmp_path / "runs" / "http", Settings(concurrency=2)
        run(open_data("bundled"), "openai:mock", categories=["simple_java"], out=out, settings=settings)
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    line = json.loads((tmp_path / "runs" / "http" / "results.jsonl").open().readline())
    text = looking.get(f"run/http/entries/{line['id']}.html")
    assert "very-secret" not in text
    assert "user:word" not in text
    assert "curl -sS" in text
    assert "$OPENAI_API_KEY" in text
    assert f"{address}/v1/chat/completions" in text
    assert "No, thank you." in text


def test_findings_name_servers_and_entries_nobody_passes(looking: Looking, folder: Path) -> None:
    lines = [json.loads(line) for day in (1, 2, 3) for line in (folder / f"night-{day}" / "results.jsonl").open()]
    lines += [json.loads(line) for line in (folder / "both" / "results.jsonl").open()]
    passed = {line["id"] for line in lines if line["outcome"] == "passed"}
    never = {line["id"] for line in lines} - passed
    text = looking.get("findings.html")
    listed = set(re.findall(r'<a href="entry/([^"]+)\.html">', text))
    assert listed <= never
    assert listed == never


def test_an_audit_stands_among_the_findings(tmp_path: Path) -> None:
    finding = FindingPage(
        "no_answer", "no answer", "nobody can be right", "leave it out", "defect", "simple_python_3", "it has none",
        "possible_answer", ["line one\n  <b>two</b>"],
    )  # fmt: skip
    reading = replace(finding, rule="consensus", level="reading", id="of no run")
    write_audit_pages([finding, reading], tmp_path / "runs" / "audit", "bundled")
    with open(tmp_path / "runs" / "audit" / "audit.jsonl", "a") as file:
        file.write('{"rule": 3}\nno JSON\n[[[\n')
    dated(stored_run(tmp_path / "runs" / "one", records(1)), 1)
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    assert 'id="refused"' not in looking.get("")
    text = looking.get("findings.html")
    assert "audit/audit.html" in text
    assert '<td>bundled</td><td class="num">1</td><td class="num">1</td>' in text
    page = looking.get("audit/audit.html")
    assert "Findings: 2" in page
    assert "3 lines of the audit cannot be read" in page
    assert "line one\n  &lt;b&gt;two&lt;/b&gt;" in page
    looking.get(urljoin("audit/", "../entry/simple_python_3.html"))
    assert 'href="../entry/simple_python_3.html"' in page
    looking.get("audit/other.html", 404)
    site = write_site(looking.store, tmp_path / "site").parent
    kept = (site / "audit" / "audit.html").read_text()
    assert 'href="../entry.html#beside/simple_python_3"' in kept
    assert kept.count('href="../entry.html') == 1


def test_official_results_are_named_with_what_makes_a_run_of_them(tmp_path: Path) -> None:
    """And a run that replays them is looked at like any other."""
    answers = {"simple_java": [], "simple_javascript": []}
    model = tmp_path / "official" / "result" / "some_model-FC"
    (model / "non_live").mkdir(parents=True)
    data = open_data("bundled")
    for category, lines in answers.items():
        for ref in data.index(category):
            lines.append({"id": ref.id, "result": [{"some_function": "{}"}], "latency": 0.5})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (model / "non_live" / f"BFCL_v4_{category}_result.json").write_text(text)
    looking = client(runs_of(tmp_path / "official", tmp_path / "cache"))
    assert f"pytest --model replay:{model}" in unescape(looking.get("").replace("<wbr>", ""))
    run(data, f"replay:{model}", categories=list(answers), out=tmp_path / "runs" / "replayed")
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    lines = [json.loads(line) for line in (tmp_path / "runs" / "replayed" / "results.jsonl").open()]
    assert len(lines) == sum(map(len, answers.values()))
    text = looking.get("run/replayed/index.html")
    assert "some_model" in text
    for line in lines:
        page = looking.get(f"run/replayed/entries/{line['id']}.html")
        assert "some_function()" in page
        assert "The run keeps no messages of this entry" in page


def test_without_the_extra_the_verb_says_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["view", str(tmp_path), "--no-open"]) == 2
    said = capsys.readouterr().err
    assert 'pip install "pytest-bfcl[view]"' in said
    assert len(said.splitlines()) == 1


def test_entries_of_other_data_are_not_the_same_entry(tmp_path: Path) -> None:
    """Two data sets that both have an id: each question stands beside its own answers, or nowhere."""
    bundled = open_data("bundled")
    entry = bundled.entry("simple_python_0")
    words = str(entry.question[0][-1]["content"])[:40]
    ours = [record(entry.id, "simple_python", MODELS[0], "failed")]
    for name, day, dataset, sha in (("a", 1, "bundled", bundled.sha256), ("b", 2, "official", "cd" * 32),
                                    ("c", 3, "bundled", bundled.sha256)):  # fmt: skip
        dated(stored_run(tmp_path / name, ours, dataset=dataset, sha256=sha), day)
    with client(runs_of(tmp_path, tmp_path / "cache")).http as http:
        looking = Looking(http, None)  # type: ignore[arg-type]
        beside = unescape(looking.get("entry/simple_python_0.html"))
        assert "not the same entry" in beside
        sections = beside.split("<h2>")[1:]
        theirs = next(section for section in sections if section.startswith("official"))
        own = next(section for section in sections if section.startswith("bundled"))
        assert words in own
        assert words not in theirs
        assert "questions are not shown" in theirs.lower()
        page = unescape(looking.get("run/a/entries/simple_python_0.html"))
        assert "run/c/" in page or "/c/" in page
        assert "/b/entries" not in page
        assert words not in unescape(looking.get("run/b/entries/simple_python_0.html"))
