"""Which parts of a prompt reach the model: prompt tokens of every request compared with the sent lengths.

If prompt tokens follow the lengths of other parts but not of one, that part was lost. Least squares over all requests
of a run; needs lines with ``input_tokens``.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.cases import Case
from pytest_bfcl.json_types import Fields
from pytest_bfcl.tools.schemas import compile_tools

LEAST_REQUESTS, MOST_CASES = 30, 1_000
"""Requests that tell something; entries, evenly chosen, whose requests are compared."""
LEAST_TOLD = 3
LOST = 0.3
"""A part counts as lost if its tokens a character are below this share of the other parts', with 95 % confidence."""
OF_TOOLS = (
    "question", "system prompt", "first tool", "other tools", "descriptions of the first tool",
    "descriptions of other tools", "parts of the first tool", "parts of other tools",
)  # fmt: skip
OF_PROMPTS = ("question", "system prompt")
OF_TURNS = ("question", "earlier turns", "results")
_A_MESSAGE, _A_CALL = 30, 60
"""Approximate characters around a message and a call."""

Row = tuple[list[float], float]
"""Lengths of the parts of a request (characters), and its prompt tokens."""


class Lost(NamedTuple):
    """A lost part of the prompt: its tokens a character, and those of the other parts."""

    part: str
    tokens: float
    elsewhere: float

    def __str__(self) -> str:
        return (
            f"prompt tokens do not grow with it: {max(self.tokens, 0):.2f} a character, {self.elsewhere:.2f} elsewhere"
        )


class Prompts(NamedTuple):
    """What prompt tokens show: ``lost`` parts by name with their proofs, and parts that are known to have ``arrived``.

    ``window``: the number of tokens to which prompts are cut, 0 if they are not.
    """

    lost: dict[str, str]
    arrived: frozenset[str]
    window: int


