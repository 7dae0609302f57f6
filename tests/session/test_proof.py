"""Entries are proved once until something changes; agents that failed after others passed are played once more."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.models import as_model
from pytest_bfcl.session import proof
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.session.proof import ALONE, SHOWN_CHANGES, PlayedAlone, Proofs, to_be_played
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import END_STATE, PLAYED_BEFORE, Call, Reply, ToolCall, Transcript

SHOP = shlex.join([sys.executable, str(Path(__file__).parents[1] / "extensions" / "agents" / "shop.py")])
COMMAND = f"CART={{workdir}}/cart/fig.json {SHOP}"
KEPT = {
    "id": "kept", "category": "mcp", "mcp": "shop", "question": "Two apples, please.",
    "files": {"cart": {"copy": "template"}}, "possible_answer": [["add_to_cart(article='apple', count=2)"]],
    "expect": [{"call": "get_cart", "contains": {"apple": 2}, "only": ["cart/*"]}],
}  # fmt: skip
BUY, OTHER_BUY, WISH = ServedTool("buy", {}, "1"), ServedTool("buy", {}, "2"), ServedTool("wish", {}, "1")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "cache_root", lambda: tmp_path / "cache")


def written(tmp_path: Path, cart: str = '{"fig": 1}', **changes: Any) -> Path:
    (tmp_path / "template").mkdir(exist_ok=True)
    (tmp_path / "template" / "fig.json").write_text(cart)
    (tmp_path / "kept.jsonl").write_text(json.dumps({**KEPT, **changes}) + "\n")
    return tmp_path / "kept.jsonl"


def proved(path: Path, command: str = COMMAND, served: Any = None) -> list[str]:
    """What a run tells of its proofs; the entry is required twice, and another one of its server once."""
    data, told = open_data(str(path)), list[str]()
    proofs, entry = Proofs(Settings(mcp={"shop": command}), told.append, served), data.entry("kept")

    async def required() -> None:
        for each in (entry, entry, entry.model_copy(update={"id": "other"})):
            await proofs.require(each, data.texts)

    asyncio.run(required())
    return told


class Server:
    """A server and adversaries that do as they are told, counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tools, self.weakness, self.error = (BUY,), "", ""
        self.asked, self.played = 0, list[str]()
        monkeypatch.setattr(proof, "facts_of_server", self.facts)
        monkeypatch.setattr(proof, "weakness_of", self.weakness_of)

    async def facts(self, *about: Any) -> ServerFacts:
        self.asked += 1
        if self.error:
            raise HarnessError("mcp", self.error)
        return ServerFacts("shop 1", self.tools)

    async def weakness_of(self, entry: Any, *about: Any) -> str | None:
        self.played.append(entry.id)
        return self.weakness or None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def test_an_entry_is_proved_again_only_after_a_change_which_is_named(tmp_path: Path, server: Server) -> None:
    path = written(tmp_path)
    assert [proved(path), proved(path)] == [[], []]
    assert (server.played, server.asked) == (["kept", "other"], 2), "once in a run, and not in the next one"
    again = "{} is proved again: changed the {}"
    told = proved(written(tmp_path, '{"fig": 2}'))
    assert told == [again.format(name, "template template") for name in ("kept", "other")]
    server.tools = (OTHER_BUY, WISH)
    told = proved(path, f"{COMMAND} --more")
    assert told[0] == again.format("kept", "server command, the tool buy, the tool wish")
    assert proved(path, f"{COMMAND} --more", {"shop": ServerFacts("shop 1", server.tools).summary()}) == []
    with pytest.raises(HarnessError, match=r"'shop' has changed since this run began: tools \(others → \w+\)"):
        proved(path, served={"shop": {"name and version": "shop 1", "tools": "others"}})


@pytest.mark.parametrize("why", ["weakness", "error"])
def test_what_failed_is_no_proof(tmp_path: Path, server: Server, why: str) -> None:
    """It fails again in the same run, and in the next one; a server that did not answer is asked for the next entry."""
    data, proofs = open_data(str(written(tmp_path))), Proofs(Settings(mcp={"shop": COMMAND}))
    entry = data.entry("kept")

    async def required() -> None:
        setattr(server, why, "no good")
        for _ in range(2):
            with pytest.raises(HarnessError, match="no good"):
                await proofs.require(entry, data.texts)
        setattr(server, why, "")
        await proofs.require(entry.model_copy(update={"id": "other"}), data.texts)

    asyncio.run(required())
    assert (server.asked, server.played) == ((1, ["kept", "other"]) if why == "weakness" else (2, ["other"]))
    setattr(server, why, "no good")
    with pytest.raises(HarnessError, match="no good"):
        proved(written(tmp_path))


