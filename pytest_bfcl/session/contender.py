"""One model of a run: its name in results, its settings, its price, and the reason to stop sending it requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.endpoints.breaker import sign_of, trouble
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.formats.detection import TextReading, model_name
from pytest_bfcl.models import as_model, create_model, parse_spec, stop_reason
from pytest_bfcl.models.base import ToolsRefused
from pytest_bfcl.models.prices import Budget
from pytest_bfcl.settings import Price
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.endpoints.pacing import Gate
    from pytest_bfcl.models import Model, ModelSpec
    from pytest_bfcl.models.base import Request
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Mode, Reply, Transcript


AT_START = 5
"""Equal failures that stop a run if the model has not answered anything yet."""
LATER = 25
"""Equal failures without an answer between them that stop it later, because single entries may have problems."""


class UsersModelTrouble:
    """Counts equal failures of a model that the user brought; ``reason`` says why it gets no more requests."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.calm = False
        """Whether the last conversation ended normally."""
        self._answered = False
        self._sign = ""
        self._alike = 0

    def answered(self) -> None:
        """Count a conversation that ended normally."""
        self.calm = self._answered = True
        self._alike = 0

    def failed(self, error: AdapterError) -> None:
        """Count a conversation that ended in this error."""
        if error.kind != AdapterTrouble.FIXTURE:
            return
        self.calm = False
        sign = sign_of(error)
        self._alike = self._alike + 1 if sign == self._sign else 1
        self._sign = sign
        if self._alike >= (LATER if self._answered else AT_START) and self.reason is None:
            self.reason = f"{error.message}; {self._alike} entries in a row ended with this error"


MakeModel = Callable[["Mode | None"], "Model"]
"""Makes a contender's adapter; the argument is the mode, ``None`` if spec and settings decide."""


class Identity(NamedTuple):
    """Model and mode in results."""

    model: str
    mode: Mode


