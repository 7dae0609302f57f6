"""One model of a run: its name in results, its adapters, its gate, its price and why it must not be asked any more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from pytest_bfcl.endpoints.breaker import Breaker
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.session.contender import Contender, is_stored, wanted_mode
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


def test_auto_is_settled_elsewhere_or_by_a_refusal() -> None:
    contender = of("openai:a")
    contender.settle("prompt")
    assert (contender.identity, contender.switches) == (("openai:a@prompt", "prompt"), False)
    told: list[tuple[Contender, AdapterError]] = []
    asked = of("openai:a")
    asked.on_switch = lambda *about: told.append(about)
    error = AdapterError("tools", "no tools")
    asked.refused(error)
    assert told == [(asked, error)]
    assert (asked.identity, asked.switches) == (("openai:a@prompt", "prompt"), False)
    of("openai:a").refused(error)  # nobody listens


@pytest.mark.parametrize(("spec", "settled", "modes"), [("own:a", None, [None, "prompt"]), ("own:a", "fc", ["fc"]),
                                                        ("own:a@prompt", None, ["prompt"])])  # fmt: skip
def test_modes_that_adapters_are_made_in(spec, settled, modes) -> None:
    made = []

    def make(mode):
        made.append(mode)
        return Answering(mode=mode or "fc")

    contender = of(spec, make=make, settled=settled)
    assert contender.mode == (modes[0] or "fc")
    assert contender.model is contender.model
    if contender.switches:
        contender.refused(AdapterError("tools", "no tools"))
    assert made == modes
    prompted = of(spec, make=lambda mode: Answering(mode="prompt"), settled=settled)
    assert (prompted.model.mode, prompted.switches) == ("prompt", False), "what asks by prompting has no other mode"


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


def test_a_lent_function_has_a_mode_of_its_own() -> None:
    def said(messages: object, tools: object) -> str:
        return "said"

    said.mode = "prompt"  # type: ignore[attr-defined]
    assert of("fixture:mine@fc").lent(said).identity == ("fixture:mine@prompt", "prompt")
    plain = SimpleNamespace(spec="mine:plain", mode="prompt", generate=said)  # an object of one's own without a loop
    assert Contender.of_adapter(plain, KEPT).identity == ("mine:plain@prompt", "prompt")


def test_a_lent_model_is_asked_under_the_contenders_price_and_closed_by_its_owner() -> None:
    contender = of("fixture:mine", Settings(price=Price(1.0, 1.0)))
    model, brief = Answering("mine:lent"), Answering("mine:brief")
    once = contender.lent(brief, kept=False)
    assert contender.identity.model == "fixture:mine@fc"
    lent = contender.lent(model)
    assert contender.lent(model) is lent
    assert (lent.price, lent.budget, lent.users_trouble) == (contender.price, contender.budget, contender.users_trouble)
    assert contender.identity == ("mine:lent", "fc")
    assert lent.model is model
    assert once is not lent
    assert lent.has_made(model)
    assert not contender.has_made(model)
    asyncio.run(lent.aclose())
    asyncio.run(contender.aclose())
    assert (model.closed, brief.closed) == (0, 0)
    own = Answering()
    given = Contender.of_adapter(own, KEPT)
    assert not given.has_adapter
    assert given.model is own
    assert given.has_adapter
    asyncio.run(given.aclose())
    assert own.closed == 1
    assert not given.has_adapter


class Told(Breaker):
    trouble = "it is slow"  # type: ignore[assignment]


def test_an_endpoints_trouble_is_its_models_own_and_lent_ones() -> None:
    asked, lent = Answering(), Answering()
    contender = Contender.of_adapter(asked, KEPT)
    assert (contender.trouble(), contender.broken()) == (None, None)
    for model in (contender.lent(lent).model, contender.model):
        model.breaker = Told("http://here/v1")  # type: ignore[union-attr]
        assert (contender.trouble(), contender.broken()) == ("it is slow", None)
        model.breaker.reason = "it is gone"  # type: ignore[union-attr]
        assert contender.broken() == contender.stop_reason() == "it is gone"
        del model.breaker  # type: ignore[union-attr]


def test_stored_models_are_known_by_what_they_hand_out(tmp_path) -> None:
    assert of(f"replay:{tmp_path}").stored
    assert not of("openai:a").stored
    stored = Answering()
    stored.transcript_for = lambda entry: None  # type: ignore[attr-defined]
    assert is_stored(stored)
    hosted = of("openai:a")
    hosted._model = stored
    assert hosted.stored
    stored.found_out = "names with dots"  # type: ignore[attr-defined]
    assert Contender.of_adapter(stored, KEPT).stored
    assert Contender.of_adapter(stored, KEPT).read_as == "names with dots"
    assert not Contender.of_adapter(Answering(), KEPT).stored
