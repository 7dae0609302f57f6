"""Rewards for reinforcement learning: the checkers' verdict on one completion as a number in [0, 1].

Strict by default: 1.0 for a valid answer, else 0.0. With ``partial=True`` a wrong answer earns part of it, by this
fixed scale (a valid answer is always 1.0, a wrong one at most `MOST_PARTIAL`):

- each expected call in the output earns up to its share of 0.9. A tenth is for its function, the rest for the share of
  its expected parameters with an acceptable value, to the fourth power. So easy parameters (an omitted default, the
  only obvious value) earn little. Omitted optional parameters do not count;
- all of it times the square of expected/made if more calls were made than expected, so that flooding does not pay.

Multi-turn conversations are graded turn by turn, for state and response, and unneeded calls cost (`.grades`). Entries
that expect no call, relevance entries, executed calls of retired categories, and answers of memory and web entries are
right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.training.grades import CALL_COST, MOST_PARTIAL
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.formats.reading import TextReading
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.entries import entry_of, unpacked
from pytest_bfcl.runs.wire_names import proven_underscores
from pytest_bfcl.transcript import Call, Mode, Reply, Step, Transcript, Turn
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.services import Services
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.failures import Verdict
    from pytest_bfcl.formats.thinking import Think

__all__ = ["MOST_PARTIAL", "batch_rewards", "compute_score", "reward", "reward_function"]

NAMED = 0.1
"""The right function's part of a call's share, with any arguments."""
READ_BY = ("mode", "decoder", "think", "names")
"""Columns of a row that say how a reply is written; ``names`` is ``dots`` or ``underscores``."""
MOST_CALLS = 64
"""Most calls of one output that are graded; the benchmark expects at most 8."""


def reward(
    entry: Entry | Fields,
    output: object,
    *,
    rules: str = "official",
    mode: Mode | None = None,
    underscore_names: bool | None = None,
    partial: bool = False,
    call_cost: float = CALL_COST,
    services: Services | None = None,
    decoder: str | None = None,
    think: Think = "auto",
) -> float:
    """The reward of one output for one entry.

    Args:
        entry: An `Entry`, or a mapping with ``function`` and ``possible_answer`` (and other fields of an entry; ``id``
            and ``category`` default to those of a Python entry whose rule fits the number of functions and calls).
            output: Any shape that `pytest_bfcl.replies.read_reply` reads (text, calls, messages, completions and
            objects of common libraries, a rollout's list of messages), or a `Transcript`.
        rules: ``official`` or ``corrected``.
        mode: How the calls are written; default: ``fc`` for native calls, else ``prompt``.
        underscore_names: Names were sent with dots replaced; default: by the called names.
        partial: Graded instead of strict, see the module.
        call_cost: The cost of unneeded calls in a graded conversation (`.grades`); 0 for none. decoder: The format of
            calls in texts (`pytest_bfcl.formats`), in any mode.
        think: Thoughts in a text: ``auto`` as the decoder's family does, ``strip``, ``keep``.
        services: The services of executable entries' calls; pass an open one, or each call makes its own. Never raises
            for a model's text. Raises `HarnessError` if the entry cannot be judged and `UsageError` if the output has
            an unknown shape, because neither is the policy's failure.
    """
    from pytest_bfcl.checkers import judge
    from pytest_bfcl.conversation.services import Services, is_executed
    from pytest_bfcl.extensions.training.grades import grades_of

    known = entry_of(entry)
    transcript = as_transcript(known, output, mode=mode, underscore_names=underscore_names)
    if decoder is not None or think != "auto":
        transcript = TextReading(decoder, think).apply(transcript)
    if is_executed(known):
        with ExitStack() as stack:
            (services or stack.enter_context(Services(official=known.official))).execute(known, transcript)
    verdict: Verdict = judge(known, transcript, rules)
    graded = partial and known.row.checker == "state"
    if verdict.valid and not graded:
        return 1.0
    if verdict.outcome == "error":
        raise HarnessError(
            HarnessTrouble.CHECKER, f"{known.id} cannot be judged: {verdict.detail.get('error') or verdict.reason}"
        )
    if graded:
        return grades_of(known, transcript, valid=verdict.valid, call_cost=call_cost).score
    if not partial or known.row.checker != "ast":
        return 0.0
    return _partial(known, transcript, rules)


def batch_rewards(entries: Sequence[Entry | Fields], outputs: Sequence[Any], **options: Any) -> list[float]:
    """`reward` of every pair. Raises `ValueError` if the lengths differ."""
    return [reward(entry, output, **options) for entry, output in zip(entries, outputs, strict=True)]


def reward_function(
    entries: Mapping[str, Entry] | Callable[[str], Entry] | None = None, **options: Any
) -> Callable[..., list[float]]:
    """A reward function for trainers that pass completions and the data's columns as lists (TRL's ``reward_funcs``).

    The result is called as ``f(completions=[...], entry_id=[...])`` with ``entries`` to look ids up in (for instance
    ``open_data("official").entry``), or without them as ``f(completions=[...], function=[...],
    possible_answer=[...])``, columns holding lists or JSON texts. The columns `READ_BY` say how a reply is read;
    options must not contradict them. A completion is text, a message, or a list of messages (the last one counts).
    """

    def bfcl_reward(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float]:
        return [
            _row_reward(_row_entry(entries, columns, index), completion, _row(columns, index), options)
            for index, completion in enumerate(completions)
        ]

    return bfcl_reward


def read_by(row: Fields, options: Fields) -> Parsed:
    """The options with the row's values of `READ_BY`. Raises `UsageError` if both set one differently."""
    settled = dict(options)
    for name in READ_BY:
        said, given = row.get(name), options.get(name)
        if not said or not isinstance(said, str):
            continue
        if given is not None and given != said:
            raise UsageError(f"the row was made with {name}={said!r}, and {given!r} is asked for: leave that out")
        settled[name] = said
    return settled