def read_prompts(cases: Sequence[Case]) -> Prompts:
    """Tools are tested in first requests of single-turn entries, turns within each conversation. In prompting mode the
    system prompt has the tools.
    """
    if not _is_counted(cases):
        return Prompts({}, frozenset(), 0)
    tools: list[Row] = []
    prompts: list[Row] = []
    turns: list[Row] = []
    for case in cases[:: max(1, len(cases) // MOST_CASES)]:
        if case.entry.row.multi_step:
            if case.transcript.mode == "fc" and not case.entry.missed_function:  # no tools come later
                turns += _demeaned(list(_requests(case)))
        elif tokens := case.transcript.first_reply.input_tokens:
            asked = [each for turn in case.entry.question for each in turn]
            system = sum(len(str(each.get("content") or "")) for each in asked if each["role"] == "system")
            question = sum(len(str(each.get("content") or "")) for each in asked) - system
            if case.transcript.mode == "fc":
                tools.append(([1.0, question, system, *_tools(case.entry.function)], float(tokens)))
            else:
                prompts.append(([1.0, question, system + len(json.dumps(case.entry.function))], float(tokens)))
    lost: dict[str, str] = {}
    arrived: set[str] = set()
    for rows, parts in ((tools, ("", *OF_TOOLS)), (prompts, ("", *OF_PROMPTS)), (turns, OF_TURNS)):
        some, others = _lost(rows, parts)
        lost |= {part: str(each) for part, each in some.items() if part != "question"}
        arrived |= others
    if kept := _few_tools(cases):
        lost |= {SOME_TOOLS: kept}
    if fall := _fall(cases):
        lost |= {LATER_TOOLS: fall}
        lost.pop("earlier turns", None)
        arrived |= {"earlier turns"}
    return Prompts(lost, frozenset(arrived), _window(cases))


def _is_counted(cases: Sequence[Case]) -> bool:
    """Whether prompt tokens were counted: servers that do not count them tell the same number for all requests."""
    told = {step.reply.input_tokens for case in cases for turn in case.transcript.turns for step in turn.steps}
    return len(told) >= LEAST_TOLD


LATER_TOOLS = "tools of later turns"
SOME_TOOLS = "some tools"
MOST_TOOLS = range(1, 20)
"""Numbers of tools up to which all of them may arrive."""
KEPT = 0.7
"""Share of the tools' tokens below which some of them were left out."""
FALL, MOSTLY = 0.7, 0.8
"""Tokens of the second turn's first request against those of the first turn's, and the conversations that show it."""
LEAST_AT_END, LONGER = 8, 1.2
"""Requests of different lengths that have the same, largest number of tokens."""


def _fall(cases: Sequence[Case]) -> str:
    """The proof that a conversation's requests lose most of their tokens after the first turn; else empty."""
    pairs = []
    for case in cases:
        begun = [turn.steps[0].reply.input_tokens for turn in case.transcript.turns[:2] if turn.steps]
        if len(begun) == 2 and begun[0] and begun[1]:
            pairs.append((begun[0], begun[1]))
    fallen = [pair for pair in pairs if pair[1] < FALL * pair[0]]
    if len(fallen) < max(LEAST_TOLD, MOSTLY * len(pairs)):
        return ""
    first, second = sorted(fallen)[len(fallen) // 2]
    return f"prompt tokens fall after the first turn, as from {first} to {second}"


def _window(cases: Sequence[Case]) -> int:
    """The largest number of tokens, if many requests of different lengths have it; 0 if not."""
    at: defaultdict[int, list[Case]] = defaultdict(list)
    for case in cases:
        for turn in case.transcript.turns:
            for step in turn.steps:
                at[step.reply.input_tokens or 0].append(case)
    most = max(at, default=0)
    if not most or len(at[most]) < LEAST_AT_END:
        return 0
    sizes = [
        sum(told)
        for case in {id(case): case for case in at[most]}.values()
        for told, tokens in (_requests(case) if case.entry.row.multi_step else [_first_request(case)])
        if tokens == most
    ]
    return most if sizes and max(sizes) >= LONGER * min(sizes) else 0


def _few_tools(cases: Sequence[Case]) -> str:
    """The proof that requests with many tools have the tokens of some of them only; else empty."""
    told = [each for each in cases if each.transcript.mode == "fc" and each.transcript.first_reply.input_tokens]
    rows = [(len(case.entry.function), _first_request(case)) for case in told[:: max(1, len(told) // MOST_CASES)]]
    for most in MOST_TOOLS:
        few = [row for number, row in rows if number <= most]
        many = [row for number, row in rows if number > most]
        fitted = _fitted(*_split(few)) if len(few) >= LEAST_REQUESTS <= len(many) else None
        if fitted is None or fitted[2][0] <= 6 * fitted[2][1]:
            continue
        (base, _), (of_text, _), (of_tools, _) = fitted
        shares = sorted((tokens - base - of_text * told[1]) / (of_tools * told[2]) for told, tokens in many)
        share = shares[len(shares) // 2]
        return f"with more than {most} tools, prompts have the tokens of {share:.0%} of them" if share < KEPT else ""
    return ""


def tools_lost(without: Sequence[Case], others: Sequence[Case]) -> Lost | None:
    """The tools as a lost part of first requests ``without`` a call: prompt tokens lack theirs, of ``others`` not."""
    fitted = _fitted(*_split([_first_request(case) for case in others]))
    rows = [row for row in map(_first_request, without) if row[1]]
    if fitted is None or len(rows) < LEAST_TOLD or fitted[2][0] <= 0:
        return None
    (base, _), (of_text, _), (of_tools, _) = fitted
    left = sum(tokens - base - of_text * told[1] for told, tokens in rows)
    each = left / max(1.0, sum(told[2] for told, _ in rows))
    return Lost("tools", each, of_tools) if each < LOST / 2 * of_tools else None


def _split(rows: Sequence[Row]) -> tuple[list[list[float]], list[float]]:
    return [told for told, tokens in rows if tokens], [tokens for _, tokens in rows if tokens]


def _first_request(case: Case) -> Row:
    """One, and the characters of messages and of tools in the first request; its prompt tokens, 0 where untold."""
    asked = case.entry.question[0] if case.entry.question else []
    words = sum(len(str(each.get("content") or "")) for each in asked)
    steps = case.transcript.turns[0].steps if case.transcript.turns else []
    tokens = (steps[0].reply.input_tokens or 0) if steps else 0
    return [1.0, float(words), float(len(json.dumps(compile_tools(case.entry.function))))], float(tokens)


def _lost(rows: list[Row], parts: Sequence[str]) -> tuple[dict[str, Lost], set[str]]:
    present = [n for n, part in enumerate(parts) if not part or len({row[0][n] for row in rows}) >= 5]
    if len(rows) < LEAST_REQUESTS or len(present) < 2:
        return {}, set()
    fitted = _fitted([[row[0][n] for n in present] for row in rows], [row[1] for row in rows])
    if fitted is None:
        return {}, set()
    slopes = {parts[n]: slope for n, slope in zip(present, fitted, strict=True) if _told(parts[n])}
    clear = sorted(b for b, error in slopes.values() if b > 0.03 and b > 6 * error)
    if not clear:
        return {}, set()
    usual = clear[len(clear) // 2]
    lost = {part: Lost(part, b, usual) for part, (b, e) in slopes.items() if b + 2 * e < LOST * usual and e < usual / 4}
    return lost, {part for part, (b, e) in slopes.items() if b - 2 * e > LOST * usual}


def _told(part: str) -> bool:
    """Whether a part's length is in characters."""
    return bool(part) and not part.startswith("parts")


def _demeaned(rows: list[Row]) -> list[Row]:
    """Requests of one conversation, each relative to their mean, so that common parts do not count."""
    if len(rows) < 2:
        return []
    means = [sum(row[0][n] for row in rows) / len(rows) for n in range(len(rows[0][0]))]
    tokens = sum(row[1] for row in rows) / len(rows)
    return [([x - mean for x, mean in zip(row, means, strict=True)], told - tokens) for row, told in rows]


def _requests(case: Case) -> Iterator[Row]:
    """Question, earlier turns and results in every request of a conversation."""
    before = results = 0.0
    for number, turn in enumerate(case.transcript.turns):
        messages = case.entry.question[number] if number < len(case.entry.question) else []
        question = float(sum(len(str(each.get("content") or "")) for each in messages))
        for step in turn.steps:
            if step.reply.input_tokens:
                yield [question, before, results], float(step.reply.input_tokens)
            said = sum(len(call.arguments) + len(call.name) + _A_CALL for call in step.reply.tool_calls)
            before += len(step.reply.text or "") + _A_MESSAGE + said
            results += sum(len(each) + _A_CALL for each in step.results)
        before += question + _A_MESSAGE


def _tools(functions: Sequence[Fields]) -> list[int]:
    """For the first tool, and for the others: characters of names, then of descriptions, then the number of parts."""
    sizes = [_sizes(each) for each in compile_tools(functions)]
    return [sum(size[n] for size in some) for n in range(3) for some in (sizes[:1], sizes[1:])]


def _sizes(value: Any) -> tuple[int, int, int]:
    """Characters of names and of descriptions in a tool, and its number of brackets and keywords of JSON Schema."""
    names = texts = parts = 0
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        parts += 1
        if key == "description" and isinstance(each, str):
            texts += len(each)
        elif isinstance(each, str):
            names += len(each)
        else:
            found = _sizes(each)
            names, texts, parts = names + found[0], texts + found[1], parts + found[2]
        names += len(key) if isinstance(key, str) and key not in _SCHEMA else 0
    return names, texts, parts


_SCHEMA = frozenset(("type", "function", "name", "parameters", "properties", "required", "items", "enum", "default"))


def _fitted(rows: list[list[float]], values: list[float]) -> list[tuple[float, float]] | None:
    """Least squares: each coefficient with its standard error; ``None`` if the parts cannot be separated."""
    width = len(rows[0]) if rows else 0
    if len(rows) <= width:
        return None
    scale = [max(abs(row[n]) for row in rows) or 1.0 for n in range(width)]
    scaled = [[row[n] / scale[n] for n in range(width)] for row in rows]
    left = [[sum(row[i] * row[j] for row in scaled) for j in range(width)] for i in range(width)]
    right = [sum(row[i] * value for row, value in zip(scaled, values, strict=True)) for i in range(width)]
    inverse = _inverse(left)
    if inverse is None:
        return None
    found = [sum(inverse[i][j] * right[j] for j in range(width)) for i in range(width)]
    rest = sum(
        (v - sum(f * x for f, x in zip(found, row, strict=True))) ** 2 for row, v in zip(scaled, values, strict=True)
    )
    variance = rest / max(1, len(rows) - width)
    return [(found[i] / scale[i], math.sqrt(max(0.0, variance * inverse[i][i])) / scale[i]) for i in range(width)]


def _inverse(matrix: list[list[float]]) -> list[list[float]] | None:
    """Gauss-Jordan elimination with pivots; ``None`` for a matrix that is almost singular."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-9 * max(1.0, abs(matrix[i][i])):
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        divisor = rows[i][i]
        rows[i] = [each / divisor for each in rows[i]]
        for r in range(size):
            if r != i and (factor := rows[r][i]):
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[size:] for row in rows]
