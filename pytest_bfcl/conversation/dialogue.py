"""The state machine of turns and steps (multi_turn spec §2): the next request, the effect of a reply, the end. Its
caller fetches the replies: the engine awaits a model, a training episode receives them. It holds no socket, thread or
clock, so it can be copied and pickled.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_bfcl.conversation import history, prompts
from pytest_bfcl.conversation.history import read_calls
from pytest_bfcl.conversation.prompts import Speech, next_ids
from pytest_bfcl.conversation.world import World, open_world
from pytest_bfcl.dataset.expansion import with_hints
from pytest_bfcl.models.base import Request
from pytest_bfcl.transcript import CALLS_A_STEP, Message, Mode, Reply, Step, Transcript, Turn, wire_name

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.dataset.entry import Entry, FunctionDoc
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.models.base import Model
    from pytest_bfcl.settings import Settings

HISTORY_LIMIT = 8_000_000
"""Characters of replies and results at which a conversation is too long for any model's context."""
OVERFLOW = Reply(problem="context_overflow", finish_reason="context_overflow")


class Speaker(Protocol):
    """The properties of a model that affect messages. It may also have ``family`` and ``remember``."""

    spec: str
    mode: Mode
    underscore_names: bool


class Dialogue:
    """The state of one conversation: history, offered functions, record.

    `open` it; then, until it has `ended`: give the reply to `request` to `hear`, execute `due_calls` on `world`, append
    the results to the step, and `go_on`.
    """

    def __init__(self, entry: Entry, model: Speaker, settings: Settings, texts: Texts, repeat: int = 1) -> None:
        self.entry = entry
        self.model = model
        self.settings = settings
        self.texts = texts
        # Templates and decoders need no more of a model than `Speaker` has.
        own = settings.for_model(model.spec) if settings.models else settings
        self.speech = Speech.of(cast("Model", model), own)
        self.native = model.mode == "fc" and not self.speech.plain
        self.called = 0
        self.heard = 0
        self.steps = 0
        self.ended = False
        self.messages: list[Message] = []
        self.functions = with_hints(entry.function, entry.language, texts, twice=entry.config is not None)
        self.parameters = own.sent_parameters()
        self.transcript = Transcript(
            entry.id,
            entry.category,
            model.spec,
            model.mode,
            repeat,
            bool(getattr(model, "underscore_names", False)) and model.mode == "fc",
            messages=self.messages,
            functions=list(self.functions),
            decoder=self.speech.decoder,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )
        self._world: World | None = None

    @property
    def world(self) -> World:
        """The target of the calls; only conversations that execute calls have one."""
        assert self._world is not None, "nothing is executed here"
        return self._world

    @property
    def too_long(self) -> bool:
        """Whether the history is too long for any model; then the reply is `OVERFLOW`, without a request."""
        return self.heard > HISTORY_LIMIT

    def open(self, snapshots: Snapshots | None = None, search: Any = None, world: World | None = None) -> None:
        """Load the world, if the entry's calls are executed, and begin the first turn. Raises `HarnessError`.

        ``world`` is one that the caller opened, for a user's MCP server.
        """
        if self.entry.row.multi_step:
            self._world = world or open_world(
                self.entry,
                settings=self.settings,
                texts=self.texts,
                snapshots=snapshots,
                search=search,
                names=self._names(),
            )
        self._next_turn()

    def request(self) -> Request:
        """The current request."""
        turns = self.transcript.turns
        return Request(
            self.entry,
            list(self.messages),
            list(self.functions) if self.native or self.speech.plain else (),
            len(turns) - 1,
            len(turns[-1].steps),
            self.transcript.repeat,
            dict(self.parameters),
            1 if self.speech.mended else self.steps + 1,
        )

    def hear(self, raw: Reply) -> Step:
        """Take a reply, thoughts included: read, remember and record it."""
        reply = raw if raw.text is None else self.speech.read(raw)
        turns = self.transcript.turns
        self._remember(raw, reply, len(turns) - 1, len(turns[-1].steps))
        step = Step(reply)
        turns[-1].steps.append(step)
        self.steps += 1
        if not self.entry.row.multi_step or reply.problem != "context_overflow":
            read_calls(self.entry, self.transcript, step, mended=self.speech.mended)
        return step

    def due_calls(self, step: Step) -> list[str]:
        """The calls of a step to execute on `world`, in order."""
        return step.call_texts[:CALLS_A_STEP] if self._world is not None else []

    def go_on(self, step: Step) -> None:
        """After the results: show them, begin the next turn if there was no call, or end.

        The limit is checked after counting, so a turn has at most ``step_limit + 1`` queries, all executed.
        """
        if not self.entry.row.multi_step or step.reply.problem == "context_overflow":
            self._end()  # the history only grows: no later request could fit
        elif not step.calls:
            self._next_turn()
        elif len(self.transcript.turns[-1].steps) > self.settings.step_limit or len(step.calls) > CALLS_A_STEP:
            self.transcript.forced_quit = True
            self._end()
        else:
            self._show_results(step)
            self.called += len(step.calls)

    def offer(self, functions: list[FunctionDoc]) -> None:
        """Offer these tools from now on; new ones get a message where prompts describe tools."""
        known = {doc["name"] for doc in self.transcript.functions}
        added = [doc for doc in functions if doc["name"] not in known]
        self.functions = functions
        self.transcript.functions = [*self.transcript.functions, *added]
        if added and not self.native and not self.ended:
            text = prompts.additional_functions(added, self.texts)
            self.messages.append({"role": "user", "content": text})

    def answer_dangling_calls(self) -> bool:
        """Add a message to calls without a result that they were not run; returns whether there were any."""
        mended = history.with_answered_calls(self.messages)
        changed = len(mended) > len(self.messages)
        self.messages[:] = mended
        return changed

    def _names(self) -> dict[str, str] | None:
        """Sent name → documented name, if the two may differ."""
        if not self.native and not self.transcript.underscore_names:
            return None
        return {wire_name(doc["name"]): doc["name"] for doc in self.entry.all_functions}

    # -- turns ---------------------------------------------------------------------------------------------------

    def _next_turn(self) -> None:
        index = len(self.transcript.turns)
        if index and index >= len(self.entry.question):
            self._end()
            return
        messages = self.opening() if index == 0 else list(self.entry.question[index])
        if index in self.entry.missed_function:
            messages += self._hand_over(index)
        if self.speech.family is not None:
            messages = self.speech.family.opened(messages, not index)
        self.transcript.turns.append(Turn(messages=list(messages)))
        self.messages.extend(messages)

    def _end(self) -> None:
        self.ended = True
        if self._world is not None:
            self._world.keep_memory()

    # -- messages ------------------------------------------------------------------------------------------------

    def opening(self) -> list[Message]:
        """The first turn's messages: the entry's system message with memory instructions, the user's words."""
        family, mode = self.speech.family, self.model.mode
        if family is not None and not family.format.native:
            mode = "prompt" if family.format.system else "fc"  # whether the benchmark's system prompt is needed
        return prompts.first_messages(
            self.entry,
            self.functions,
            self.texts,
            mode=mode,
            memory=self._world.memory if self._world else None,
            template=self.settings.system_prompt,
        )

    def _hand_over(self, index: int) -> list[Message]:
        """The user message that offers held-out functions (multi_turn spec §2.4)."""
        held_out = self.entry.missed_function[index]
        if self.native:
            self.functions = [*self.functions, *held_out]
            return [{"role": "user", "content": self.texts.additional_functions_fc}]
        return [{"role": "user", "content": prompts.additional_functions(held_out, self.texts)}]

    def _remember(self, raw: Reply, reply: Reply, turn: int, step: int) -> None:
        """Append the assistant's message; ``raw`` is the reply with its thoughts."""
        self.heard += len(reply.text or "") + len(reply.reasoning or "")
        for call in reply.tool_calls:
            self.heard += len(call.name) + len(call.arguments)
        if (family := self.speech.family) is not None:
            self.messages += family.heard(raw.text or "", next_ids(self.called), self.functions)
            return
        in_text = self.native and not reply.tool_calls
        said = self.speech.with_calls(reply, self.called, self.functions) if in_text else reply
        message = history.assistant_message(self.model, said, turn, step)
        if raw is not reply:
            message = history.with_thoughts(message, raw, reply, self.model, self.settings.reasoning)
        self.messages.append(message)

    def _show_results(self, step: Step) -> None:
        """Results to the model (multi_turn spec §2.3)."""
        self.heard += sum(map(len, step.results))
        if (family := self.speech.family) is not None:
            self.messages += family.results(step.call_texts, step.results, next_ids(self.called))
        elif self.native:
            self.messages += history.result_messages(self.messages[-1], step.results)
        else:
            text = history.results_text(step.call_texts, step.results)
            self.messages.append({"role": "user", "content": text})
