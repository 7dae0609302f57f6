"""Each broken server fails exactly the checks that are meant for its fault; the correct one fails none."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.checks.sdks import READERS
from pytest_bfcl.extensions.wire.row import APIS, OPENAI, Api
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.model import Heard, Json, Message, Refusal
from tests.extensions.wire.other_variants import MESSAGES, TEXTS
from tests.extensions.wire.planting import Variant
from tests.extensions.wire.reference import Reference
from tests.extensions.wire.variants import CHAT, FIRST, RESPONSES, SHARED

CHANCE = {"schemas_generated", "sdk_reads"}
"""What depends on the release of Hypothesis, whose schemas may hold what a fault changes, and on installed clients."""


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", [5, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2, 3, 50))])
def test_the_reference_passes_everything(api: Api, size: int) -> None:
    names = {check.name for check in checks_for(api)} - ({"sdk_reads"} if api not in OPENAI else set())
    outcomes = examine(Reference(size=size), api, sorted(names))
    assert {name: outcome.why for name, outcome in outcomes.items() if outcome.state != "held"} == {}
    assert len(outcomes) >= (60 if api in OPENAI else 15)


@pytest.mark.slow  # importing the clients takes seconds
@pytest.mark.parametrize(("api", "sdk"), [(api, sdk) for api, (sdk, _) in READERS.items()])
def test_official_clients_read_the_reference_as_we_do(api: Api, sdk: str) -> None:
    pytest.importorskip(sdk, reason=f"needs {sdk} (extra sdks)")
    for size in (1, 3, 50):
        assert states(examine(Reference(size=size), api, ["sdk_reads"]), "held") == {"sdk_reads"}


@pytest.mark.slow
def test_escaped_json_and_small_servers_are_as_good() -> None:
    assert states(examine(Reference(ascii_only=True)), "held") == {check.name for check in checks_for("chat")}
    assert states(examine(Reference(slots=1, size=50)), "held") == {check.name for check in checks_for("chat")}


def named(variant: Variant) -> str:
    return f"{variant.api}: {variant.name}"


def slack_for(variant: Variant) -> float:
    return 0.2 if "disconnect" in variant.fails else 5.0


@pytest.mark.parametrize(
    "variant", [each for each in (*FIRST[::5], *MESSAGES[::9], *TEXTS[::9]) if not each.fails & CHANCE], ids=named
)
def test_a_fault_is_found_by_its_checks(variant: Variant) -> None:
    outcomes = examine(variant.server(), variant.api, sorted(variant.fails), slack_s=slack_for(variant))
    assert states(outcomes, "broke") == variant.fails


def names_of(api: Api) -> set[str]:
    """The checks whose result depends on nothing but the server."""
    return {check.name for check in checks_for(api)} - (CHANCE if api in OPENAI else set())


@pytest.mark.slow
@pytest.mark.parametrize("variant", [*CHAT, *RESPONSES, *SHARED, *MESSAGES, *TEXTS], ids=named)
def test_a_fault_is_found_by_its_checks_alone(variant: Variant) -> None:
    """Faults that any API can have are found over Responses, too."""
    if variant.api not in OPENAI and "sdk_reads" in variant.fails:
        pytest.importorskip("openai")
    names = names_of(variant.api)
    outcomes = examine(variant.server(), variant.api, sorted(names), slack_s=slack_for(variant))
    assert states(outcomes, "broke") == variant.fails & names
    assert states(outcomes, "error") == set()


def test_every_check_has_a_server_that_fails_it() -> None:
    found = {name for variant in (*CHAT, *RESPONSES) for name in variant.fails}
    # Figures are no rule, and what breaks a call of one tool breaks something simpler first.
    assert {check.name for api in OPENAI for check in checks_for(api)} - found == {"measures", "tools_1", "sdk_reads"}
    found = {name for variant in (*MESSAGES, *TEXTS) for name in variant.fails}
    own = {check.name for api in get_args(Api)[2:] for check in checks_for(api) if len(check.apis) == 1}
    assert own | {"sdk_reads"} == {name for name in found if name.startswith(("blocks_", "text_", "sdk_"))}


def silent(heard: Heard) -> Message:
    """Never calls, whatever it is asked."""
    return Message(before="I would rather talk about the weather.")


@pytest.mark.parametrize(
    "api",
    ["chat", pytest.param("responses", marks=pytest.mark.slow), pytest.param("anthropic", marks=pytest.mark.slow)],
)
def test_a_server_that_never_calls_passes_nothing(api: Api) -> None:
    outcomes = examine(Reference(think=silent), api)
    held = {name for name in states(outcomes, "held") if not name.startswith("blocks_")}
    assert held <= ({"answers"} if api == "anthropic" else set())
    assert states(outcomes, "error") == set()
    if api in OPENAI:  # where a call is forced, none is a fault; everything else says nothing about the server
        assert states(outcomes, "broke") == {"choice_required", "choice_function"}


def loading(body: Json) -> Json:
    raise Refusal("Loading model", 503)


@pytest.mark.parametrize("api", ["anthropic", "completions"])
@pytest.mark.slow
def test_a_server_that_is_not_ready_is_not_blamed(api: Api) -> None:
    names = {check.name for check in checks_for(api)} - {"sdk_reads"}
    outcomes = examine(Reference(body=loading), api, sorted(names))
    assert {outcome.state for outcome in outcomes.values()} == {"error"}
