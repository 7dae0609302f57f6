"""The oracle: answers from the ground truth, in a model's format. It shows that harness, checkers and data can reach
100 %; entries it cannot pass are known issues (contract §8). The last paragraph of data spec §8 says how it picks among
acceptable values.
"""

from __future__ import annotations

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import ground_truth_calls, turn_ground_truth_calls
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.tools.json_schema import arguments_for
from pytest_bfcl.transcript import Call, Mode, Reply

REFUSAL = "None of the functions offered here can do that, so I make no call."
CLOSING = "That is done."
QUESTION = "What do I still need for that?"
IDLE = "I did nothing."


class OracleModel:
    """Gives the right answer; ``oracle:`` in either mode. Never fails, has no latency and no tokens."""

    def __init__(self, spec: ModelSpec, mode: Mode = "fc") -> None:
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"

    async def generate(self, request: Request) -> Reply:
        """The answer to this turn and step."""
        return answer(request.entry, self.mode, request.turn, request.step)

    async def aclose(self) -> None:
        """Nothing to release."""


def answer(entry: Entry, mode: Mode, turn: int = 0, step: int = 0) -> Reply:
    """The right reply for one turn and step of an entry."""
    checker = entry.row.checker
    if checker == "answer":
        return Reply(text=final_answer(entry), finish_reason="stop")
    if checker == "relevance":
        return reply_with_calls([_plausible_call(entry)], entry, mode) if entry.function else Reply(text=REFUSAL)
    if checker == "state":
        calls = turn_ground_truth_calls(entry, turn) if step == 0 else []
        text = CLOSING if step else QUESTION  # a turn without calls lacks something
        return reply_with_calls(calls, entry, mode) if calls else Reply(text=text, finish_reason="stop")
    if checker == "served":
        calls = turn_ground_truth_calls(entry, turn) if step == 0 else []
        return reply_with_calls(calls, entry, mode) if calls else Reply(text=_expected_words(entry, turn))
    calls = ground_truth_calls(entry) if checker in ("ast", "executable", "sql", "rest") else []
    if calls:
        return reply_with_calls(calls, entry, mode)
    return Reply(text=REFUSAL if checker == "irrelevance" else CLOSING, finish_reason="stop")


def _expected_words(entry: Entry, turn: int) -> str:
    """The message that an entry on an MCP server expects at the end of a turn."""
    last = len(entry.question) - 1
    due = [each for each in entry.expect if each.answers and (last if each.turn is None else each.turn) == turn]
    told = [str(each.answers[0]) for each in due]
    told += [
        str(each.contains)
        for each in entry.expect
        if each.said and each.contains is not None and (last if each.turn is None else each.turn) == turn
    ]
    return " ".join([CLOSING, *told])


def _plausible_call(entry: Entry) -> Call:
    doc = entry.function[0]
    return Call(str(doc["name"]), arguments_for(doc.get("parameters") or {}, lambda name, schema: "x"))


def final_answer(entry: Entry) -> str:
    """The final message of an agentic entry: an object with ``answer`` and ``context`` (agentic spec §6)."""
    answers = [str(text) for text in entry.possible_answer or [""]]
    # Only an answer that begins and ends with a word character can be found on its own.
    chosen = next((text for text in answers if text and text[0].isalnum() and text[-1].isalnum()), answers[0])
    return repr({"answer": chosen, "context": "taken from the ground truth"})
