"""An entry played by a whole agent: it receives the user's turns, its own loop makes the calls, and a transcript
records them. Requests of the agent to its model are not visible, only its calls and its message at the end of each
turn. Calls before the first result form one step, like the calls of one reply. A step of an agent and a reply of a bare
model are judged alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

from pytest_bfcl.conversation import history
from pytest_bfcl.conversation.dialogue import Dialogue
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators import ERROR_PREFIX
from pytest_bfcl.tools.schemas import compile_tools, wire_names
from pytest_bfcl.transcript import Message, Reply, Step, ToolCall
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Journal, OnReply
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.models.base import Model
    from pytest_bfcl.runs.journal import ReplyKey
    from pytest_bfcl.settings import Settings

RECORDED = "The call was recorded; this tool returns nothing here."
"""The result of a call in entries whose calls are compared and not executed."""
OVER = f"{ERROR_PREFIX}this conversation is over; nothing was run"
STEP_LIMIT = "step_limit"
OVER_S = 0.02
CLEANING_UP_S = 5.0
"""Seconds for a last call after the end, and for an agent's clean-up."""
MOST_CALLS = 1_000
"""Most calls of one conversation that does not execute them: far above any correct one."""


class Player(Protocol):
    """A model that plays a whole entry instead of answering single requests."""

    async def play(self, conversation: PlayedConversation) -> None:
        """Take the user's turns with `begin_turn`, call with `call`, end each turn with `end_turn`."""
        ...


