"""Mode ``auto``: one switch of the whole run, never a mixture."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import ToolsRefused
from pytest_bfcl.session.contender import Contender

REFUSED, TROUBLE = ToolsRefused("tools are not supported", status=400), AdapterError("timeout", "no answer")


@dataclass
class Talk:
    """A conversation of one request: when a native endpoint says what, and what holds it up there."""

    who: str
    error: AdapterError | None = None
    at: float = 0.0
    functions: Any = field(default_factory=lambda: ["a tool"])


class Endpoint:
    """Answers talks as they say; one that prompts notes how often the native one was closed by then."""

    spec, underscore_names = "listed:model", False

    def __init__(self, mode: str = "fc", native: Endpoint | None = None) -> None:
        self.mode, self.native = mode, native
        self.asked: list[str] = []
        self.closed = 0
        self.closed_before: list[int] = []

    async def generate(self, talk: Talk) -> None:
        self.asked.append(talk.who)
        if self.native is not None:
            self.closed_before.append(self.native.closed)
            return
        await asyncio.sleep(talk.at / 100)
        assert not self.closed
        if talk.error is not None:
            raise talk.error

    async def aclose(self) -> None:
        self.closed += 1


def open_contender(native: Any, prompted: Any) -> Contender:
    """One whose mode is not settled."""
    return Contender("m", lambda mode: prompted if mode == "prompt" else native, mode="fc", switches=True)


def run_all(*talks: Talk, native: Any = None, prompting: bool = True) -> tuple[list[Any], Any, Any]:
    """Modes and errors of the talks, the endpoints; all talks go on at once."""
    native = native or Endpoint()
    prompted = Endpoint("prompt", native)
    said: list[AdapterError] = []
    contender = open_contender(native, prompted) if prompting else Contender("m", lambda mode: native, mode="fc")
    contender.on_switch = lambda who, error: said.append(error)

    async def one(talk: Talk) -> Any:
        async def hold(model: Any) -> Any:
            await model.generate(talk)
            contender.heard(talk, None)  # type: ignore[arg-type]
            return model.mode

        return await contender.converse(hold)

    async def main() -> list[Any]:
        return await asyncio.gather(*map(one, talks), return_exceptions=True)

    found = asyncio.run(main())
    assert contender.mode == ("prompt" if said else native.mode)
    return found, native, prompted


@pytest.mark.parametrize(
    ("talks", "found", "again"),
    [
        # a refusal switches the whole run, once; an endpoint that takes tools is asked natively
        ((Talk("a", REFUSED), Talk("b", REFUSED), Talk("c", REFUSED, 2)), ["prompt"] * 3, "abc"),
        ((Talk("a"), Talk("b", at=2)), ["fc", "fc"], ""),
        # later refusals are errors of their entry; so is other trouble, which leaves the question open
        ((Talk("a"), Talk("b", REFUSED, 2)), ["fc", REFUSED], ""),
        ((Talk("a", TROUBLE), Talk("b", REFUSED, 4)), [TROUBLE, "prompt"], "b"),
        # what was under way when the switch fell is held again, however it ended: it hangs, holding up nobody
        ((Talk("a", REFUSED), Talk("b", at=4)), ["prompt", "prompt"], "ab"),
        ((Talk("a", REFUSED), Talk("b", TROUBLE, 4)), ["prompt", "prompt"], "ab"),
        # entries without functions do not decide
        ((Talk("a", functions=[]), Talk("b", REFUSED, 4)), ["fc", "prompt"], "b"),
    ],
)
def test_the_mode_of_a_run(talks: tuple[Talk, ...], found: list[Any], again: str) -> None:
    modes, native, prompted = run_all(*talks)
    assert modes == found
    assert ("".join(native.asked), "".join(prompted.asked)) == ("".join(talk.who for talk in talks), again)
    # The refused model is closed when the last conversation with it has ended, before that one is held again.
    assert native.closed == bool(again)
    assert prompted.closed_before[-1:] == [1] * bool(again)


def test_connections_that_others_share_stay_open() -> None:
    native: Any = Endpoint()
    native.connections_shared = True
    assert run_all(Talk("a", REFUSED), native=native)[0] == ["prompt"]
    assert native.closed == 0


def test_without_a_choice_of_mode_refusals_are_errors() -> None:
    assert run_all(Talk("a", REFUSED), prompting=False)[0] == [REFUSED]
