"""Models that only their server can name (``auto:``, ``vllm:``): it is asked before anything else is made of them."""

from __future__ import annotations

from dataclasses import replace

from pytest_bfcl.models import parse_spec
from pytest_bfcl.plugin.options import Plan
from pytest_bfcl.settings import Settings


def with_named_models(plan: Plan) -> Plan:
    """The plan with a name for every model and the addresses that were found; raises `UsageError`.

    Nothing is asked where every model has a name, or where the engine is to be started.
    """
    from pytest_bfcl.serving import named, needs_a_name

    specs = [parse_spec(text) for text in plan.models]
    settings = Settings.from_dict(plan.settings)
    if settings.serve is not None or not any(map(needs_a_name, specs)):
        return plan
    found = named(specs, settings.base_url)
    served = {each.spec.base: each.base_url for each in found if each.base_url}
    return replace(
        plan,
        models=[each.spec.text for each in found],
        settings=replace(settings, served={**settings.served, **served}).to_dict(),
    )