class Contender:
    """One model of a run, made by `of_spec` or `of_adapter`.

    ``label`` distinguishes the contenders of a run and never changes; `identity` may, once mode ``auto`` is settled:
    before the first answer to a native request with tools, an endpoint that refuses tools switches the run, once, to
    prompting. Conversations do not wait for that decision, so a hanging request does not delay others. The adapter
    is made on first use: a process that only plans or reports makes none.
    """

    def __init__(
        self,
        label: str,
        make: MakeModel,
        *,
        mode: Mode,
        spec: ModelSpec | None = None,
        switches: bool = False,
        price: Price | None = None,
        budget: Budget | None = None,
        owned: bool = True,
    ) -> None:
        self.label = label
        self.spec = spec
        self.price = price
        self.budget = budget or Budget(None, price)
        self.on_switch: Callable[[Contender, AdapterError], None] | None = None
        self.switches = switches
        """Whether mode ``auto`` is still open."""
        self.users_trouble = UsersModelTrouble()
        self.has_news = False
        """Whether an adapter was made since `take_notes`: asked for the first time, or in its other mode."""
        self.ended: str | None = None
        """Why waiting requests must not be sent any more: the run is ending."""
        self.given: object = None
        """The caller's own object, if there is one."""
        self._make = make
        self._mode = mode
        self._owned = owned
        self._model: Model | None = None
        self._made: list[Model] = []
        self._lent: dict[int, Contender] = {}
        self._holding = 0
        self._reading = TextReading()

    @classmethod
    def of_spec(
        cls,
        spec: ModelSpec,
        settings: Settings,
        *,
        data: DataSet | None = None,
        make: MakeModel | None = None,
        settled: Mode | None = None,
        price: Price | None = None,
        budget_share: int = 1,
    ) -> Contender:
        """The contender a spec names.

        ``settled`` is the mode that an earlier part of the run chose; ``make`` makes the adapter of a provider that the
        caller registered; ``price`` takes precedence over the settings and the price list; ``budget_share`` is the
        number of processes that share the budget.
        """
        from pytest_bfcl.models.prices import price_of

        chosen = wanted_mode(spec, settings)

        def made(mode: Mode | None) -> Model:
            return create_model(spec, settings, dataset=data, mode=mode)

        price = price or price_of(spec, settings)
        limit = settings.budget_usd
        contender = cls(
            spec.text,
            make or made,
            mode=chosen or settled or "fc",
            spec=spec,
            switches=chosen is None and settled is None,
            price=price,
            budget=Budget(limit / budget_share if limit is not None else None, price),
        )
        contender._reading = TextReading(settings.for_model(spec.text).decoder)
        return contender

    @classmethod
    def of_adapter(cls, adapter: Any, settings: Settings) -> Contender:
        """The contender of a caller's own adapter, or of anything `as_model` takes."""
        model = as_model(adapter, wrong=_NO_MODEL)
        price = _price_of(model, settings)
        budget = Budget(settings.budget_usd, price)
        contender = cls(model.spec, lambda mode: model, mode=model.mode, price=price, budget=budget)
        contender.given = adapter
        return contender

    # -- who it is -----------------------------------------------------------------------------------------------

    @property
    def identity(self) -> Identity:
        """Model and mode in results now: with its mode, a stored model under the name in its lines."""
        lent = next(iter(self._lent.values()), None)
        if lent is not None:
            return lent.identity
        if self._model is not None or self.spec is None or self.spec.provider == "replay":
            return Identity(self.model.spec, self.model.mode)
        return Identity(self.spec.with_mode(self._mode).text, self._mode)

    @property
    def mode(self) -> Mode:
        """Its mode, as far as it is known before the first request."""
        return self.identity.mode

    @property
    def stored(self) -> bool:
        """Whether it returns recorded conversations, which call no tools."""
        if self._model is None and self.spec is not None:
            return self.spec.provider == "replay"
        return is_stored(self.model)

    @property
    def is_measured(self) -> bool:
        """Whether it is judged; stored conversations and the adversaries of a proof are not."""
        return not self.stored and (self.spec is None or self.spec.provider not in ("oracle", "adversary"))

    @property
    def read_as(self) -> str:
        """How texts are read, and what stored replies proved (`ReplayModel.found_out`); else empty."""
        found = str(getattr(self.model, "found_out", "")) if self.stored else ""
        return "; ".join(filter(None, (found, self._read_by())))

    def _read_by(self) -> str:
        """The decoder of its texts, if its name shows it; else the conversation decides."""
        try:
            return self._reading.decoder_text(model_name(self.identity.model), self.mode)
        except UsageError:
            return ""

    def settle(self, mode: Mode) -> None:
        """Mode ``auto`` chose this mode in another process of the run."""
        self._mode, self.switches = mode, False

    # -- asking --------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The adapter in use. Raises `UsageError` if it cannot be made."""
        if self._model is None:
            self._model = self._made_in(None if self.switches else self._mode)
            self.switches = self.switches and self._model.mode == "fc"
        return self._model

    async def converse(self, hold: Callable[[Model], Awaitable[Transcript]]) -> Transcript:
        """``hold(model)``, which tells `heard` of every reply; held again from the start if tools were refused
        meanwhile. The refused adapter is closed after the last of its conversations.
        """
        native = self._model or self.model
        if not self.switches:
            return await hold(native)
        self._holding += 1
        try:
            transcript = await hold(native)
            if self._model is native:
                return transcript
        except AdapterError as error:
            if isinstance(error, ToolsRefused) and self.switches:
                self.refused(error)
            if self._model is native:
                raise
        finally:
            self._holding -= 1
        if not self._holding and not getattr(native, "connections_shared", False):  # shared ones end with the run
            await native.aclose()
        return await hold(self.model)

    def heard(self, request: Request, reply: Reply) -> None:
        """Count a live reply; one to a request with tools settles the mode."""
        if request.functions:
            self.switches = False
        self.budget.charge(reply)

    def refused(self, error: AdapterError) -> None:
        """The endpoint takes no tools: ask in prompting mode from now on."""
        self._model, self.switches = self._made_in("prompt"), False
        if self.on_switch is not None:
            self.on_switch(self, error)

    def check_key(self) -> None:
        """Raise `UsageError` if its endpoint needs a key and none is set, as every request would fail."""
        check = getattr(getattr(self.model, "server", self.model), "check_key", None)
        try:
            if check is not None:
                check()
        except AdapterError as error:
            advice = f"\nwhat to do: {error.advice}" if error.advice else ""
            raise UsageError(f"{self.label}: {error.message}{advice}") from None

    def lent(self, model: object, *, kept: bool = True) -> Contender:
        """The same contender with a user's object, which the user closes; price and budget stay these.

        ``kept``: for the whole run, not for one trial only.
        """
        if id(model) in self._lent:
            return self._lent[id(model)]
        adapter = as_model(model, self.spec.base if self.spec else self.label, mode=self._mode)
        lent = Contender(
            self.label, lambda mode: adapter, mode=adapter.mode, price=self.price, budget=self.budget, owned=False
        )
        lent.users_trouble = self.users_trouble
        if kept:
            self._lent[id(model)] = lent
        return lent

    def has_made(self, model: object) -> bool:
        """Whether this is one of the contender's own adapters."""
        return any(each is model for each in self._made)

    def take_notes(self) -> list[str]:
        """What its adapters found out since the last call, in words: parameters left out, a corrected key."""
        found: list[str] = []
        if self.has_news and (read := self._read_by()):
            found.append(f"{self.identity.model}: {read}")
        self.has_news = False
        for model in (*self._made, *(each for lent in self._lent.values() for each in lent._made)):
            notes = getattr(model, "notes", None)
            if isinstance(notes, list) and notes:
                found += map(str, notes)
                notes.clear()
        return found

    @property
    def has_adapter(self) -> bool:
        """Whether it has an adapter yet."""
        return self._model is not None

    @property
    def gate(self) -> Gate | None:
        """What limits its requests if it finds its own number in flight; ``None`` if the runner counts."""
        return _gate_of(self.model)

    def trouble(self) -> str | None:
        """The problem of its endpoint while requests are retried."""
        return next(filter(None, (trouble(each._model) for each in (self, *self._lent.values()))), None)

    def stop_reason(self) -> str | None:
        """Why it gets no more requests: endpoint down, key refused, budget spent."""
        return self.broken() or self.spent()

    def broken(self) -> str | None:
        """Its permanent problem: endpoint down, key refused, the user's model failing in the same way."""
        for each in (self, *self._lent.values()):
            if reason := stop_reason(each._model):
                return reason
        return self.users_trouble.reason

    def spent(self) -> str | None:
        """The message that its budget is spent."""
        return None if self.budget.limit_usd is None else self.budget.stop_reason()

    async def aclose(self) -> None:
        """Close the adapters that it made; lent ones belong to their owners."""
        made, self._made, self._model = self._made, [], None
        self._lent.clear()
        for model in made if self._owned else ():
            await model.aclose()

    def _made_in(self, mode: Mode | None) -> Model:
        model = self._make(mode)
        self._made.append(model)
        self.has_news = True
        if (gate := _gate_of(model)) is not None:  # hundreds may wait there when the budget is spent
            gate.stop_reason = lambda: self.ended or self.budget.stop_reason()
        return model


