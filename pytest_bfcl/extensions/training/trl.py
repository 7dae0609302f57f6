"""TRL's GRPO: a data set, a reward function, and environments whose methods are an entry's tools (``pip install trl``).

    ours = tasks("bundled")                                # prompting mode: one reply an entry
    GRPOTrainer(model, reward_funcs=trl.reward_function(partial=True), train_dataset=trl.dataset(ours))

    ours = tasks("bundled", categories=["multi_turn"], mode="fc")
    GRPOTrainer(
        model,
        reward_funcs=trl.environment_reward,
        train_dataset=trl.environment_dataset(ours),
        environment_factory=trl.environments(ours),
    )

Nothing here needs TRL; the data sets need ``datasets``, which TRL brings.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.agents.tools import annotation_of
from pytest_bfcl.extensions.training.tasks import KEY_COLUMNS, Options, Tasks, episode_of, options_of, reward_of
from pytest_bfcl.extras import require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import read_reply
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.transcript import Reply, ToolCall

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.extensions.training.episode import Episode

END_OF_TURN = "next_user_message"
_END: Fields = {
    "description": "End your turn if you have done what the user asked for or need to ask; returns what the user says "
    "next.",
    "parameters": {
        "properties": {"answer": {"type": "string", "description": "What you say to the user."}},
        "required": ["answer"],
    },
}
"""The tool with which a policy ends a turn, because TRL ends a rollout at the first reply without a call. TRL passes on
only arguments of a reply with calls, so a policy asks in one."""
_OWN = frozenset(("reset", "get_reward", END_OF_TURN))
"""Method names that TRL or this module uses."""
CALLS_A_TURN = 100
"""The step limit of an environment; each step is one call."""
NOTED = "The call was noted."
OVER = "The conversation is over."
NOT_YET = json.dumps({"error": "This function is not available yet."})

# -- one reply an entry ------------------------------------------------------------------------------------------------


def dataset(tasks: Tasks, tokenizer: Any = None) -> Any:
    """A `datasets.Dataset` with ``prompt`` and the columns that `reward_function` needs.

    Prompts are chat messages. With a ``tokenizer`` they are texts that its chat template made of messages and tools.
    This is the way to train native calls on entries that each have their own tools (``mode="fc"`` and a ``decoder``).
    Raises `UsageError` for entries of several steps, which need environments.
    """
    if several := next((entry for entry in tasks if entry.row.multi_step), None):
        raise UsageError(f"{several.id} has several steps: use environment_dataset and environments for such entries")
    if tokenizer is None and tasks.options.get("mode") == "fc":
        raise UsageError("native calls without environments need the tokenizer, whose template shows the tools")
    rows = zip(tasks.rows(), tasks, strict=True)
    if tokenizer is None:
        return data_set(row for row, _ in rows)
    return data_set({**row, "prompt": _rendered(tasks.episode(entry), tokenizer)} for row, entry in rows)


def data_set(rows: Iterable[Fields]) -> Any:
    """A `datasets.Dataset` of rows. Raises `UsageError` without the extra ``train``."""
    require("train", "a data set for TRL")
    from datasets import Dataset

    return Dataset.from_list(list(rows))


def _rendered(episode: Episode, tokenizer: Any) -> str:
    messages, tools = episode.reset()
    return str(tokenizer.apply_chat_template(messages, tools=tools or None, add_generation_prompt=True, tokenize=False))


def reward_function(**options: Any) -> Callable[..., list[float]]:
    """A function for ``reward_funcs``; ``options`` are `Options`, those of the tasks.

    It is called with ``completions`` and the data set's columns. A completion is text, a message, or a list of
    messages, as dicts or SDKs' objects. Never raises for a policy's text.
    """
    chosen = options_of(options)

    def bfcl_reward(completions: Sequence[Any] = (), **columns: Any) -> list[float]:
        known = [name for name in KEY_COLUMNS if name in columns]
        rows = [
            dict(zip(known, values, strict=True)) for values in zip(*(columns[name] for name in known), strict=True)
        ]
        return [reward_of(row, completion, chosen) for row, completion in zip(rows, completions, strict=True)]

    return bfcl_reward


# -- environments ------------------------------------------------------------------------------------------------------


def environment_dataset(tasks: Tasks) -> Any:
    """A `datasets.Dataset` whose ``environment`` column names the class of `environments` that has an entry's tools."""
    return data_set({**row, "environment": _toolset(entry)} for row, entry in zip(tasks.rows(), tasks, strict=True))


def environments(tasks: Tasks) -> dict[str, type[EntryEnvironment]]:
    """``environment_factory``: a class for each set of tools, under the names of `environment_dataset`.

    Raises `UsageError` outside native mode: TRL reads the calls of a policy by its own parser.
    """
    if tasks.options.get("mode") != "fc":
        raise UsageError("environments are for native calls: make the tasks with mode='fc'")
    made: dict[str, type[EntryEnvironment]] = {}
    for entry in tasks:
        name = _toolset(entry)
        if name not in made:
            made[name] = _environment(name, tasks, entry)
    return made