class PlayedConversation(Dialogue):
    """A dialogue whose turns the agent requests, and whose calls arrive one by one. If calls are only compared, all
    calls of the turn become one reply at its end, like a bare model's.
    """

    def __init__(
        self,
        entry: Entry,
        model: Model,
        settings: Settings,
        texts: Texts,
        journal: Journal | None,
        repeat: int,
        on_reply: OnReply | None,
    ) -> None:
        super().__init__(entry, model, replace(settings, decoder=None, template=None), texts, repeat)
        self.journal = journal
        self.on_reply = on_reply
        self.over = asyncio.Event()
        self.all_turns = len(entry.question) if entry.row.multi_step else 1
        self.is_turn_open = False
        self._made = 0
        self._pending: list[tuple[ToolCall, asyncio.Future[str]]] = []
        self._recorded_calls: list[tuple[ToolCall, ...]] = []
        """The calls of an entry that executes none, by their steps."""

    # -- the whole -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """All turns of an open conversation, from the journal if it has them, else played by the agent. Raises
        `AdapterError` for an agent that stops early, hangs, or omits turns.
        """
        try:
            recorded = self._recorded()
            if recorded is not None:
                await self._repeat(recorded)
            else:
                room = getattr(self.model, "room", contextlib.nullcontext)
                async with room():
                    await self._play()
                self._keep()
        finally:
            self.over.set()

    async def _play(self) -> None:
        limit = self.settings.timeout_s * (self.settings.step_limit + 1) * self.all_turns
        player = cast(Player, self.model)
        playing = asyncio.ensure_future(player.play(self))
        over = asyncio.ensure_future(self.over.wait())
        try:
            await asyncio.wait({playing, over}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if self.over.is_set():  # what it does now does not matter
                if not self.transcript.forced_quit:  # let it clean up
                    await asyncio.wait({playing}, timeout=CLEANING_UP_S)
            elif playing.done():
                playing.result()
            else:
                raise AdapterError(AdapterTrouble.TIMEOUT, f"the agent took more than {limit:g} s for {self.entry.id}")
        finally:
            playing.cancel()
            await asyncio.wait({playing}, timeout=CLEANING_UP_S)
        left = self.all_turns - len(self.transcript.turns)
        if left and not self.transcript.forced_quit:
            raise AdapterError(AdapterTrouble.FIXTURE, f"the agent ended {left} user turns too early")

    # -- turns ---------------------------------------------------------------------------------------------------

    def begin_turn(self) -> list[Message] | None:
        """The messages of the next user turn; ``None`` without one. An open turn ends without words."""
        if self.is_turn_open:
            self.end_turn(Reply(text=""))
        if self.over.is_set():
            return None
        super()._next_turn()
        self.is_turn_open = True
        return list(self.transcript.turns[-1].messages)

    def end_turn(self, reply: Reply) -> None:
        """The agent's message at the end of its turn; its figures are those of the whole turn."""
        if not self.is_turn_open or self.over.is_set():
            return
        calls = tuple(call for step in self._recorded_calls for call in step)
        said = replace(reply, text=None if calls else reply.text, tool_calls=calls)
        if calls:  # as a bare model's reply, instead of what the agent heard meanwhile
            del self.messages[len(self.transcript.turns[-1].messages) :]
        self._answer(said)

    def _answer(self, reply: Reply) -> None:
        self.go_on(self.hear(reply))

    def hear(self, raw: Reply) -> Step:
        """See `Dialogue.hear`; the reply is new unless the conversation is repeated."""
        if self.on_reply is not None:
            self.on_reply(self.request(), raw)
        return super().hear(raw)

    def _next_turn(self) -> None:
        """Turns begin on request; here only the last one ends."""
        self.is_turn_open = False
        if len(self.transcript.turns) == self.all_turns:
            self._end()

    def _end(self) -> None:
        super()._end()
        self.over.set()

    # -- calls ---------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> list[Parsed]:
        """The offered tools, in OpenAI's shape."""
        return compile_tools(self.functions)

    async def call(self, name: str, arguments: Fields) -> str:
        """The result of one call; calls before its result share its step."""
        call = self._tool_call(name, arguments)
        if call is None:
            await asyncio.sleep(OVER_S)  # an agent that goes on all the same must let others run, and be ended
            return OVER
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pending.append((call, answered))
        if len(self._pending) > 1:
            return await answered
        await asyncio.sleep(0)  # calls of tasks that run side by side arrive meanwhile
        pending, self._pending = self._pending, []
        try:
            results = await self._step([call for call, _ in pending])
        except BaseException as error:
            for _, other in pending[1:]:
                if not other.done():
                    other.set_exception(error if isinstance(error, Exception) else RuntimeError("the call was ended"))
            raise
        for (_, other), result in zip(pending[1:], results[1:], strict=True):
            if not other.done():
                other.set_result(result)
        return results[0]

    def call_now(self, name: str, arguments: Fields) -> str:
        """The same for callers on the loop's thread that cannot wait: always a separate step."""
        call = self._tool_call(name, arguments)
        if call is None:
            self._made += 1
            if self._made > MOST_CALLS:
                raise asyncio.CancelledError  # nothing else ends a loop that never waits
            return OVER
        step = self._begin_step([call])
        step.results += [self.world.execute_now(text) for text in self.due_calls(step)]
        return self._end_step(step)[0]

    def _tool_call(self, name: str, arguments: Fields) -> ToolCall | None:
        if not self.is_turn_open or self.over.is_set() or self._made >= MOST_CALLS:
            return None
        self._made += 1
        on_the_wire = {documented: wire for wire, documented in wire_names(self.functions).items()}
        return ToolCall(on_the_wire.get(name, name), json.dumps(dict(arguments)), f"call_{self._made}")

    async def _step(self, calls: Sequence[ToolCall]) -> list[str]:
        step = self._begin_step(calls)
        due = self.due_calls(step)
        step.results += [await self.world.execute(text) for text in due]
        if due and (functions := await self.world.new_functions()) is not None:
            self.offer(functions)
        return self._end_step(step)

    def _begin_step(self, calls: Sequence[ToolCall]) -> Step:
        reply = Reply(tool_calls=tuple(calls))
        if self.entry.row.multi_step:
            return self.hear(reply)
        self._recorded_calls.append(reply.tool_calls)
        step = Step(reply, results=[RECORDED] * len(calls))
        message = history.assistant_message(self.model, reply)  # its calls have ids
        self.messages += [message, *history.result_messages(message, step.results)]
        return step

    def _end_step(self, step: Step) -> list[str]:
        """The limit is checked as for bare models: a turn has at most ``step_limit + 1`` steps, all executed."""
        if self.entry.row.multi_step:
            self.go_on(step)
        elif len(self._recorded_calls) > self.settings.step_limit:  # what was called counts
            self.end_turn(Reply(text=""))
        return step.results + [step.error or OVER] * (len(step.reply.tool_calls) - len(step.results))

    # -- the journal ---------------------------------------------------------------------------------------------

    def _key(self, turn: int, step: int) -> ReplyKey:
        from pytest_bfcl.runs.journal import ReplyKey, request_digest

        asked = [message for messages in self.entry.question for message in messages]
        digest = request_digest(asked, self.entry.all_functions, {"played": len(self.entry.question)})
        return ReplyKey(self.model.spec, "fc", self.entry.id, self.transcript.repeat, turn, step, digest)

    def _keep(self) -> None:
        """Every step of a finished conversation; a partial one cannot be resumed."""
        if self.journal is None:
            return
        from pytest_bfcl.runs.journal import Requests

        transcript, requests = self.transcript, Requests(self.transcript.started_at)
        said = [n for n, message in enumerate(self.messages) if message.get("role") == "assistant"]
        before = iter(said[-len(transcript.steps) :])
        for number, turn in enumerate(transcript.turns):
            for position, step in enumerate(turn.steps):
                delta = requests.delta(self.messages[: next(before, None)], transcript.functions)
                self.journal.record(self._key(number, position), step.reply, delta)
                requests.replies.append((step.reply, number, position))
            if transcript.forced_quit and number + 1 == len(transcript.turns):
                self.journal.record(self._key(number, len(turn.steps)), Reply(finish_reason=STEP_LIMIT))

    def _recorded(self) -> list[list[Reply]] | None:
        """The replies of every turn if the journal has the whole conversation, else ``None``."""
        if self.journal is None:
            return None
        turns: list[list[Reply]] = []
        for number in range(self.all_turns):
            turns.append([])
            while not turns[-1] or (turns[-1][-1].tool_calls and self.entry.row.multi_step):
                reply = self.journal.find(self._key(number, len(turns[-1])))
                if reply is None:
                    return None
                turns[-1].append(reply)
            if turns[-1][-1].finish_reason == STEP_LIMIT:
                return turns
        return turns

    async def _repeat(self, recorded: list[list[Reply]]) -> None:
        """The recorded conversation again: calls are executed on the simulators, no request is sent."""
        self.on_reply = None
        for replies in recorded:
            self.begin_turn()
            for reply in replies:
                if self.over.is_set():
                    return
                if reply.tool_calls and self.entry.row.multi_step:
                    await self._step(reply.tool_calls)
                else:
                    self._answer(reply)