def test_a_server_is_asked_once_for_entries_that_are_proved_at_once(tmp_path: Path, server: Server) -> None:
    data, proofs = open_data(str(written(tmp_path))), Proofs(Settings(mcp={"shop": COMMAND}))
    entries = [data.entry("kept").model_copy(update={"id": name}) for name in ("kept", "other")]

    async def required() -> None:
        await asyncio.gather(*(proofs.require(entry, data.texts) for entry in entries))

    asyncio.run(required())
    assert server.asked == 1


def test_an_entry_is_proved_again_after_a_change_of_its_simulators(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for digest in "ab":
        monkeypatch.setattr(proof, "source_digests", lambda names, digest=digest: {"Cart": digest})
        told = proved(written(tmp_path))
    assert told[0] == "kept is proved again: changed the simulator Cart"


def test_an_adversary_that_may_pass_does_not_play(tmp_path: Path) -> None:
    (given,) = {*to_be_played(open_data(str(written(tmp_path))).entry("kept"), Settings())} & {"idle"}
    allowing = open_data(str(written(tmp_path, allows={given: "why not"}))).entry("kept")
    assert given not in to_be_played(allowing, Settings())


@pytest.mark.parametrize(("count", "more"), [(SHOWN_CHANGES, ""), (SHOWN_CHANGES + 2, " and 2 more")])
def test_of_many_changes_some_are_named(
    tmp_path: Path, server: Server, count: int, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for digest in "ab":
        monkeypatch.setattr(proof, "inputs_of", lambda *about, digest=digest: dict.fromkeys("0123456"[:count], digest))
        told = proved(written(tmp_path))
    assert told[0] == f"kept is proved again: changed 0, 1, 2, 3, 4{more}"


@pytest.mark.parametrize(
    ("where", "spared"),
    [
        (COMMAND, False), ("npx -y server {workdir}", False), ("docker run -v {workdir}:/data my/shop", False),
        ("http://127.0.0.1:9000/mcp", False), ("https://shop.example.org/mcp", True), ("http://10.0.0.7/mcp", True),
        ("GITHUB_TOKEN=x npx server", True), ("server --api-key x", True), ("server --db postgres://me:pw@db/x", True),
        ("'unclosed", True),
    ],
)  # fmt: skip
def test_a_server_that_may_be_a_real_one_is_spared_and_that_is_said_once(
    tmp_path: Path, server: Server, where: str, spared: bool
) -> None:
    path = written(tmp_path)
    entry = open_data(str(path)).entry("kept")
    facts = ServerFacts("shop 1", (ServedTool("empty", {}, "1"),))
    played = proof.to_be_played(entry.model_copy(update={"server_facts": facts}), Settings(mcp={"shop": where}))
    assert ("vandal" in played) is not spared
    assert proved(path, where) == ([proof.spared_text("shop")] if spared else [])


@pytest.mark.parametrize(
    ("right", "states", "passing"),
    [
        ("s", {"repeat": "s", "extra": "s"}, []),  # which change nothing
        ("s", {"repeat": "t", "extra": "s"}, ["repeat"]),
        (None, {"repeat": None}, ["repeat"]),  # of a server that shows no state
        ("s", {"idle": "s"}, ["idle"]),
    ],
)
def test_a_harmless_repeat_is_no_weakness(
    right: str | None, states: dict[str, Any], passing: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(name: str, *about: Any) -> Transcript:
        return Transcript(
            "kept", "mcp", extra={END_STATE: {"oracle": right, **states}[name.rstrip(":").split(":")[-1]]}
        )

    monkeypatch.setattr(proof, "_played", played)
    monkeypatch.setattr(proof, "judge", lambda *about, **how: Verdict.passed())
    monkeypatch.setattr(proof, "_did_it", lambda *about: True)
    monkeypatch.setattr(proof, "to_be_played", lambda *about: [*states])
    monkeypatch.setattr(proof, "facts_of_server", pytest.fail)  # they are known
    data = open_data(str(written(tmp_path)))
    entry = data.entry("kept").model_copy(update={"server_facts": ServerFacts("shop 1", ())})
    found = asyncio.run(proof.weakness_of(entry, data.texts, Settings()))
    assert found == (f"expect: the entry {proof.unearned_text(passing)}" if passing else None)


F, G = Call("f", {}), Call("g", {})


@pytest.mark.parametrize(
    ("name", "made", "did"),
    [
        ("repeat", [F, F, G], False),
        ("repeat", [F, F, G, G], True),
        ("repeat", [F, F, F, G], False),  # it repeats the last one
        ("vandal", [F], False),
        ("vandal", [G], True),
        ("idle", [], True),
    ],
)
def test_an_adversary_that_could_not_act_does_not_count(
    name: str, made: list[Call], did: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = SimpleNamespace(call=G, carried_out=False, result="")
    in_words = SimpleNamespace(call=G, carried_out=True, result="Error: sold out")
    told = [SimpleNamespace(call=each, carried_out=True, result="done") for each in made]
    monkeypatch.setattr(proof, "calls_made", lambda *about: [*told, refused, in_words])
    monkeypatch.setattr(proof, "right_calls", lambda entry: [F, F, G])
    monkeypatch.setattr(proof, "deeds_of", lambda *about: [G])
    assert proof._did_it(name, None, Transcript("a", "mcp")) is did  # type: ignore[arg-type]


@pytest.mark.slow
def test_adversaries_on_a_real_server(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    with pytest.raises(HarnessError, match="passes for idle, which does nothing and says so; parrot") as caught:
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
    pytest.importorskip("mcp")
    noted = {"possible_answer": [["note(text={'x': {}})"]], "expect": [{"call": "get_cart", "contains": {"note x": 0}}]}
    path, shared = written(tmp_path, **noted), f"CART={tmp_path}/shared.json {SHOP}"
    assert main(["validate", str(path), "--mcp", f"shop={shared}"]) == 1
    assert "kept: expect: the entry passes for idle" in capsys.readouterr().out
    (tmp_path / "shared.json").unlink()
    (line,) = run(path, as_model(buying, "own:m", mode="fc"), settings=Settings(mcp={"shop": shared})).records
    assert (line["outcome"], line["reason"]) == ("error", "harness:unearned"), "a run refuses it, too"


@pytest.mark.slow
def test_a_run_is_not_continued_on_another_server(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    path, out = written(tmp_path), tmp_path / "out"
    model = as_model(buying, "own:m", mode="fc")
    run(path, model, out=out, settings=Settings(mcp={"shop": COMMAND}))
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    told = lines[0]["extra"]["served_by"]
    assert EarlierParts.read(out).served == {told.pop("server"): told}
    written(tmp_path, '{"fig": 7}')
    with pytest.raises(Exception, match=r"template template: "):
        run(path, model, out=out, settings=Settings(mcp={"shop": COMMAND}))


# -- agents played alone -----------------------------------------------------------------------------------------------


class Agent:
    """One whose fresh processes are counted."""

    spec = "agent:m:f"

    def __init__(self) -> None:
        self.made = self.closed = 0

    def fresh(self) -> Agent:
        self.made += 1
        return self

    async def aclose(self) -> None:
        self.closed += 1


def ended(right: bool, before: int | None = 3) -> Transcript:
    extra = {"right": right} if before is None else {"right": right, PLAYED_BEFORE: before}
    return Transcript("a", "mcp", extra=extra)


@pytest.mark.parametrize(
    ("again", "told", "made"),
    [
        (True, [ended(True), ended(False)], 1),
        (False, [ended(True), ended(False)], 1),
        (True, [ended(False)], 0),  # none passed before
        (True, [ended(True), ended(False, 0)], 0),  # the first of its process
        (True, [ended(True), ended(False, None)], 0),  # in nobody's process
        (True, [ended(True), *(ended(False) for _ in range(12))], 10),
    ],
)
def test_which_conversations_are_held_again_and_only_a_difference_is_said(
    monkeypatch: pytest.MonkeyPatch, again: bool, told: list[Transcript], made: int
) -> None:
    monkeypatch.setattr(PlayedAlone, "_is_right", lambda self, entry, said: said.extra["right"])
    entry: Any = type("Entry", (), {"id": "a"})()
    notes: list[str] = []
    agent, alone = Agent(), PlayedAlone(notes.append, "own")

    async def play(model: Any) -> Transcript:
        return ended(again)

    async def all_of_them() -> None:
        for each in told:
            await alone.check(entry, each, agent, play)  # type: ignore[arg-type]

    asyncio.run(all_of_them())
    assert agent.made == agent.closed == made
    assert [note.startswith("a failed after 3 other entries") for note in notes] == [True] * made * again
    found = [each.extra[ALONE] for each in told if ALONE in each.extra]
    assert found == ["passed" if again else "failed"] * made