def refuse_unreadable(mode: Mode, decoder: str | None) -> None:
    """Raise `UsageError` if a policy's text could never contain a call: native mode without a decoder."""
    if mode == "fc" and decoder is None:
        raise UsageError("a text in mode='fc' needs decoder=…: without one no call is ever found in it")


def _row_reward(entry: Entry | Fields, completion: object, row: Fields, options: Fields) -> float:
    """The reward of one row, read by its columns."""
    settled = read_by(row, options)
    if isinstance(completion, str) and row.get("mode"):
        refuse_unreadable(settled["mode"], settled.get("decoder"))
    names = settled.pop("names", None)
    return reward(entry, completion, **({"underscore_names": names == "underscores"} if names else {}) | settled)


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Fields | None = None, **options: Any
) -> float:
    """One completion in the signature verl calls custom rewards with.

    ``ground_truth`` is the entry: a mapping or its JSON text with ``function`` and ``possible_answer``. It may be the
    possible answer alone; then ``extra_info`` holds the rest of the entry. ``extra_info`` never changes an entry that
    has its functions, and unknown columns are ignored. ``data_source`` is not used.
    """
    given = unpacked(ground_truth)
    if not isinstance(given, Mapping) or not any(name in given for name in ("function", "possible_answer", "category")):
        given = {"possible_answer": given if given is None or isinstance(given, list) else [given]}
    if "function" not in given:
        given = {**{name: value for name, value in (extra_info or {}).items() if name in _ENTRY_COLUMNS}, **given}
    return _row_reward(given, solution_str, extra_info or {}, options)


def as_transcript(
    entry: Entry, output: object, *, mode: Mode | None = None, underscore_names: bool | None = None
) -> Transcript:
    """An output as the single reply of a conversation; a transcript is unchanged. Raises `UsageError`. By default
    native calls prove the mode, and called names the spelling.
    """
    if isinstance(output, Transcript):
        return output
    from pytest_bfcl.replies import read_reply

    reply = read_reply(output)
    chosen: Mode = mode or ("fc" if reply.tool_calls else "prompt")
    under = proven_underscores(reply, entry.function) if underscore_names is None else underscore_names
    return Transcript(entry.id, entry.category, mode=chosen, underscore_names=under, turns=[Turn(steps=[Step(reply)])])


def _row_entry(
    entries: Mapping[str, Entry] | Callable[[str], Entry] | None, columns: Fields, index: int
) -> Entry | Fields:
    row = _row(columns, index)
    if entries is None:
        return {name: value for name, value in row.items() if name in _ENTRY_COLUMNS}
    entry_id = row.get("entry_id", row.get("id"))
    if entry_id is None:
        raise HarnessError(HarnessTrouble.DATA, "the data has no column entry_id (or id) to look the entry up by")
    return entries(entry_id) if callable(entries) else entries[entry_id]


