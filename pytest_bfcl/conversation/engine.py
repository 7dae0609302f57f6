"""The conversation engine: turns, steps, held-out functions, results back to the model (multi_turn spec §2).

`converse` raises only for trouble that is not the model's (`AdapterError`, `HarnessError`); whatever the model
says ends up in the transcript.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation import history, prompts
from pytest_bfcl.conversation.calls import fill_calls
from pytest_bfcl.conversation.execution import execute, is_executed, require
from pytest_bfcl.conversation.formats import Speech
from pytest_bfcl.conversation.played import PlayedConversation
from pytest_bfcl.conversation.services import Services
from pytest_bfcl.conversation.world import World, open_world
from pytest_bfcl.failures import AdapterError, BenchmarkError, HarnessError
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.callable import read_result
from pytest_bfcl.models.places import fixture_error
from pytest_bfcl.transcript import CALLS_A_STEP, Message, Mode, Reply, Step, Transcript, Turn, wire_name

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Journal, Snapshots
    from pytest_bfcl.dataset import Entry, Texts
    from pytest_bfcl.models.base import Model
    from pytest_bfcl.runs import RequestDigests
    from pytest_bfcl.settings import Settings


async def converse(
    entry: Entry,
    model: Model,
    *,
    settings: Settings,
    texts: Texts,
    journal: Journal | None = None,
    repeat: int = 1,
    snapshots: Snapshots | None = None,
    search: Any = None,
    services: Services | None = None,
    on_reply: Callable[[Reply], None] | None = None,
) -> Transcript:
    """Hold the whole conversation of one entry with one model.

    Single-turn entries take one request. Entries whose calls are executed go on until the model stops calling, turn
    after turn. A model with a method ``transcript_for(entry, repeat)`` (stored trajectories) is not asked when that
    gives a transcript. One with a method ``play`` is a whole agent (`PlayedConversation`). ``journal`` is looked up
    before every request and written after it; ``snapshots`` carry memories from write stages to questions; ``search``
    is the provider behind the web tools, ``services`` what the calls of retired categories reach (made for this
    conversation if need be); ``on_reply`` is told of every live reply (a budget's ``charge``).

    Raises `AdapterError` when the provider could not be asked, `HarnessError` for defects of data or harness,
    `EntrySkipped` when a retired entry lacks a recording.
    """
    if is_executed(entry) and services is None:
        with Services.of(settings, official=entry.official) as own:
            return await converse(
                entry, model, settings=settings, texts=texts, journal=journal, repeat=repeat, services=own,
                on_reply=on_reply,
            )  # fmt: skip
    recorded = getattr(model, "transcript_for", None)
    transcript: Transcript | None = None
    try:
        transcript = recorded(entry, repeat) if recorded is not None else None
        if transcript is None:
            if services is not None and is_executed(entry):
                await asyncio.to_thread(require, entry, services)
            kind = PlayedConversation if hasattr(model, "play") else _Conversation
            conversation = kind(entry, model, settings, texts, journal, repeat, on_reply)
            transcript = conversation.transcript
            await conversation.run(snapshots, search)
        if services is not None and is_executed(entry):
            await asyncio.to_thread(execute, entry, transcript, services)
        return transcript
    except BenchmarkError as error:
        error.transcript = _broken_off(transcript)
        raise
    except Exception as error:
        text = f"{entry.id}: the conversation broke off: {type(error).__name__}: {error}"
        broken = HarnessError("conversation", text)
        broken.transcript = _broken_off(transcript)
        raise broken from error


def _broken_off(transcript: Transcript | None) -> Transcript | None:
    """A conversation that an error ended, ``None`` when no reply had arrived."""
    if transcript is None or not transcript.steps:
        return None
    transcript.incomplete = True
    return transcript


class _Conversation:
    """The state of one conversation: history, offered functions, record."""

    def __init__(
        self,
        entry: Entry,
        model: Model,
        settings: Settings,
        texts: Texts,
        journal: Journal | None,
        repeat: int,
        on_reply: Callable[[Reply], None] | None,
    ) -> None:
        self.entry = entry
        self.model = model
        self.settings = settings
        self.texts = texts
        self.journal = journal
        self.on_reply = on_reply
        self.speech = Speech.of(model, settings.for_model(model.spec))
        self.native = model.mode == "fc" and not self.speech.plain
        self.called = 0
        self.messages: list[Message] = []
        self.heard = 0
        self.digests: RequestDigests | None = None
        self.functions = prompts.offered_functions(entry, texts)
        self.parameters = settings.for_model(model.spec).sent_parameters()
        self.transcript = Transcript(
            entry.id,
            entry.category,
            model.spec,
            model.mode,
            repeat,
            bool(getattr(model, "underscore_names", False)) and model.mode == "fc",
            functions=list(self.functions),
            decoder=self.speech.decoder,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )

    async def run(self, snapshots: Snapshots | None, search: Any) -> Transcript:
        """All turns of the entry."""
        started = time.perf_counter()
        self.transcript.messages = self.messages
        try:
            if self.entry.row.multi_step:
                await self._run_with_execution(snapshots, search)
            else:
                turn = self._begin(self._first_messages(None))
                turn.steps.append(Step(await self._ask(0, 0)))
                fill_calls(self.entry, self.transcript)
        finally:
            self.transcript.duration_s = time.perf_counter() - started
        return self.transcript

    async def _run_with_execution(self, snapshots: Snapshots | None, search: Any) -> None:
        world = open_world(
            self.entry,
            settings=self.settings,
            texts=self.texts,
            snapshots=snapshots,
            search=search,
            names=self._names(),
        )
        for index, messages in enumerate(self.entry.question):
            opening = self._first_messages(world) if index == 0 else list(messages)
            turn = self._begin([*opening, *self._hand_over(index)])
            if not await self._run_turn(index, turn, world):
                break
        world.keep_memory()

    def _names(self) -> dict[str, str] | None:
        """Name on the wire → documented name, where the two may differ."""
        if not self.native and not self.transcript.underscore_names:
            return None
        return {wire_name(doc["name"]): doc["name"] for doc in self.entry.all_functions}

    async def _run_turn(self, index: int, turn: Turn, world: World) -> bool:
        """Steps until the model stops calling; false when the whole conversation must end.

        The limit is tested after counting, so a turn has at most ``step_limit + 1`` queries, all executed.
        """
        from pytest_bfcl.decoding import DecodeError, is_empty

        while True:
            reply = await self._ask(index, len(turn.steps))
            step = Step(reply)
            turn.steps.append(step)
            if reply.problem == "context_overflow":
                return False  # the history only grows: no later request could fit
            try:
                texts = self.speech.texts(reply, self.model.mode, self.entry.all_functions)
            except DecodeError as error:
                step.error = str(error)
                return True
            if is_empty(texts):
                step.calls = []
                return True
            step.calls = list(texts)
            for text in texts[:CALLS_A_STEP]:
                step.results.append(await world.execute(text))
            if len(turn.steps) > self.settings.step_limit or len(texts) > CALLS_A_STEP:
                self.transcript.forced_quit = True
                return False
            self._show_results(step)
            self.called += len(texts)

    # -- messages ------------------------------------------------------------------------------------------------

    def _first_messages(self, world: World | None) -> list[Message]:
        return prompts.first_messages(
            self.entry,
            self.functions,
            self.texts,
            mode=self._prompt_mode(),
            memory=world.memory if world else None,
            template=self.settings.system_prompt,
        )

    def _prompt_mode(self) -> Mode:
        """``prompt`` where the benchmark's system prompt is due."""
        family = self.speech.family
        if family is None or family.format.native:
            return self.model.mode
        return "prompt" if family.format.system else "fc"

    def _begin(self, messages: list[Message]) -> Turn:
        if self.speech.family is not None:
            messages = self.speech.family.opened(messages, not self.transcript.turns)
        turn = Turn(messages=list(messages))
        self.transcript.turns.append(turn)
        self.messages.extend(messages)
        return turn

    def _hand_over(self, index: int) -> list[Message]:
        """The user message that offers held-out functions (multi_turn spec §2.4)."""
        held_out = self.entry.missed_function.get(index)
        if held_out is None:
            return []
        if self.native:
            self.functions = [*self.functions, *held_out]
            return [{"role": "user", "content": self.texts.additional_functions_fc}]
        return [{"role": "user", "content": prompts.additional_functions(held_out, self.texts)}]

    def _hear(self, raw: Reply, reply: Reply, turn: int, step: int) -> None:
        """Append the assistant's message; ``raw`` is the reply with its thoughts in it."""
        self.heard += len(reply.text or "") + len(reply.reasoning or "")
        self.heard += sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)
        heard = self.speech.heard(raw, self.called)
        if heard is None:
            said = self.speech.with_calls(reply, self.called) if self.native else reply
            heard = [history.assistant_message(self.model, said, turn, step)]
        self.messages += heard

    def _show_results(self, step: Step) -> None:
        """Results to the model (multi_turn spec §2.3)."""
        self.heard += sum(map(len, step.results))
        shown = self.speech.results(step.call_texts, step.results, self.called)
        if shown is not None:
            self.messages += shown
        elif self.native:
            self.messages += history.result_messages(self.messages[-1], step.results)
        else:
            text = history.results_text(step.call_texts, step.results)
            self.messages.append({"role": "user", "content": text})

    # -- asking --------------------------------------------------------------------------------------------------

    async def _ask(self, turn: int, step: int) -> Reply:
        too_long = self.heard > HISTORY_LIMIT
        raw = OVERFLOW if too_long else await self._recorded_or_asked(turn, step)
        reply = self.speech.read(raw)
        self._hear(raw, reply, turn, step)
        return reply

    async def _recorded_or_asked(self, turn: int, step: int) -> Reply:
        request = Request(
            self.entry,
            list(self.messages),
            list(self.functions) if self.native or self.speech.plain else (),
            turn,
            step,
            self.transcript.repeat,
            dict(self.parameters),
            1 if self.speech.mended else sum(len(turn.steps) for turn in self.transcript.turns) + 1,
        )
        if self.journal is None:
            return await self._live(request)
        from pytest_bfcl.runs import ReplyKey, RequestDigests

        self.digests = self.digests or RequestDigests()
        digest = self.digests.of(request.messages, request.functions, request.parameters)
        key = ReplyKey(self.model.spec, self.model.mode, self.entry.id, self.transcript.repeat, turn, step, digest)
        known = self.journal.find(key)
        if known is not None:
            return known
        reply = await self._live(request)
        self.journal.record(key, reply)
        return reply

    async def _live(self, request: Request) -> Reply:
        # A user's own model may hand on what its client library gave.
        try:
            reply = read_result(await self._generate(request))
        except BenchmarkError:
            raise
        except Exception as error:
            if (trouble := fixture_error(error)) is None:  # a defect of ours
                raise
            raise trouble from error
        if self.on_reply is not None:
            self.on_reply(reply)
        return reply

    async def _generate(self, request: Request) -> Reply:
        try:
            return await self.model.generate(request)
        except AdapterError as error:
            if error.kind != "bad_request" or not self._answer_dangling_calls():
                raise
            # Calls that did not decode have no result message. Lenient endpoints accept that history, as the
            # reference sends it; strict ones refuse it, which must not count as our trouble.
            request.messages = list(self.messages)
            return await self.model.generate(request)

    def _answer_dangling_calls(self) -> bool:
        """Give calls without a result message one that says they were not run; whether there were any."""
        mended = history.with_answered_calls(self.messages)
        changed = len(mended) > len(self.messages)
        self.messages[:] = mended
        return changed


HISTORY_LIMIT = 8_000_000
"""Characters of replies and results after which a conversation ends as too long for any model's context: each step
sends all of them again. The longest honest conversation stays far below 1,000,000."""
OVERFLOW = Reply(problem="context_overflow", finish_reason="context_overflow")
