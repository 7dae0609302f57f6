"""The proof of entries on a server: refused by name, made again when anything it stands on changes, no mixed runs."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.models import as_model
from pytest_bfcl.session import proof
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall

SHOP = shlex.join([sys.executable, str(Path(__file__).parents[1] / "extensions" / "agents" / "shop.py")])
COMMAND = f"CART={{workdir}}/cart/fig.json {SHOP}"
KEPT = {
    "id": "kept", "category": "mcp", "mcp": "shop", "question": "Two apples, please.",
    "files": {"cart": {"copy": "template"}}, "possible_answer": [["add_to_cart(article='apple', count=2)"]],
    "expect": [{"call": "get_cart", "contains": {"apple": 2}, "only": ["cart/*"]}],
}  # fmt: skip


EMPTIES = ServerFacts("shop 1", (ServedTool("empty", {}, "1"),))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "cache_root", lambda: tmp_path / "cache")


def written(tmp_path: Path, cart: str = '{"fig": 1}', **changes: Any) -> Path:
    (tmp_path / "template").mkdir(exist_ok=True)
    (tmp_path / "template" / "fig.json").write_text(cart)
    (tmp_path / "kept.jsonl").write_text(json.dumps({**KEPT, **changes}) + "\n")
    return tmp_path / "kept.jsonl"


def proved(path: Path, command: str = COMMAND, served: Any = None) -> list[str]:
    data, told = open_data(str(path)), list[str]()
    made = proof.Proofs(Settings(mcp={"shop": command}), told.append, served)
    asyncio.run(made.require(data.entry("kept"), data.texts))
    return told


def test_what_changed_is_named_and_proved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [ServedTool("buy", {}, "1")]

    async def facts(*_: Any) -> ServerFacts:
        return ServerFacts("shop 1", tuple(tools))

    async def nobody(*_: Any) -> None:
        return None

    monkeypatch.setattr(proof, "facts_of_server", facts)
    monkeypatch.setattr(proof, "weakness_of", nobody)
    path = written(tmp_path)
    assert [proved(path), proved(path)] == [[], []]
    assert proved(written(tmp_path, '{"fig": 2}')) == ["kept is proved again: changed the template template"]
    tools[:] = [ServedTool("buy", {}, "2"), ServedTool("wish", {}, "1")]
    told = proved(path, f"{COMMAND} --more")
    assert told == ["kept is proved again: changed the server command, the tool buy, the tool wish"]
    assert proved(path, f"{COMMAND} --more", {"shop": ServerFacts("shop 1", tuple(tools)).summary()}) == []
    with pytest.raises(HarnessError, match=r"'shop' has changed since this run began: tools \(others → \w+\)"):
        proved(path, served={"shop": {"name and version": "shop 1", "tools": "others"}})


@pytest.mark.parametrize(
    ("where", "spared"),
    [
        (COMMAND, False), ("npx -y server {workdir}", False), ("docker run -v {workdir}:/data my/shop", False),
        ("http://127.0.0.1:9000/mcp", False), ("https://shop.example.org/mcp", True), ("http://10.0.0.7/mcp", True),
        ("GITHUB_TOKEN=x npx server", True), ("server --api-key x", True), ("server --db postgres://me:pw@db/x", True),
        ("'unclosed", True),
    ],
)  # fmt: skip
def test_a_server_that_may_be_a_real_one_is_spared(tmp_path: Path, where: str, spared: bool) -> None:
    entry = open_data(str(written(tmp_path))).entry("kept")
    settings = Settings(mcp={"shop": where})
    assert proof.is_spared(entry, settings) is spared
    assert ("vandal" in proof.to_be_played(entry.model_copy(update={"server_facts": EMPTIES}), settings)) is not spared


@pytest.mark.slow
def test_adversaries_on_a_real_server(tmp_path: Path) -> None:
    with pytest.raises(
        HarnessError, match="the entry passes for idle, which does nothing and says so; parrot"
    ) as caught:
        proved(written(tmp_path, '{"apple": 2}'))  # the template has by now what the request asks for
    assert caught.value.kind == "unearned"
    with pytest.raises(HarnessError, match=r"kept: possible_answer: the ground truth itself does not pass: .*apple"):
        proved(written(tmp_path, expect=[{"call": "get_cart", "contains": {"apple": 9}}]))
    loose = {"expect": [{"called": "add-to-cart"}]}
    with pytest.raises(HarnessError, match=r"passes for every, .*; repeat, .* twice; vandal, which makes the right"):
        proved(written(tmp_path, **loose))
    proved(written(tmp_path, **loose, allows=dict.fromkeys(("every", "repeat", "vandal"), "only the call counts")))


def buying(request: Any) -> Reply:
    arguments = json.dumps({"article": "apple", "count": 2})
    return Reply(text="Done.") if request.step else Reply(tool_calls=(ToolCall("add-to-cart", arguments, "c"),))


@pytest.mark.slow
def test_a_state_that_outlives_its_trial_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noted = {"possible_answer": [["note(text={'x': {}})"]], "expect": [{"call": "get_cart", "contains": {"note x": 0}}]}
    path, shared = written(tmp_path, **noted), f"CART={tmp_path}/shared.json {SHOP}"
    assert main(["validate", str(path), "--mcp", f"shop={shared}"]) == 1
    assert "kept: expect: the entry passes for idle" in capsys.readouterr().out
    (tmp_path / "shared.json").unlink()
    (line,) = run(path, as_model(buying, "own:m", mode="fc"), settings=Settings(mcp={"shop": shared})).records
    assert (line["outcome"], line["reason"]) == ("error", "harness:unearned"), "a run refuses it, too"


@pytest.mark.slow
def test_a_run_is_not_continued_on_another_server(tmp_path: Path) -> None:
    path, out = written(tmp_path), tmp_path / "out"
    model = as_model(buying, "own:m", mode="fc")
    run(path, model, out=out, settings=Settings(mcp={"shop": COMMAND}))
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    told = lines[0]["extra"]["served_by"]
    assert EarlierParts.read(out).served == {told.pop("server"): told}
    written(tmp_path, '{"fig": 7}')
    with pytest.raises(Exception, match=r"template template: "):
        run(path, model, out=out, settings=Settings(mcp={"shop": COMMAND}))
