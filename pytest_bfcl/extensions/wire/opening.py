"""From a model and settings to an examiner that asks over HTTP."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.client import HttpTransport, Place, WireClient
from pytest_bfcl.extensions.wire.dialects import DIALECTS
from pytest_bfcl.extensions.wire.examiner import Examiner
from pytest_bfcl.extensions.wire.probe import Conduct, Line
from pytest_bfcl.settings import Settings


def examiner_of(place: Place, settings: Settings) -> Examiner:
    """The checks of the place's API over HTTP, run as the settings say: attempts, concurrency, limits, retries."""
    client = WireClient(
        HttpTransport(place.server),
        concurrency=settings.first_concurrency,
        limit_s=min(settings.timeout_s, settings.request_limit_s),
    )
    conduct = Conduct(
        repeat=settings.repeat,
        seed=settings.seed,
        temperature=settings.temperature,
        retries=settings.retries,
        schemas=settings.wire_schemas,
    )
    line = Line(client, DIALECTS[place.api](), place.model, conduct, place.parameters)
    return Examiner(line, checks_for(place.api))
