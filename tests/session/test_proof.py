"""Entries are proved once until something changes; agents that failed after others passed are played once more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.session import proof
from pytest_bfcl.session.proof import ALONE, MOST, SHOWN_CHANGES, PlayedAlone, Proofs
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import PLAYED_BEFORE, Transcript


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


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checks conversations in their order, the second play right or not; gives what was noted and the agent."""
    monkeypatch.setattr(proof.PlayedAlone, "_is_right", lambda self, entry, said: said.extra["right"])
    entry: Any = type("Entry", (), {"id": "a"})()

    def check(*told: Transcript, again: bool = True) -> tuple[list[str], Agent]:
        notes: list[str] = []
        agent, alone = Agent(), PlayedAlone(notes.append, "own")

        async def play(model: Any) -> Transcript:
            return ended(again)

        async def all_of_them() -> None:
            for each in told:
                await alone.check(entry, each, agent, play)  # type: ignore[arg-type]

        asyncio.run(all_of_them())
        assert agent.closed == agent.made
        return notes, agent

    return check


@pytest.mark.parametrize(
    ("told", "made"),
    [
        ([ended(True), ended(False)], 1),
        ([ended(False)], 0),  # none passed before
        ([ended(True), ended(False, 0)], 0),  # the first of its process
        ([ended(True), ended(False, None)], 0),  # in nobody's process
        ([ended(True), *(ended(False) for _ in range(MOST + 2))], MOST),
    ],
)
def test_which_conversations_are_held_again(plays: Any, told: list[Transcript], made: int) -> None:
    notes, agent = plays(*told)
    assert (agent.made, len(notes)) == (made, made)


@pytest.mark.parametrize("again", [True, False])
def test_what_came_of_it_is_kept_and_only_a_difference_is_said(plays: Any, again: bool) -> None:
    failed = ended(False)
    notes, _ = plays(ended(True), failed, again=again)
    assert failed.extra[ALONE] == ("passed" if again else "failed")
    assert [note.startswith("a failed after 3 other entries") for note in notes] == [True] * again


def test_an_entry_is_proved_again_only_after_a_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path))
    played: list[str] = []

    async def weakness(entry: Entry, *more: Any) -> str | None:
        played.append(entry.id)
        return "it is weak" if entry.possible_answer is None else None

    monkeypatch.setattr(proof, "weakness_of", weakness)
    notes: list[str] = []

    def prove(proofs: Proofs | None = None, **changes: Any) -> None:
        proofs = proofs or Proofs(Settings(), notes.append)
        entry = Entry(id="recorded_0", category="recorded", question=[], possible_answer=[["f()"]]).model_copy(
            update=changes
        )

        async def twice() -> None:
            for _ in range(2):
                await proofs.require(entry, Texts.own())

        asyncio.run(twice())

    prove()
    prove()
    assert (len(played), notes) == (1, [])
    prove(possible_answer=[["g()"]])
    assert (len(played), notes) == (2, ["recorded_0 is proved again: changed the entry"])
    for _ in range(2):  # what failed is no proof
        with pytest.raises(HarnessError, match="recorded_0: it is weak"):
            prove(possible_answer=None)
    assert len(played) == 4
    tool = ServedTool("buy", {}, "0a")
    asked: list[str] = []

    async def facts(entry: Entry, settings: Settings) -> ServerFacts:
        asked.append(entry.id)
        if len(asked) == 1:
            raise HarnessError("mcp", "it does not start")
        return ServerFacts("shop 1", (tool,))

    monkeypatch.setattr(proof, "facts_of_server", facts)
    proofs = Proofs(Settings(mcp={"shop": "run"}), notes.append)
    with pytest.raises(HarnessError, match="does not start"):
        prove(proofs, id="mcp_0", mcp="shop")
    for name in ("mcp_1", "mcp_2"):
        prove(proofs, id=name, mcp="shop")
    assert asked == ["mcp_0", "mcp_1"], "what failed is asked again, what a server told is not"
    assert len(notes) == 3
    real = Proofs(Settings(mcp={"shop": "https://shop.example/mcp"}), notes.append)
    for name in ("mcp_4", "mcp_5"):
        prove(real, id=name, mcp="shop")
    assert notes[3:] == [proof.spared_text("shop")], "said once"
    for count, more in ((SHOWN_CHANGES, ""), (SHOWN_CHANGES + 2, " and 2 more")):
        for digest in "ab":
            parts = {str(number): f"{digest}{count}" for number in range(count)}
            monkeypatch.setattr(proof, "inputs_of", lambda *about, parts=parts: dict(parts))
            prove(id=f"recorded_{count}")
        assert notes[-1] == f"recorded_{count} is proved again: changed 0, 1, 2, 3, 4{more}"
    before = ServerFacts("shop 1", ()).summary()
    with pytest.raises(HarnessError, match=r"MCP server 'shop' has changed since this run began: tools \("):
        prove(Proofs(Settings(mcp={"shop": "run"}), notes.append, {"shop": before}), id="mcp_3", mcp="shop")
