"""A task, and a conversation about it: messages and tools for a model, its replies in, the next messages out.

Steps and judgement are those of a run (`pytest_bfcl.conversation.dialogue`). No text of a model is evaluated as code:
calls are executed on simulators of this conversation only.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import AdapterError, BenchmarkError, HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.entries import (
    SETS,
    entry_of,
    function_documents,
    is_official,
    opened,
    plain_answers,
    possible_answers,
    texts_of_the_set,
)
from pytest_bfcl.judging.judgement import Judgement, judgement_of, not_judged
from pytest_bfcl.judging.said import Said, read
from pytest_bfcl.settings import Settings
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.dialogue import Dialogue
    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.conversation.services import Services
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.settings import Rules
    from pytest_bfcl.transcript import Message, Mode, Reply, Transcript

SEARCH, SERVER, WRITE_STAGE = "search", "MCP server", "write stage"
"""The possible values of `Task.needs`."""
NAMES = ("underscores", "dots")
_STORED = ("decoder", "think", "rules", "step_limit")
"""Settings that a stored conversation keeps."""


@dataclass(frozen=True)
class Task:
    """The task for a model. Make one with `Data.task`, `Task.of` or `Task.from_json`.

    ``data`` and ``data_sha256`` name the data set it belongs to; both are empty for tasks of your own.
    """

    entry: Entry
    data: str = ""
    data_sha256: str = ""

    @classmethod
    def of(
        cls,
        tools: object,
        expected: object = None,
        *,
        possible_answer: object = None,
        question: str | Sequence[Message] = "",
        id: str | None = None,
        category: str | None = None,
    ) -> Task:
        """A single-turn task of your own.

        Args:
            tools: Function documents: ``{name, description, parameters}`` with JSON Schema or the benchmark's types, or
                the same wrapped as OpenAI's tools.
            expected: Plain calls, ``{"get_weather": {"city": "Oslo"}}`` or a list of them. Without this and
                ``possible_answer`` no call is right.
            possible_answer: The same with lists of accepted values, ``{"get_weather": {"city": ["Oslo", "oslo"]}}``.
            question: The user's words, or chat messages. category: Decides how calls are paired; default: by the number
                of tools and calls. Raises `UsageError` for unusable shapes.
        """
        if expected is not None and possible_answer is not None:
            raise UsageError("give expected (plain calls) or possible_answer (lists of accepted values), not both")
        answers = possible_answers(possible_answer) if possible_answer is not None else None
        answers = plain_answers(expected) if expected is not None else answers
        messages = [{"role": "user", "content": question}] if isinstance(question, str) else [*question]
        fields = {"question": [messages], "function": function_documents(tools), "possible_answer": answers}
        named = {name: value for name, value in (("id", id), ("category", category)) if value is not None}
        return cls(entry_of(fields | named))

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.entry.id

    @property
    def category(self) -> str:
        """The entry's category."""
        return self.entry.category

    @property
    def turns(self) -> list[list[Message]]:
        """The user's messages, turn by turn. A conversation may add to them: prompts, functions that come later."""
        return [[dict(message) for message in turn] for turn in self.entry.question]

    @property
    def needs(self) -> tuple[str, ...]:
        """What judging needs besides replies: ``search``, ``write stage ID``, ``memory BACKEND``, ``MCP server``."""
        row, found = CATEGORIES[self.category], []
        if row.group == "web_search":
            found.append(SEARCH)
        if row.backend:
            found.append(f"memory {row.backend}")
        if self.entry.mcp is not None:
            found.append(SERVER)
        return (*found, *(f"{WRITE_STAGE} {each}" for each in self.entry.depends_on))

    # -- playing -------------------------------------------------------------------------------------------------

    def open(self, mode: Mode = "fc", names: str | None = None, **options: Any) -> Conversation:
        """Begin a conversation; the arguments are those of `Conversation`."""
        return Conversation(self, mode, names, **options)

    # -- travelling ----------------------------------------------------------------------------------------------

    def to_json(self) -> Parsed:
        """JSON-able fields from which `from_json` makes the task again.

        Tasks of the named data sets are a reference (id, data set, digest), without the official texts. Other tasks are
        complete.
        """
        if self.data in SETS:
            return {"id": self.id, "category": self.category, "data": self.data, "data_sha256": self.data_sha256}
        return self.entry.model_dump(mode="json", exclude_defaults=True) | {"id": self.id, "category": self.category}

    @classmethod
    def from_json(cls, fields: Fields | str) -> Task:
        """The task again. Raises `HarnessError` if the data set here differs, or the fields are no task."""
        given = json.loads(fields) if isinstance(fields, str) else fields
        if not isinstance(given, Mapping):
            raise HarnessError(HarnessTrouble.DATA, f"a task is a JSON object, not {type(given).__name__}")
        word = given.get("data")
        if word not in SETS:
            return cls(entry_of(given))
        data = opened(word)
        if given.get("data_sha256") not in (None, "", data.sha256):
            raise HarnessError(
                HarnessTrouble.DATA,
                f"{given.get('id')} was made from another version of the {word} data than is installed here "
                f"({str(given.get('data_sha256'))[:8]}, here {data.sha256[:8]})",
            )
        return cls(data.entry(str(given.get("id"))), word, data.sha256)

    def __reduce__(self) -> tuple[Any, ...]:
        known = self.data in SETS or (self.entry.official and is_official(self.entry))
        if not known:
            return Task, (self.entry,)
        word = self.data or "official"
        return Task.from_json, ({"id": self.id, "data": word, "data_sha256": self.data_sha256 or opened(word).sha256},)

    def __deepcopy__(self, memo: dict[int, Any]) -> Task:
        return self  # frozen

    def __repr__(self) -> str:
        return f"<Task {self.id}>"

    @cached_property
    def texts(self) -> Texts:
        """The prompt and long-context texts of its data set."""
        return opened(self.data).texts if self.data in SETS else texts_of_the_set(self.entry.official)


