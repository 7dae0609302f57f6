"""A server this project did not write: litellm's proxy in front of the reference server, over both APIs.

Runs where the proxy of `tests.extensions.litellm.test_proxy` runs. What it breaks is written in docs/wire.md; another
release
may break less, and must not break anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.litellm.test_proxy import executable, proxied
from tests.extensions.wire.examining import examine_http, served, states
from tests.extensions.wire.reference import Reference

KNOWN: dict[tuple[Api, str], set[str]] = {
    ("chat", "openai"): {"delta_type", "usage_last"},
    ("responses", "openai"): {"events_names"},
    ("responses", "deepseek"): {"encrypted_reasoning", "events_names", "events_sequence", "fault_tool"},
}
"""(API, provider the proxy takes the reference for) → what litellm 1.106.2 breaks."""


@pytest.fixture(params=["openai", "deepseek"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Provider and base URL of a proxy that passes requests on to the reference server."""
    executable()
    with (
        served(Reference()) as server,
        proxied(tmp_path, {"m": {"model": f"{request.param}/m", "api_base": server}}) as url,
    ):
        yield request.param, url


@pytest.mark.slow
def test_what_the_proxy_breaks_is_known(proxy: tuple[str, str]) -> None:
    provider, url = proxy
    for (api, behind), known in KNOWN.items():
        if behind == provider:
            outcomes = examine_http(url, api, key="any", limit_s=60.0)
            assert states(outcomes, "error") == set()
            assert states(outcomes, "broke") <= known, {n: outcomes[n].why for n in states(outcomes, "broke")}
            assert len(states(outcomes, "held")) >= len(checks_for(api)) - len(known) - 2
