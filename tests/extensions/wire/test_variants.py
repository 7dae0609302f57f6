"""Each broken server fails exactly the checks that are meant for its fault; the correct one fails none."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.planting import Variant
from tests.extensions.wire.reference import Heard, Message, Reference
from tests.extensions.wire.variants import CHAT, FIRST, RESPONSES, SHARED

CHANCE = {"schemas_generated", "sdk_reads"}
"""What depends on the release of Hypothesis and on the clients that are installed."""
APIS: tuple[Api, ...] = ("chat", "responses")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", [5, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2, 3, 50))])
def test_the_reference_passes_everything(api: Api, size: int) -> None:
    outcomes = examine(Reference(size=size), api)
    assert {name: outcome.why for name, outcome in outcomes.items() if outcome.state != "held"} == {}
    assert len(outcomes) >= 60


@pytest.mark.slow
def test_escaped_json_and_small_servers_are_as_good() -> None:
    assert states(examine(Reference(ascii_only=True)), "held") == {check.name for check in checks_for("chat")}
    assert states(examine(Reference(slots=1, size=50)), "held") == {check.name for check in checks_for("chat")}


def named(variant: Variant) -> str:
    return f"{variant.api}: {variant.name}"


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(
            each, marks=[pytest.mark.slow] * (number % 5 > 0 or "schemas_generated" in each.fails), id=named(each)
        )
        for number, each in enumerate(FIRST)
    ],
)  # every fifth one: all of them take half a minute, and what shrinks a schema seconds
def test_a_fault_is_found_by_its_checks(variant: Variant) -> None:
    slack_s = 0.2 if "disconnect" in variant.fails else 5.0
    outcomes = examine(variant.server(), variant.api, sorted(variant.fails), slack_s=slack_s)
    assert states(outcomes, "broke") == variant.fails


@pytest.mark.slow
@pytest.mark.parametrize("variant", [*CHAT, *RESPONSES], ids=named)
def test_a_fault_is_found_by_its_checks_alone(variant: Variant) -> None:
    slack_s = 0.2 if "disconnect" in variant.fails else 5.0
    outcomes = examine(variant.server(), variant.api, slack_s=slack_s)
    # What release of Hypothesis draws the schemas decides whether their values hold what the fault changes.
    assert states(outcomes, "broke") - CHANCE == variant.fails - CHANCE
    assert states(outcomes, "error") == set()


@pytest.mark.slow
@pytest.mark.parametrize("variant", SHARED, ids=lambda variant: variant.name)
def test_a_fault_that_any_api_can_have_is_found_over_responses(variant: Variant) -> None:
    slack_s = 0.2 if "disconnect" in variant.fails else 5.0
    outcomes = examine(variant.server(), variant.api, slack_s=slack_s)
    known = {check.name for check in checks_for("responses")}
    assert states(outcomes, "broke") - CHANCE == (variant.fails & known) - CHANCE
    assert states(outcomes, "error") == set()


def test_every_check_has_a_server_that_fails_it() -> None:
    found = {name for variant in (*CHAT, *RESPONSES) for name in variant.fails}
    # Figures are no rule, and what breaks a call of one tool breaks something simpler first.
    # What official clients read otherwise is seen in `other_variants`.
    assert {check.name for api in APIS for check in checks_for(api)} - found == {"measures", "tools_1", "sdk_reads"}


def silent(heard: Heard) -> Message:
    """Never calls, whatever it is asked."""
    return Message(before="I would rather talk about the weather.")


@pytest.mark.parametrize("api", ["chat", pytest.param("responses", marks=pytest.mark.slow)])
def test_a_server_that_never_calls_passes_nothing(api: Api) -> None:
    outcomes = examine(Reference(think=silent), api)
    assert states(outcomes, "held") == set()
    # Where a call is forced, none is a fault; everything else says nothing about the server.
    assert states(outcomes, "broke") == {"choice_required", "choice_function"}
    assert states(outcomes, "error") == set()
