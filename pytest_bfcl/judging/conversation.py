"""A conversation about one task: messages and tools for a model, its replies in, the next messages out.

The steps are those of a run (`pytest_bfcl.conversation.dialogue`), and so is the judgement. Nothing a model wrote is
evaluated as code: calls act on simulators that belong to this conversation alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.failures import AdapterError, BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.judgement import Judgement, judgement_of, not_judged
from pytest_bfcl.judging.said import Said, read
from pytest_bfcl.judging.task import Task, refuse_servers
from pytest_bfcl.settings import Settings
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation import Snapshots
    from pytest_bfcl.conversation.dialogue import Dialogue
    from pytest_bfcl.conversation.services import Services
    from pytest_bfcl.dataset import Texts
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.settings import Rules
    from pytest_bfcl.transcript import Message, Mode, Transcript

NAMES = ("underscores", "dots")


@dataclass(slots=True)
class _Speaker:
    """Who answers, as a dialogue knows it."""

    spec: str
    mode: Mode
    underscore_names: bool


class Conversation:
    """One conversation about a task.

    Args:
        task: What is asked.
        mode: ``fc``: the model gets `tools` and answers with native calls. ``prompt``: a system message describes the
            functions, and the model writes calls as text; `tools` is then empty.
        names: ``underscores`` (default in ``fc``; what most APIs demand) or ``dots``: how the model writes function
            names that have dots.
        decoder: The format of calls in texts (`pytest_bfcl.formats`), whatever the mode.
        think: Thoughts in a text: ``auto`` (as the decoder's family does), ``strip``, ``keep``.
        rules: Which rules repair handlers' defects while the conversation goes on: ``official`` or ``corrected``.
        settings: Further settings of a run, such as the step limit.
        memories: Where write stages leave what memory questions read: share one `HeldSnapshots` among a scenario.
        search: The provider behind the web tools, for tasks that need ``search``.
        services: What calls of executable entries reach; give one that is kept open, or each conversation makes its own.
        texts: The wording of the data set, where it is not that of the task's.

    Copies (`copy.deepcopy`, `pickle`) continue apart. Use it as a context manager, or call `close`, where calls are executed in worker processes (retired categories).
    Raises `UsageError` for unknown options and for tasks on a user's MCP server, `HarnessError` for unusable data.
    """

    def __init__(
        self,
        task: Task,
        mode: Mode = "fc",
        names: str | None = None,
        *,
        decoder: str | None = None,
        think: Think | None = None,
        rules: Rules | None = None,
        settings: Settings | None = None,
        memories: Snapshots | None = None,
        search: object = None,
        services: Services | None = None,
        texts: Texts | None = None,
    ) -> None:
        if mode not in ("fc", "prompt"):
            raise UsageError(f"mode is 'fc' or 'prompt', not {mode!r}")
        if names not in (None, *NAMES):
            raise UsageError(f"names is 'underscores' or 'dots', not {names!r}")
        refuse_servers([task])
        given = {"decoder": decoder, "think": think, "rules": rules}
        self.task = task
        self.settings = replace(settings or Settings(), **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
        under = mode == "fc" if names is None else names == "underscores"
        self._speaker = _Speaker(f"judge:{mode}", mode, under)
        self._memories, self._search = memories, search
        self._services, self._own_services = services, False
        self._texts = texts
        self._heard: list[Said] = []
        self._trouble: BenchmarkError | None = None
        self._stopped = False
        self._dialogue = self._begun()

    def _begun(self) -> Dialogue:
        from pytest_bfcl.conversation.dialogue import Dialogue  # with it comes pydantic: not where this is imported

        dialogue = Dialogue(self.task.entry, self._speaker, self.settings, self._texts or self.task.texts)
        dialogue.open(self._memories, self._search)
        return dialogue

    # -- what a model gets ---------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """The whole history, as it goes with the next request, in the shape of chat completions; a copy."""
        return _copies(self._dialogue.messages)

    @property
    def tools(self) -> list[Parsed]:
        """The tools offered now, in OpenAI's shape (`to_tools` gives others); more may come with a later turn."""
        return compile_tools(self._dialogue.functions) if self._speaker.mode == "fc" else []

    @property
    def done(self) -> bool:
        """Whether nothing more is asked: the task is over, or a reply failed."""
        return self._dialogue.ended or self._stopped or self._trouble is not None

    @property
    def turn(self) -> int:
        """The zero-based user turn that the next reply belongs to, or the last one."""
        return max(len(self._dialogue.transcript.turns) - 1, 0)

    @property
    def transcript(self) -> Transcript:
        """The record so far, as a run stores and the checkers read it."""
        return self._dialogue.transcript

    # -- what a model says ---------------------------------------------------------------------------------------

    def reply(
        self, said: object, *, raw_arguments: Sequence[str | None] | None = None, ending: str | None = None
    ) -> list[Message]:
        """Take a reply; returns the messages after it: results of calls, the user's next turn.

        ``said``: any shape that `read` takes. ``raw_arguments``: the argument text of each call as the model wrote it,
        where the shape has parsed ones only. ``ending``: the API's word for how the reply ended (``stop``,
        ``tool_calls``, ``length`` …), where the shape has none. A reply that failed (an unknown ending, an error inside
        it) ends the conversation: `judgement` is then ``not judged``, and `retry` takes another reply in its place.

        Never raises for what a model said. Raises `UsageError` for an unknown shape, a missing ending, or when the
        conversation is over.
        """
        if self.done:
            raise UsageError(f"the conversation about {self.task.id} is over")
        heard = said if isinstance(said, Said) else read(said, raw_arguments=raw_arguments, ending=ending)
        self._heard.append(heard)
        if heard.failure is not None:
            self._trouble = AdapterError(AdapterTrouble.ENDING, heard.failure)
            return []
        return self._take(heard)

    async def areply(
        self, said: object, *, raw_arguments: Sequence[str | None] | None = None, ending: str | None = None
    ) -> list[Message]:
        """`reply` in a thread, so that a slow tool does not hold up an event loop."""
        import asyncio

        return await asyncio.to_thread(self.reply, said, raw_arguments=raw_arguments, ending=ending)

    def retry(self) -> None:
        """Forget a reply that failed, so that another may take its place."""
        if self._trouble is not None:
            self._heard.pop()
            self._trouble = None

    def _take(self, heard: Said) -> list[Message]:
        from pytest_bfcl.conversation.dialogue import OVERFLOW

        dialogue = self._dialogue
        reply = heard.named_for(dialogue.functions) if self._speaker.underscore_names else heard.reply
        known = len(dialogue.messages)
        self._step(reply)
        shown = len(dialogue.messages)
        first = next((n for n in range(known, shown) if dialogue.messages[n]["role"] != "assistant"), shown)
        if not dialogue.ended and dialogue.too_long:
            self._step(OVERFLOW)  # no model could take the history
        return _copies(dialogue.messages[first:shown])

    def _step(self, reply: Any) -> None:
        dialogue = self._dialogue
        step = dialogue.hear(reply)
        for call in dialogue.due_calls(step):
            step.results.append(dialogue.world.execute_now(call))
        dialogue.go_on(step)

    # -- what came of it -----------------------------------------------------------------------------------------

    def end(self) -> Judgement:
        """End here: what was not answered counts as not answered. Returns the judgement."""
        self._stopped = True
        return self.judgement()

    def judgement(self) -> Judgement:
        """What came of it. Before the end: the judgement if nothing more were said."""
        from pytest_bfcl.conversation.services import Services, is_executed

        entry = self.task.entry
        if self._trouble is not None:
            return not_judged(entry.id, entry.category, self._trouble)
        try:
            if is_executed(entry):
                if self._services is None:
                    self._services, self._own_services = Services(official=entry.official), True
                self._services.execute(entry, self.transcript)
            return judgement_of(entry, self.transcript)
        except BenchmarkError as error:
            return not_judged(entry.id, entry.category, error)

    # -- storing -------------------------------------------------------------------------------------------------

    def dump(self) -> Parsed:
        """JSON-able fields from which `load` makes the conversation again."""
        speaker, settings = self._speaker, self.settings
        return {
            "task": self.task.to_json(),
            "mode": speaker.mode,
            "names": NAMES[not speaker.underscore_names],
            "decoder": settings.decoder,
            "think": settings.think,
            "rules": settings.rules,
            "step_limit": settings.step_limit,
            "heard": [each.to_json() for each in self._heard],
            "ended": self._stopped,
        }

    @classmethod
    def load(cls, fields: Fields, *, memories: Snapshots | None = None, search: object = None) -> Conversation:
        """The conversation again: its replies are taken once more, on fresh simulators.

        ``memories`` and ``search`` as for a new one. Raises `HarnessError` where the task's data is another one here.
        """
        if not isinstance(fields, Mapping) or "task" not in fields:
            raise UsageError("a stored conversation is what Conversation.dump gave")
        made = cls(
            Task.from_json(fields["task"]), fields["mode"], fields["names"], decoder=fields["decoder"],
            think=fields["think"], rules=fields["rules"], settings=Settings(step_limit=fields["step_limit"]),
            memories=memories, search=search,
        )  # fmt: skip
        for each in fields["heard"]:
            made.reply(Said.from_json(each))
        made._stopped = bool(fields["ended"])
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Conversation.load, (self.dump(),)

    def close(self) -> None:
        """End the worker processes that executed calls, if there are any."""
        if self._services is not None and self._own_services:
            self._services.close()
            self._services = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Conversation {self.task.id} {self._speaker.mode} {'done' if self.done else f'turn {self.turn}'}>"


def _copies(messages: Sequence[Message]) -> list[Message]:
    return [cast("Message", dict(message)) for message in messages]
