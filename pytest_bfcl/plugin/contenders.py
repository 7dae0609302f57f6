"""The models named by ``--model`` as contenders of the run, and the variants of every entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_bfcl.dataset.transforms import split_id
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.scoring.model_info import own_price
from pytest_bfcl.selection.selection import shard_item
from pytest_bfcl.session.contender import Contender, check_contenders, variant_label, wanted_mode
from pytest_bfcl.session.trial import Trial

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models import Model, ModelSpec
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.transcript import Mode


class Factories:
    """Providers that conftest files and plugins register; requested when the first model is made."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @cached_property
    def _registered(self) -> dict[str, Callable[..., Any]]:
        known: dict[str, Callable[..., Any]] = {}
        self._config.hook.pytest_bfcl_register_models(register=known.__setitem__)
        return known

    def get(self, provider: str) -> Callable[..., Any] | None:
        """The factory of a provider, ``None`` for our own providers."""
        return self._registered.get(provider)


def check_providers(session: Session) -> None:
    """Raise `UsageError` for an unknown provider if no fixture of the project can be the model.

    A controller collects nothing, so it cannot see which fixture an entry will use.
    """
    from pytest_bfcl.models.registry import check_provider

    if pytest_internals.brings_fixture(session.config, ("model", "bfcl_model")):
        return
    factories = Factories(session.config)
    for spec in session.specs:
        if factories.get(spec.provider) is None:
            check_provider(spec, session.settings)


class Variant(NamedTuple):
    """One variant of every entry: ``label`` appears in brackets at the end of node ids; ``None`` for one model and one
    repeat.

    The label is ``None`` for one model asked once.
    """

    contender: Contender
    repeat: int
    label: str | None


def contenders_of(session: Session, earlier: EarlierParts) -> list[Contender]:
    """The contenders, in the order of the options. Raises `UsageError` if results could not distinguish two of them, or
    a budget has no price.
    """
    factories = Factories(session.config)
    contenders = [_contender(session, spec, earlier, factories) for spec in session.specs]
    check_contenders(contenders, session.settings)
    return contenders


def trials_of(nodeids: Iterable[str], variants: Sequence[Variant], data: Iterable[DataSet]) -> Iterator[Trial]:
    """The trials of node ids, on a controller, which does not collect; other tests have none."""
    sets, labelled = list(data), {variant.label or "": variant for variant in variants}
    for asked in map(shard_item, nodeids):
        variant = labelled.get(asked.label)
        for each in sets:
            if variant is not None and (ref := each.find(split_id(asked.entry_id)[0])) is not None:
                yield Trial.of(ref, variant.contender, each, variant.repeat)
                break


def variants_of(contenders: Sequence[Contender], repeats: int) -> list[Variant]:
    """Every model and repeat of an entry."""
    several = len(contenders) > 1 or repeats > 1
    return [
        Variant(each, repeat, variant_label(each, repeat, several=several))
        for each in contenders
        for repeat in range(1, repeats + 1)
    ]


def _contender(session: Session, spec: ModelSpec, earlier: EarlierParts, factories: Factories) -> Contender:
    settled = earlier.modes.get(spec.base)
    expected: Mode = wanted_mode(spec, session.settings) or settled or "fc"

    def make(mode: Mode | None) -> Model:
        from pytest_bfcl.models import as_model, create_model

        factory = factories.get(spec.provider)
        if factory is None:
            return create_model(spec, session.settings, dataset=session.data.dataset, mode=mode)
        chosen = mode or expected
        return as_model(factory(spec, session.settings, chosen), spec.with_mode(chosen).text, mode=chosen)

    return Contender.of_spec(
        spec,
        session.settings,
        make=make,
        settled=settled,
        price=own_price(session.model_info, session.settings, spec.text, spec.with_mode(expected).text, spec.base),
        budget_share=session.processes,
    )
