"""Messages and text completions: the correct server passes, each broken one fails its own checks."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.wire.check import Api
from pytest_bfcl.extensions.wire.checks import checks_for
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.other_variants import MESSAGES, TEXTS
from tests.extensions.wire.reference import Heard, Reference, Said
from tests.extensions.wire.variants import Variant

LAST = {"sdk_reads"}
"""It reads what no rule explains: a fault that another check knows is that check's."""


@pytest.mark.parametrize("api", ["anthropic", "completions"])
@pytest.mark.parametrize("size", [3, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 2, 50))])
def test_the_reference_passes_everything(api: Api, size: int) -> None:
    outcomes = examine(Reference(size=size), api)
    assert {name: outcome.why for name, outcome in outcomes.items() if outcome.state != "held"} == {}


@pytest.mark.slow
@pytest.mark.parametrize("variant", [*MESSAGES, *TEXTS], ids=lambda variant: f"{variant.api}: {variant.name}")
def test_a_fault_is_found_by_its_checks_alone(variant: Variant) -> None:
    outcomes = examine(variant.server(), variant.api)
    assert states(outcomes, "broke") == variant.fails, {
        name: outcome.why for name, outcome in outcomes.items() if outcome.state in ("broke", "blocked")
    }
    assert states(outcomes, "error") == set()


def test_every_check_of_these_apis_has_a_server_that_fails_it() -> None:
    found = {name for variant in (*MESSAGES, *TEXTS) for name in variant.fails}
    own = {check.name for api in ("anthropic", "completions") for check in checks_for(api) if len(check.apis) == 1}
    assert own == {name for name in found if name.startswith(("blocks_", "text_"))}


def silent(heard: Heard) -> Said:
    return Said(before="I would rather talk about the weather.")


@pytest.mark.slow
def test_a_server_that_never_calls_passes_nothing() -> None:
    outcomes = examine(Reference(think=silent), "anthropic")
    assert {name for name in states(outcomes, "held") if not name.startswith("blocks_")} <= {"answers"}
    assert states(outcomes, "error") == set()
