"""Mode ``auto``: native calls, and one switch of the whole run to prompting if the endpoint refuses tools.

A run never mixes modes: the switch happens only before the first answer to a native request with tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.base import Model, Request, ToolsRefused
from pytest_bfcl.transcript import Reply, Transcript


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
        self._holding = 0

    async def converse(self, hold: Callable[[Model], Awaitable[Transcript]]) -> Transcript:
        """``hold(model)`` with the run's model; held again from the start if the endpoint refuses tools.

        ``hold`` tells `heard` of every reply.
        """
        if self.settled:
            return await hold(self.model)
        native = self.model
        self._holding += 1
        try:
            transcript = await hold(native)
            if self.model is native:
                return transcript
        except AdapterError as error:
            if isinstance(error, ToolsRefused):
                self._switch(error)
            if self.model is native:
                raise
        finally:
            self._holding -= 1
        if not self._holding and not getattr(native, "connections_shared", False):  # shared ones end with the run
            await native.aclose()
        return await hold(self.model)

    def heard(self, request: Request, reply: Reply) -> None:
        """A reply to a request with tools settles the mode; for ``on_reply`` of `converse`."""
        self.settled = self.settled or bool(request.functions)

    def _switch(self, error: AdapterError) -> None:
        """Switch to prompting unless that was done before, or native requests were answered already."""
        if self.settled:
            return
        assert self._prompting is not None
        self.model = self._prompting()
        self.switched = self.settled = True
        if self._on_switch is not None:
            self._on_switch(error)
