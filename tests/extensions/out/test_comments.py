"""One comment a request, found by its marker; the main branch's run fetched; what a forge refuses is said."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.out.finished import MOST_CHARACTERS, NO_BASELINE, body
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.out.forge import TOKEN, Forge


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``main`` passed everything, ``pr`` did not."""
    folder = tmp_path_factory.mktemp("runs")
    for name, spec in (("main", "oracle:"), ("pr", "lexical:")):
        run("bundled", spec, out=folder / name, settings=Settings(), categories=["simple_java"])
    return folder


@pytest.fixture
def on_github(forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    values = {"EVENT_PATH": event, "API_URL": forge.address, "REPOSITORY": "o/r", "TOKEN": TOKEN, "RUN_ID": 3}
    values |= {"ACTIONS": 1, "SERVER_URL": "https://forge.test"}
    for name, value in values.items():
        monkeypatch.setenv(f"GITHUB_{name}", str(value))
    monkeypatch.delenv("GITLAB_CI", raising=False)
    return event


@pytest.fixture
def on_gitlab(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_EVENT_PATH", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    values = {"GITLAB_CI": "true", "CI_API_V4_URL": forge.address, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7"}
    values |= {
        "GITLAB_TOKEN": TOKEN,
        "CI_JOB_TOKEN": TOKEN,
        "CI_DEFAULT_BRANCH": "main",
        "CI_JOB_NAME": "function calling",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("where", ["on_github", "on_gitlab"])
def test_one_comment_is_written_and_then_kept_up_to_date(
    where: str, runs: Path, forge: Forge, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(where)
    for number in range(150):  # two pages of others'
        forge.add(f"thanks {number}", "User")
    forge.add("they say <!-- pytest-bfcl:run --> marks it", "User")  # not at the beginning: not ours
    words = ["comment", str(runs / "pr"), "--against", str(runs / "main"), "--post"]
    assert main(words) == 0
    (ours,) = [each for each in forge.comments.values() if each["body"].startswith("<!-- pytest-bfcl:run -->")]
    assert "The score fell by" in ours["body"]
    assert main([*words, "--key", "other"]) == 0
    ours["body"] = "<!-- pytest-bfcl:run --> of an earlier push"
    assert main(words) == 0
    assert "| group | entries | before | after | difference | 95 % interval |" in ours["body"]
    assert len(forge.comments) == 153
    assert TOKEN not in "".join(capsys.readouterr())


def test_what_the_comment_says(runs: Path) -> None:
    alone = body(runs / "pr", runs / "nowhere", key="run", link="https://x.test/1")
    assert NO_BASELINE in alone
    assert "| simple\\_java | " in alone
    assert "of the loss" in alone
    assert alone.endswith("[This job](https://x.test/1)\n")
    assert NO_BASELINE not in body(runs / "pr", None, key="run", link="javascript:x)")
    assert "javascript" not in body(runs / "pr", None, key="run", link="javascript:x)")
    long = body(runs / "pr", runs / "main", key="k" * 80)
    assert len(long) <= MOST_CHARACTERS + 1
    assert main(["comment", str(runs / "pr"), "--key", "--><b>"]) == 2


def test_no_words_of_a_model_end_the_fence_or_name_people(runs: Path, tmp_path: Path) -> None:
    line = json.loads((runs / "pr" / "results.jsonl").read_text().splitlines()[3])
    line |= {"outcome": "failed", "id": "simple_java_0\n```\n@everyone <!-- pytest-bfcl:run -->"}
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in ("run.json", "summary.json"):
        folder.joinpath(name).write_bytes((runs / "pr" / name).read_bytes())
    folder.joinpath("results.jsonl").write_text(json.dumps(line) + "\n")
    text = body(folder, None, key="run")
    fence = text.split("**Why**\n\n")[1].partition("text\n")[0]
    inner = text.split(f"{fence}text\n")[1].split(f"\n{fence}")[0]
    assert set(fence) == {"`"}
    assert fence not in inner
    assert "@everyone" not in text.replace(inner, "")


@pytest.mark.parametrize("trouble", ["forbidden", "token", "silent", "no_request", "no_event"])
def test_what_the_forge_refuses_is_said_and_nothing_else(
    trouble: str,
    runs: Path,
    forge: Forge,
    on_github: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forge.forbidden = trouble == "forbidden"
    if trouble == "token":
        monkeypatch.setenv("GITHUB_TOKEN", "another")
    if trouble == "silent":
        monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:1")
    if trouble == "no_request":
        on_github.write_text('{"push": 1}')
    if trouble == "no_event":
        on_github.unlink()
    code = main(["comment", str(runs / "pr"), "--post"])
    said = "".join(capsys.readouterr())
    told = {"forbidden": (1, "pull-requests: write"), "token": (1, "the token is not valid"), "silent": (1, "refused"),
            "no_request": (0, "nothing was posted"), "no_event": (2, "GITHUB_EVENT_PATH")}[trouble]  # fmt: skip
    assert (code, told[1] in said) == (told[0], True), said
    assert "Traceback" not in said
    assert TOKEN not in said
    assert not forge.comments


def zipped(*files: tuple[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files:
            archive.writestr(name, text)
    return data.getvalue()


@pytest.mark.slow
def test_the_main_branchs_run_is_fetched(
    runs: Path, forge: Forge, on_gitlab: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["comment", "baseline", "-o", str(tmp_path / "base")]
    assert main(words) == 0
    assert "no baseline yet" in capsys.readouterr().out
    assert not (tmp_path / "base").exists()
    kept = [
        (f"bfcl-run/{name}", (runs / "main" / name).read_text())
        for name in ("run.json", "results.jsonl", "summary.json")
    ]
    forge.artifacts = zipped(*kept, ("bfcl-run/../../escape", "x"), ("bfcl-run/journal/a", "x"))
    assert main(words) == 0
    assert sorted(each.name for each in (tmp_path / "base").iterdir()) == ["results.jsonl", "run.json", "summary.json"]
    assert main(["compare", str(tmp_path / "base"), str(runs / "main")]) == 0
    assert main(words) == 2  # nothing is overwritten
    forge.artifacts = zipped(("other.txt", "x"))
    assert main(["comment", "baseline", "-o", str(tmp_path / "more")]) == 2
    forge.artifacts = b"no zip"
    assert main(["comment", "baseline", "-o", str(tmp_path / "more")]) == 2
    assert not (tmp_path / "more").exists()