def environment_reward(
    environments: Sequence[EntryEnvironment], completions: Sequence[Any] = (), **columns: Any
) -> list[float]:
    """The function for ``reward_funcs`` with `environments`: ends each rollout with the policy's last message."""
    said = list(completions) or [None] * len(environments)
    return [each._reward(completion) for each, completion in zip(environments, said, strict=True)]


class EntryEnvironment:
    """One rollout of an entry: its tools are methods, `reset` restarts it.

    Each call is a step, because TRL makes them one at a time. So the step limit counts calls and is larger than a run's
    unless the tasks set it: a turn of the official set needs up to 34 calls. Entries of one step collect the calls,
    which are judged together as one reply. Functions that are added later report that they are not available yet.
    """

    _options: Options = {}

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self._noted: list[ToolCall] = []

    def reset(self, **row: Any) -> None:
        """Begin the entry of a row; its prompt is in the row, so nothing is added."""
        self._noted = []
        self._episode = episode_of(row, self._options)
        self._episode.reset()

    @property
    def _playing(self) -> Episode:
        if self._episode is None:
            raise UsageError("the environment has no entry: call reset with a row of environment_dataset")
        return self._episode

    def _call(self, name: str, arguments: Fields) -> str:
        """The result of one call, as text. TRL passes no defaults, so the policy wrote ``None``: a few answers need
        it."""
        episode, call = self._playing, ToolCall(name, json.dumps(arguments, default=str))
        if not episode.entry.row.multi_step:
            self._noted.append(call)
            return NOTED
        if episode.done:
            return OVER
        if name not in {tool["function"]["name"] for tool in episode.tools}:
            return NOT_YET
        found = episode.step(Reply(tool_calls=(call,)))
        return OVER if found.done else found.text

    def _end_turn(self, arguments: Fields) -> str:
        """The user's next message; ``answer``: the policy's words, which grades read if something is missing."""
        episode, answer = self._playing, arguments.get("answer")
        if episode.done:
            return OVER
        found = episode.step(Reply(text=answer if isinstance(answer, str) else ""))
        return OVER if found.done else found.text

    def _reward(self, completion: object) -> float:
        """End the rollout, once, and return its reward. Turns that were not reached have no call."""
        episode = self._playing
        text = _last_text(completion)
        while not episode.done:
            episode.step(Reply(text=None if self._noted else text, tool_calls=tuple(self._noted)))
            text = ""
        return episode.reward


def _environment(name: str, tasks: Tasks, entry: Entry) -> type[EntryEnvironment]:
    """The class whose methods are an entry's tools, including those added later."""
    methods: Parsed = {"_options": {"step_limit": CALLS_A_TURN, **tasks.options}}
    for schema in compile_tools(entry.all_functions):
        function = schema["function"]
        method = _method_name(function["name"])
        methods[method] = _method(method, function, partial(EntryEnvironment._call, name=function["name"]))
    if len(entry.question) > 1 and entry.row.multi_step:
        methods[END_OF_TURN] = _method(END_OF_TURN, _END, EntryEnvironment._end_turn)
    return type(name, (EntryEnvironment,), methods)


def _method_name(wire: str) -> str:
    """TRL accepts no method for a tool with a private name or its own."""
    return f"tool_{wire.lstrip('_')}" if wire.startswith("_") or wire in _OWN else wire


def _method(name: str, function: Fields, result: Callable[..., str]) -> Any:
    """A method with the signature, annotations and docstring of a function's schema."""

    def tool(self: EntryEnvironment, **arguments: Any) -> str:
        return result(self, arguments=arguments)

    parameters = function.get("parameters") or {}
    properties, required = parameters.get("properties") or {}, set(parameters.get("required") or ())
    hints = {
        each: annotation_of(schema) if each in required else annotation_of(schema) | None
        for each, schema in properties.items()
    }
    tool.__name__ = tool.__qualname__ = name
    tool.__annotations__ = {**hints, "return": str}
    listed = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    listed += [
        inspect.Parameter(
            each, inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each in required else None, annotation=hints[each],
        )
        for each in properties
        if each.isidentifier() and not keyword.iskeyword(each)  # others are in the annotations, and so in TRL's schema
    ]  # fmt: skip
    tool.__signature__ = inspect.Signature(listed, return_annotation=str)  # type: ignore[attr-defined]
    told = [f"    {each}: {_line(schema.get('description')) or each}" for each, schema in properties.items()]
    arguments = ["Args:", *told, ""] if told else []
    description = _line(function.get("description")) or name
    tool.__doc__ = "\n".join([description, "", *arguments, "Returns:", "    The result as text."])
    return tool


def _line(text: object) -> str:
    return " ".join(str(text or "").split())


def _toolset(entry: Entry) -> str:
    """A name for the tools of an entry; equal for entries with the same tools."""
    turns = entry.row.multi_step and len(entry.question) > 1
    told = json.dumps([entry.all_functions, bool(turns)], sort_keys=True, default=str)
    return f"tools_{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _last_text(completion: object) -> str:
    """The policy's last message, if it made no call in it."""
    if isinstance(completion, list) and completion:
        completion = completion[-1]
        if isinstance(completion, Mapping) and (completion.get("tool_calls") or completion.get("role") == "tool"):
            return ""
    reply = read_reply(completion)
    return "" if reply.tool_calls else reply.text or ""
