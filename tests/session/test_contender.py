"""One model of a run: its name in results, its adapters, its gate, its price and why it must not be asked any more."""

from __future__ import annotations

import pytest

from pytest_bfcl.models import parse_spec
from pytest_bfcl.session.contender import Contender, wanted_mode
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Reply

from .conftest import Answering

KEPT = Settings(base_url="http://127.0.0.1:9/v1")


def of(text: str, settings: Settings = KEPT, **more: object) -> Contender:
    return Contender.of_spec(parse_spec(text), settings, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "settings", "settled", "named"),
    [
        ("openai:a", {}, None, ("openai:a@fc", "fc", True)),
        ("openai:a@prompt", {}, None, ("openai:a@prompt", "prompt", False)),
        ("openai:a", {"mode": "prompt"}, None, ("openai:a@prompt", "prompt", False)),
        ("openai:a@fc", {"mode": "prompt"}, None, ("openai:a@fc", "fc", False)),
        ("openai:a", {}, "prompt", ("openai:a@prompt", "prompt", False)),
        ("openai:a@fc", {}, "prompt", ("openai:a@fc", "fc", False)),
    ],
)
def test_who_it_is_before_and_after_it_is_asked(spec, settings, settled, named) -> None:
    """The model's text wins over the run's mode, that over what an earlier part settled on."""
    contender = of(spec, Settings(base_url=KEPT.base_url, **settings), settled=settled)
    for _ in range(2):
        assert (*contender.identity, contender.switches) == named
        assert contender.mode == named[1]
        assert contender.model.spec == named[0]
    assert wanted_mode(parse_spec(spec), Settings(**settings)) == (
        None if named[2] or settled == named[1] else named[1]
    )


def test_requests_wait_at_a_gate_only_where_their_number_is_found_out() -> None:
    assert of("openai:a").gate is None
    assert Contender.of_adapter(Answering(), KEPT).gate is None
    contender = of("openai:a", Settings(base_url=KEPT.base_url, paced=True, budget_usd=1.0, price=Price(1.0, 1.0)))
    gate = contender.gate
    assert gate is not None
    assert gate.stop_reason is not None
    assert gate.stop_reason() is None
    contender.budget.charge(Reply(input_tokens=2_000_000, output_tokens=0))
    assert "budget" in str(gate.stop_reason())
    assert gate.stop_reason() == contender.stop_reason()
    contender.ended = "the run is ending"
    assert gate.stop_reason() == "the run is ending"
