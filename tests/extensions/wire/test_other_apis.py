"""Messages and text completions: the correct server passes, each broken one fails its own checks."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.checks.sdks import READERS
from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.other_variants import MESSAGES, TEXTS
from tests.extensions.wire.planting import Variant
from tests.extensions.wire.reference import Heard, Json, Message, Reference, Refusal


def passed(api: Api, size: int, *, names: set[str]) -> bool:
    outcomes = examine(Reference(size=size), api, sorted(names))
    return {name: outcome.why for name, outcome in outcomes.items() if outcome.state != "held"} == {}


@pytest.mark.parametrize("api", ["anthropic", "completions"])
@pytest.mark.parametrize("size", [3, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 50))])
def test_the_reference_passes_everything(api: Api, size: int) -> None:
    assert passed(api, size, names={check.name for check in checks_for(api)} - {"sdk_reads"})


@pytest.mark.slow  # importing the clients takes seconds
@pytest.mark.parametrize(("api", "sdk"), [(api, sdk) for api, (sdk, _) in READERS.items()])
def test_official_clients_read_the_reference_as_we_do(api: Api, sdk: str) -> None:
    pytest.importorskip(sdk, reason=f"needs {sdk} (extra sdks)")
    for size in (1, 3, 50):
        assert passed(api, size, names={"sdk_reads"})


@pytest.mark.slow
@pytest.mark.parametrize("variant", [*MESSAGES, *TEXTS], ids=lambda variant: f"{variant.api}: {variant.name}")
def test_a_fault_is_found_by_its_checks_alone(variant: Variant) -> None:
    if "sdk_reads" in variant.fails:
        pytest.importorskip("openai")
    outcomes = examine(variant.server(), variant.api)
    assert states(outcomes, "broke") == variant.fails, {
        name: outcome.why for name, outcome in outcomes.items() if outcome.state in ("broke", "blocked")
    }
    assert states(outcomes, "error") == set()


def test_every_check_of_these_apis_has_a_server_that_fails_it() -> None:
    found = {name for variant in (*MESSAGES, *TEXTS) for name in variant.fails}
    own = {check.name for api in ("anthropic", "completions") for check in checks_for(api) if len(check.apis) == 1}
    assert own | {"sdk_reads"} == {name for name in found if name.startswith(("blocks_", "text_", "sdk_"))}


def loading(body: Json) -> Json:
    raise Refusal("Loading model", 503)


@pytest.mark.parametrize("api", ["anthropic", "completions"])
@pytest.mark.slow
def test_a_server_that_is_not_ready_is_not_blamed(api: Api) -> None:
    names = {check.name for check in checks_for(api)} - {"sdk_reads"}
    outcomes = examine(Reference(body=loading), api, sorted(names))
    assert {outcome.state for outcome in outcomes.values()} == {"error"}


def silent(heard: Heard) -> Message:
    return Message(before="I would rather talk about the weather.")


@pytest.mark.slow
def test_a_server_that_never_calls_passes_nothing() -> None:
    outcomes = examine(Reference(think=silent), "anthropic")
    assert {name for name in states(outcomes, "held") if not name.startswith("blocks_")} <= {"answers"}
    assert states(outcomes, "error") == set()