_ENTRY_COLUMNS = (
    "id", "category", "question", "function", "possible_answer", "language", "return_format", "tool_call_tag",
)  # fmt: skip


def _row(columns: Fields, index: int) -> Parsed:
    return {name: values[index] for name, values in columns.items() if _is_column(values, index)}


def _is_column(values: object, index: int) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes) and index < len(values)


def _partial(entry: Entry, transcript: Transcript, rules: str) -> float:
    """Partial credit of a wrong answer, see the module."""
    from pytest_bfcl.decoding import DecodeError, decode_reply

    try:
        made = decode_reply(
            transcript.first_reply,
            transcript.mode,
            return_format=entry.return_format,
            tool_call_tag=entry.tool_call_tag,
            rules=rules,
            functions=entry.function,
            decoder=transcript.decoder,
        )
    except DecodeError:
        return 0.0
    expected = entry.possible_answer or []
    if not made or not expected:
        return 0.0
    shares = _paired_shares(entry, transcript, expected, made[:MOST_CALLS], rules)
    earned = sum(NAMED + (1 - NAMED) * share**4 for share in shares)
    return MOST_PARTIAL * earned / len(expected) * min(1.0, len(expected) / len(made)) ** 2


def _paired_shares(
    entry: Entry, transcript: Transcript, expected: Sequence[Any], made: Sequence[Call], rules: str
) -> list[float]:
    """The share of right parameters for each expected call with a call of its name; best pairs first."""
    pairs = []
    for place, answer in enumerate(expected):
        (name, parameters), *_ = answer.items()
        for number, call in enumerate(made):
            if _same_name(call.name, name):
                share = _parameter_share(entry, transcript, name, parameters, call, rules)
                pairs.append((-share, place, number))
    places: set[int] = set()
    numbers: set[int] = set()
    shares = []
    for share, place, number in sorted(pairs):
        if place not in places and number not in numbers:
            places.add(place)
            numbers.add(number)
            shares.append(-share)
    return shares


def _same_name(called: str, documented: str) -> bool:
    return str(called).replace(".", "_") == documented.replace(".", "_")


def _parameter_share(
    entry: Entry, transcript: Transcript, name: str, parameters: Fields, call: Call, rules: str
) -> float:
    """Share of the expected parameters with an acceptable value; each is judged alone, by the checkers' own rules.

    Unexpected parameters count as wrong; correctly omitted ones do not count.
    """
    arguments = call.arguments
    document = next((doc for doc in entry.function if doc.get("name") == name), None)
    if document is None:
        return 0.0
    alone = _Alone(entry, transcript, document, rules)
    due = [key for key, allowed in parameters.items() if key in arguments or not alone.may_lack(key, allowed)]
    extra = sum(1 for key in arguments if key not in parameters)
    if not due:
        return 0.0 if extra else 1.0
    return sum(alone.right(key, parameters[key], arguments) for key in due) / (len(due) + extra)


class _Alone:
    """Judges one argument as if it were the only one of its function."""

    def __init__(self, entry: Entry, transcript: Transcript, document: Fields, rules: str) -> None:
        self.entry = entry
        self.mode = transcript.mode
        self.document = document
        self.rules = rules

    def may_lack(self, key: str, allowed: object) -> bool:
        """Whether the answer may leave a parameter out."""
        required = (self.document.get("parameters") or {}).get("required", ())
        return isinstance(allowed, list) and "" in allowed and key not in required

    def right(self, key: str, allowed: object, arguments: Fields) -> bool:
        """Whether an argument is present and acceptable."""
        from pytest_bfcl.checkers import judge

        schema, name = self.document.get("parameters") or {}, self.document["name"]
        if key not in arguments or key not in schema.get("properties", {}):
            return False
        only = {**schema, "properties": {key: schema["properties"][key]}, "required": [key]}
        changes = {
            "category": _SIMPLE[self.entry.language],
            "config": None,
            "function": [{**self.document, "parameters": only}],
            "possible_answer": [{name: {key: allowed}}],
        }
        step = Step(Reply(), calls=[Call(name, {key: arguments[key]})])
        alone = Transcript(self.entry.id, "", mode=self.mode, turns=[Turn(steps=[step])], decoded=True)
        return judge(self.entry.model_copy(update=changes), alone, self.rules).valid


_SIMPLE = {"python": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