def check_contenders(contenders: Sequence[Contender], settings: Settings) -> None:
    """Raise `UsageError` if results could not distinguish two models, or a budget has no price."""
    named: dict[str, str] = {}
    for contender in contenders:
        name = contender.identity.model
        if name in named:
            raise UsageError(f"{named[name]} and {contender.label} are one model in results: {name}")
        named[name] = contender.label
    if settings.budget_usd is not None and not any(contender.price for contender in contenders):
        raise UsageError("--bfcl-budget needs a price, and no price list has this model: add --bfcl-price IN,OUT")


def variant_label(contender: Contender, repeat: int, *, several: bool) -> str | None:
    """The part of node ids and shards that distinguishes an entry's trials (model and repeat); ``None`` if there is
    only one.

    ``several``: the run has more than one model, or repeats.
    """
    if not several:
        return None
    return contender.label if repeat == 1 else f"{contender.label}-r{repeat}"


def wanted_mode(spec: ModelSpec, settings: Settings) -> Mode | None:
    """The mode that spec or settings fix, ``None`` for ``auto``."""
    return spec.mode or (settings.mode if settings.mode != "auto" else None)


_NO_MODEL = "{} was given as a model: give a text such as 'openai:NAME',"


def _gate_of(model: object) -> Gate | None:
    return getattr(getattr(model, "calls", None), "gate", None)


def is_stored(model: object) -> bool:
    """Whether a model returns recorded conversations."""
    return hasattr(model, "transcript_for")


def _price_of(model: Model, settings: Settings) -> Price | None:
    """USD per million tokens: from the settings, else the list price of the model."""
    from pytest_bfcl.models.prices import price_of

    try:
        return price_of(parse_spec(model.spec), settings)
    except UsageError:  # an adapter of the caller's, named freely
        return settings.price
