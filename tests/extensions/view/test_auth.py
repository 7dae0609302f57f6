"""What is refused: other names and places, no token, writing, paths outside; and what hostile files cannot do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_bfcl.extensions.view.auth import Auth
from pytest_bfcl.reporting.rendering import safe_id
from pytest_bfcl.runs.journal import Journal, ReplyKey, Requests
from pytest_bfcl.transcript import Reply
from tests.extensions.view.samples import TOKEN, Looking, Tags, client, dated, records, runs_of
from tests.reporting.samples import record, stored_run

SAID = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1><a href='javascript:pwned=1'>"


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, f"/{TOKEN}/", 200),
        ({"host": "localhost:8000"}, f"/{TOKEN}/", 200),
        ({"host": "LOCALHOST:8000"}, f"/{TOKEN}/", 200),
        ({"origin": "http://127.0.0.1:8000"}, f"/{TOKEN}/", 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, f"/{TOKEN}/", 200),
        ({"host": "evil.example:8000"}, f"/{TOKEN}/", 421),
        ({"host": "127.0.0.1"}, f"/{TOKEN}/", 421),
        ({"host": "127.0.0.1:8001"}, f"/{TOKEN}/", 421),
        ({"host": "127.0.0.1.evil.example:8000"}, f"/{TOKEN}/", 421),
        ({"host": ""}, f"/{TOKEN}/", 421),
        ({"origin": "http://evil.example"}, f"/{TOKEN}/", 403),
        ({"origin": "null"}, f"/{TOKEN}/", 403),
        ({"origin": "https://127.0.0.1:8000"}, f"/{TOKEN}/", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, f"/{TOKEN}/", 403),
        ({}, "/", 403),
        ({}, "/index.html", 403),
        ({}, f"/{TOKEN}x/", 403),
        ({}, f"/{TOKEN[:-1]}/", 403),
        ({}, "/assets/pages.js", 403),
        ({}, f"/run/night-1/index.html?token={TOKEN}", 403),
    ],
)
def test_who_may_ask(looking: Looking, headers: dict[str, str], path: str, status: int) -> None:
    answer = looking.http.get(path, headers=headers)
    assert answer.status_code == status
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    if status != 200:
        assert "night-1" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_for_looking(looking: Looking, method: str) -> None:
    assert looking.http.request(method, f"/{TOKEN}/").status_code == 405
    assert looking.http.request("HEAD", f"/{TOKEN}/").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "run/../index.html/..%2f..%2f..%2fetc/passwd", "run/%2e%2e/index.html", "run/..%2f..%2fetc/index.html",
        "run/night-1/entries/..%2f..%2frun.json", "run/night-1/entries/%2e%2e%2frun.json", "run/night-1/run.json",
        "run/night-1/results.jsonl", "assets/..%2f..%2fauth.py", "assets/view.css", "assets/base.html.jinja",
        "assets/pages.py", "run/%00/index.html", "entry/..%2f..%2fetc%2fpasswd.html", "compare/night-1/..%2f.html",
        "run//etc/passwd/index.html", "run/no-run.json/index.html", "run/broken/wire.html",
    ],
)  # fmt: skip
def test_paths_outside_give_nothing(looking: Looking, path: str) -> None:
    answer = looking.http.get(f"/{TOKEN}/{path}")
    assert answer.status_code in (403, 404, 409)
    assert "root:" not in answer.text


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    secret = stored_run(tmp_path / "secret", records(1))
    shown = stored_run(tmp_path / "runs" / "shown", records(2))
    (tmp_path / "runs" / "link").symlink_to(secret)
    inner = stored_run(tmp_path / "runs" / "inner", records(3))
    (inner / "results.jsonl").unlink()
    (inner / "results.jsonl").symlink_to(secret / "results.jsonl")
    looking = client(runs_of(tmp_path / "runs", tmp_path / "cache"))
    text = looking.get("")
    assert 'data-run="shown"' in text
    assert 'data-run="link"' not in text
    assert 'data-run="inner"' not in text
    assert "leads out" in text
    looking.get("run/inner/index.html", 409)
    looking.get("run/link/index.html", 404)
    (shown / "results.jsonl").rename(tmp_path / "runs" / "kept")  # swapped while somebody looks
    (shown / "results.jsonl").symlink_to(secret / "results.jsonl")
    looking.get("run/shown/entries/simple_python_3.html", 409)
    (shown / "transcripts").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "runs" / "pipe")
    looking.get("")


def test_who_an_address_lets_in() -> None:
    everywhere = Auth.at("0.0.0.0", 8000, "t")
    assert everywhere.refusal("GET", "/t/", {"host": "192.168.7.7:8000"}) is None
    assert everywhere.refusal("GET", "/t/", {"host": "[fe80::1]:8000"}) is None
    for host in ("evil.example:8000", "192.168.7.7:80", "192.168.7.7"):
        refused = everywhere.refusal("GET", "/t/", {"host": host})
        assert refused is not None
        assert refused[0] == 421
    named = Auth.at("10.1.2.3", 8000, "t")
    assert named.refusal("GET", "/t/", {"host": "10.1.2.3:8000"}) is None
    assert named.refusal("GET", "/t/", {"host": "10.1.2.4:8000"}) is not None
    assert Auth.at("127.0.0.1", 80, "t").refusal("GET", "/t/", {"host": "127.0.0.1"}) is None


def hostile_run(folder: Path, name: str = "hostile") -> Path:
    """A run that says its worst in every field that a reader lets through."""
    lines = [
        {**record(f"simple_python_{number}", "simple_python", SAID, "failed"), "reason": SAID, "worker": SAID,
         "detail": {"error": SAID, "rule": SAID, "advice": SAID, "param": SAID, "called": SAID, "expected": [SAID]},
         "output": [{"name": SAID, "arguments": SAID}], "calls": [{SAID: {SAID: SAID}}], "reasoning": SAID,
         "started_at": SAID, "finish_reasons": SAID, "extra": {SAID: SAID}, "corrected_reason": SAID}
        for number in range(3)
    ]  # fmt: skip
    lines[1]["id"] = SAID
    lines[2]["id"] = "../../../../etc/passwd"
    run = stored_run(folder / name, lines)
    facts = json.loads((run / "run.json").read_text())
    facts["dataset"] |= {"name": SAID, "version": SAID}
    facts |= {"rules_version": SAID, "plugin_version": SAID, "started_at": SAID, "state": f"stopped:{SAID}"}
    facts["models"] = [{"model": SAID, "mode": SAID, "base_url": SAID, "api": SAID, "headers": {SAID: "x"}}]
    (run / "run.json").write_text(json.dumps(facts))
    summary = json.loads((run / "summary.json").read_text())
    summary["gate"] = {"verdict": SAID, "checks": [{"name": SAID, "ok": False, "why": SAID}]}
    summary["fingerprint"] = facts
    (run / "summary.json").write_text(json.dumps(summary))
    function = {"name": SAID, "description": SAID, "parameters": {"properties": {SAID: {"type": SAID}}}}
    asked = Requests(None).delta([{"role": SAID, "content": SAID}], [function])
    with Journal(run / "journal") as journal:
        journal.record(ReplyKey(SAID, "fc", "simple_python_0", 1, 0, 0, "0" * 64), Reply(SAID), asked)
    wire = {
        "check": SAID, "group": SAID, "model": SAID, "api": SAID, "endpoint": SAID, "state": "broke", "rule": SAID,
        "where": SAID, "counts": {"broke": 1}, "why": SAID, "proof": SAID,
        "exchanges": [{"curl": SAID, "status": 200, "content_type": SAID, "seconds": 1.0, "received": SAID}],
    }  # fmt: skip
    (run / "wire.jsonl").write_text(json.dumps(wire) + "\n")
    hostile_audit(folder)
    return run


def hostile_audit(folder: Path) -> None:
    """An audit whose findings say the worst."""
    finding = dict.fromkeys(("rule", "title", "why", "advice", "level", "id", "message", "place"), SAID)
    lines = [{"audit": SAID}, {**finding, "proof": [SAID]}, {**finding, "id": "../../etc/passwd", "proof": []}]
    (folder / "audit").mkdir(exist_ok=True)
    (folder / "audit" / "audit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


HOSTILE_PAGES = (
    "", "run/{run}/index.html", "run/{run}/entries/{entry}", "run/{run}/wire.html", "run/{run}/live.html",
    "entry/{beside}", "compare/{run}/{other}.html", "leaderboard.html", "history.html", "stability.html",
    "findings.html", "compare/index.html", "audit/audit.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Looking:
    folder = tmp_path_factory.mktemp("hostile")
    hostile_run(folder)
    hostile_run(folder, "hostile-2")
    dated(stored_run(folder / SAID.replace("/", "_")[:100], records(1)), 3)
    return client(runs_of(folder, tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("page", HOSTILE_PAGES)
def test_nothing_of_a_hostile_run_is_markup(hostile: Looking, page: str) -> None:
    runs = [name for name in hostile.store.runs.look() if name.startswith("hostile")]
    opened = hostile.store.open(hostile.store.runs.look()[runs[0]])
    for entry, row in opened.rows.items():
        path = page.format(run=runs[0], other=runs[1], entry=entry, beside=f"{safe_id(row.id)}.html")
        answer = hostile.http.get(f"/{TOKEN}/{path}")
        assert answer.status_code == 200, answer.text[-500:]
        found = Tags(answer.text)
        assert found.inline == []
        assert "img" not in found.tags
        assert [link for link in found.found if link.lower().lstrip().startswith(("javascript", "data:"))] == []