@dataclass(slots=True)
class _Speaker:
    """The speaker of a dialogue."""

    spec: str
    mode: Mode
    underscore_names: bool


class Conversation:
    """One conversation about a task.

    Args:
        task: The request.
        mode: ``fc``: the model gets `tools` and answers with native calls. ``prompt``: a system message describes the
            functions, and the model writes calls as text; `tools` is then empty.
        names: ``underscores`` (default in ``fc``; what most APIs demand) or ``dots``: how the model writes function
            names that have dots.
        decoder: The format of calls in texts (`pytest_bfcl.formats`), whatever the mode.
        think: Thoughts in a text: ``auto`` (as the decoder's family does), ``strip``, ``keep``.
        rules: Which rules apply to handlers' defects during the conversation: ``official`` or ``corrected``.
        settings: Further settings of a run, such as the step limit.
        memories: Memories from write stages for memory questions: share one `HeldSnapshots` in a scenario. search: The
            provider of the web tools, for tasks that need ``search``. services: The services of executable entries'
            calls; by default each conversation makes its own. texts: The texts of the data set, if not the task's.

    Copies (`copy.deepcopy`, `pickle`) are independent. Use a conversation as a context manager, or call `close`, if
    calls run in worker processes (retired categories). Raises `UsageError` for unknown options and for tasks on a
    user's MCP server, `HarnessError` for unusable data.
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
        if (server := task.entry.mcp) is not None:
            raise UsageError(
                f"{task.id} needs your MCP server {server!r}, which only a run starts\n"
                f'  pytest FILE --model MODEL --bfcl-mcp {server}="COMMAND or URL"'
            )
        given = {"decoder": decoder, "think": think, "rules": rules}
        self.task = task
        self.settings = replace(settings or Settings(), **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
        under = mode == "fc" if names is None else names == "underscores"
        self._speaker = _Speaker(f"judge:{mode}", mode, under)
        self._memories, self._search = memories, search
        self._services, self._own_services = services, False
        self._texts = texts
        self._begin()

    def _begin(self) -> None:
        """Begin, or begin again: new simulators, the first user turn."""
        from pytest_bfcl.conversation.dialogue import Dialogue  # with it comes pydantic: not where this is imported

        self._heard: list[Said] = []
        self._trouble: BenchmarkError | None = None
        self._stopped = False
        self._dialogue: Dialogue = Dialogue(self.task.entry, self._speaker, self.settings, self.texts)
        self._dialogue.open(self._memories, self._search)

    @property
    def texts(self) -> Texts:
        """The prompt and long-context texts."""
        return self._texts or self.task.texts

    # -- what a model gets ---------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Message]:
        """The whole history of the next request, in the shape of chat completions; a copy."""
        return _copies(self._dialogue.messages)

    @property
    def tools(self) -> list[Parsed]:
        """The offered tools, in OpenAI's shape (`to_tools` gives others); a later turn may add some."""
        return compile_tools(self._dialogue.functions) if self._speaker.mode == "fc" else []

    @property
    def mode(self) -> Mode:
        """How the model answers: with native calls (``fc``), or with calls written as text (``prompt``)."""
        return self._speaker.mode

    @property
    def done(self) -> bool:
        """Whether no request follows: the task has ended, or a reply failed."""
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
        for shapes with parsed ones only. ``ending``: the API's word for how the reply ended (``stop``, ``tool_calls``,
        ``length`` …), for shapes without one. A reply that failed (an unknown ending, an error inside it) ends the
        conversation: `judgement` is then ``not judged``, and `retry` takes another reply in its place.

        Never raises for a model's output. Raises `UsageError` for an unknown shape, a missing ending, or an ended
        conversation.
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
        """`reply` in a thread, so that a slow tool does not block an event loop."""
        import asyncio

        return await asyncio.to_thread(self.reply, said, raw_arguments=raw_arguments, ending=ending)

    def retry(self) -> None:
        """Forget a failed reply, so that another may replace it."""
        if self._trouble is not None:
            self._heard.pop()
            self._trouble = None

    def _take(self, heard: Said, results: Sequence[str] | None = None) -> list[Message]:
        from pytest_bfcl.conversation.dialogue import OVERFLOW

        dialogue = self._dialogue
        reply = heard.named_for(dialogue.functions) if self._speaker.underscore_names else heard.reply
        known = len(dialogue.messages)
        self._step(reply, results)
        shown = len(dialogue.messages)
        first = next((n for n in range(known, shown) if dialogue.messages[n]["role"] != "assistant"), shown)
        if not dialogue.ended and dialogue.too_long:
            self._step(OVERFLOW)  # no model could take the history
        return _copies(dialogue.messages[first:shown])

    def _step(self, reply: Reply, known: Sequence[str] | None = None) -> None:
        """``known``: the results of its calls, if they must not be computed again."""
        dialogue = self._dialogue
        step = dialogue.hear(reply)
        calls = dialogue.due_calls(step)
        step.results += [dialogue.world.execute_now(call) for call in calls] if known is None else known
        dialogue.go_on(step)

    # -- what came of it -----------------------------------------------------------------------------------------

    def end(self) -> Judgement:
        """End here; unanswered turns count as unanswered. Returns the judgement."""
        self._stopped = True
        return self.judgement()

    def judgement(self) -> Judgement:
        """The result. Before the end: the judgement if the model stopped here."""
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
        return {
            "task": self.task.to_json(),
            "mode": self._speaker.mode,
            "names": NAMES[not self._speaker.underscore_names],
            **{name: getattr(self.settings, name) for name in _STORED},
            "heard": [each.to_json() for each in self._heard],
            "results": self._outside_results(),
            "ended": self._stopped,
        }

    @classmethod
    def load(cls, fields: Fields, *, memories: Snapshots | None = None, search: object = None) -> Conversation:
        """The conversation again: its replies are taken again, on new simulators; no search is repeated.

        ``memories`` and ``search`` as for a new one. Raises `UsageError` for fields that are not from `dump`,
        `HarnessError` if the task's data differs here.
        """
        if not isinstance(fields, Mapping) or "task" not in fields:
            raise UsageError("a stored conversation is what Conversation.dump gave")
        settings = Settings(**{name: fields[name] for name in _STORED})
        task = Task.from_json(fields["task"])
        made = cls(task, fields["mode"], fields["names"], settings=settings, memories=memories, search=search)
        made._again(list(map(Said.from_json, fields["heard"])), fields["results"], bool(fields["ended"]))
        return made

    def _outside_results(self) -> list[list[str]] | None:
        """The results of each reply's calls from outside services, which must not be requested again."""
        return [step.results for step in self.transcript.steps] if SEARCH in self.task.needs else None

    def _again(self, heard: Sequence[Said], results: Sequence[Sequence[str]] | None, stopped: bool) -> None:
        """Take stored replies again."""
        for number, each in enumerate(heard):
            self._heard.append(each)
            if each.failure is None:
                self._take(each, None if results is None else results[number])
            else:
                self._trouble = AdapterError(AdapterTrouble.ENDING, each.failure)
        self._stopped = stopped

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """An independent copy; task, texts, and external parts (memories, search, services) are shared."""
        made = copy.copy(self)
        made._begin()
        made._again(self._heard, self._outside_results(), self._stopped)
        return made

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __getstate__(self) -> Parsed:
        """The state without simulators, worker processes, and the texts of every installation."""
        left_out = {"_dialogue": None, "_services": None, "_trouble": None}
        texts = None if self._texts is None or self._texts == self.task.texts else self._texts
        return {**vars(self), **left_out, "_texts": texts, "_results": self._outside_results()}

    def __setstate__(self, state: Parsed) -> None:
        heard, results, stopped = state["_heard"], state.pop("_results"), state["_stopped"]
        self.__dict__.update(state)
        self._begin()
        self._again(heard, results, stopped)

    def close(self) -> None:
        """End the worker processes that executed calls, if any."""
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
