"""Mode ``auto``: native calls, and one switch of the whole run to prompting if the endpoint refuses tools.

A run never mixes modes: the switch happens only before the first answer to a native request with tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.base import Model, Request, ToolsRefused
from pytest_bfcl.transcript import Mode, Reply, Transcript


class ModeSwitch:
    """Holds the run's model and replaces it at most once.

    ``prompting`` makes the model that replaces a refused one. ``on_switch`` receives the reason (to print it).
    Conversations do not wait for the decision, so a hanging request does not delay others. Those in progress at the
    switch are held again, and the replaced model is closed after the last of them.
    """

    def __init__(
        self,
        model: Model,
        prompting: Callable[[], Model] | None = None,
        *,
        on_switch: Callable[[AdapterError], None] | None = None,
    ) -> None:
        self.model = model
        self.switched = False
        self._prompting = prompting
        self._on_switch = on_switch
        self.settled = model.mode != "fc" or prompting is None
        """Whether `model` is final for the run."""
        self._native = model
        self._holding = 0

    @property
    def mode(self) -> Mode:
        """The current mode of requests."""
        return self.model.mode

    async def converse(self, hold: Callable[[Model], Awaitable[Transcript]]) -> Transcript:
        """``hold(model)`` with the run's model; held again from the start if the endpoint refuses tools."""
        model = self.model
        if self.settled:
            return await hold(model)
        try:
            transcript = await self._native_try(hold)
        except AdapterError as error:
            if isinstance(error, ToolsRefused):
                self._switch(error)
            if model is self.model:
                raise
            await self._close_replaced()
            return await hold(self.model)
        await self._close_replaced()
        return transcript if model is self.model else await hold(self.model)

    async def _native_try(self, hold: Callable[[Model], Awaitable[Transcript]]) -> Transcript:
        self._holding += 1
        try:
            return await hold(_Watched(self._native, self._answered))
        finally:
            self._holding -= 1

    async def _close_replaced(self) -> None:
        """Close the connections of the refused model once no request uses it; shared ones end with the run."""
        shared = getattr(self._native, "connections_shared", False)
        if self.switched and not self._holding and not shared:
            await self._native.aclose()

    def _answered(self) -> None:
        self.settled = True

    def _switch(self, error: AdapterError) -> None:
        """Switch to prompting unless that was done before, or native requests were answered already."""
        if self.settled:
            return
        assert self._prompting is not None
        self.model = self._prompting()
        self.switched = self.settled = True
        if self._on_switch is not None:
            self._on_switch(error)


class _Watched:
    """A model that reports its first answer to a request with tools."""

    def __init__(self, model: Model, answered: Callable[[], None]) -> None:
        self._model = model
        self._answered = answered
        self.spec = model.spec
        self.mode = model.mode
        self.underscore_names = model.underscore_names
        for name in ("transcript_for", "remember", "play", "room", "fresh"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    async def generate(self, request: Request) -> Reply:
        reply = await self._model.generate(request)
        if request.functions:
            self._answered()
        return reply

    async def aclose(self) -> None:
        await self._model.aclose()
