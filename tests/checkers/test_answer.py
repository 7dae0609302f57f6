"""Final answers: word boundaries, normalising, what the last message is, and corrected rule C18."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bfcl.checkers import judge, judge_both
from pytest_bfcl.checkers.agentic import contains_answer, normalise
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import FailureTag
from pytest_bfcl.transcript import Mode, Reply, Step, ToolCall, Transcript, Turn


def entry(*answers: str) -> Entry:
    question = [[{"role": "user", "content": "Which town?"}]]
    return Entry.model_validate(
        {"id": "m_0", "category": "memory_kv", "question": question, "possible_answer": list(answers)}
    )


def said(*outputs: Any, mode: Mode = "prompt") -> Transcript:
    steps = [Step(each if isinstance(each, Reply) else Reply.from_output(each)) for each in outputs]
    return Transcript("m_0", "memory_kv", mode=mode, turns=[Turn(steps=steps)])


@given(st.text("ab $_1é", max_size=12), st.text("ab $_1é", max_size=4))
@pytest.mark.slow
def test_same_as_the_regular_expression(message: str, answer: str) -> None:
    pattern = rf"\b{re.escape(normalise(answer))}\b"
    assert contains_answer(message, [answer]) is bool(re.search(pattern, normalise(message)))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (said("search(q='Paris')"), "agentic:no_last_message"),
        (said(""), "agentic:no_last_message"),
        (said([{"search": '{"q": "x"}'}], "The town is Paris", mode="fc"), None),
        (said([{"search": "{Paris}"}], mode="fc"), None),
        (said(Reply(text="Paris", tool_calls=(ToolCall("search", "{}"),)), mode="fc"), "agentic:no_last_message"),
    ],
)
def test_last_message(record: Transcript, reason: str | None) -> None:
    verdict = judge(entry("Paris"), record)
    assert verdict.reason == reason
    if reason:
        assert verdict.tag is FailureTag.MALFORMED_OUTPUT


@pytest.mark.parametrize(
    ("message", "answer", "official", "corrected"),
    [
        ("It is Parisian.", "Paris", False, False),
        ("12 3", "123", False, False),
        ("a b", "a  b", False, False),
        ("5,000 people", "5000", True, True),
        ("ÉCLAIR!", "éclair", True, True),
        ("It costs x$5.00", "$5.00", True, True),
        ("foo_1", "foo", False, False),
        ("anything", "", True, True),
        ("well-known", "wellknown", True, True),
        ("{'answer': 'Paris', 'context': 'x'}", "Paris", True, True),
        ("It costs $5.00.", "$5.00", False, True),
        ("about 50% of it", "50%", False, True),
        ("written in C++ mostly", "C++", False, True),
        ("it costs $5000", "$500", False, False),
        ("it costs $ 5", "$", False, True),
        ("{'answer': 'I do not know', 'context': 'Paris was named'}", "Paris", True, False),
        ('```json\n{"answer": "unknown", "context": "Paris"}\n```', "Paris", True, False),
        ('{"answer": "Paris", "context": "found"}', "Paris", True, True),
        ('{"answer": "no", "context": "' + "Paris " * 3400 + '"}', "Paris", True, True),  # too long to be read as one
        ('{"answer": "no", "context": "' + "Paris " * 3000 + '"}', "Paris", True, False),
        ('{"reply": "no"} Paris', "Paris", True, True),
        ('{"reply": "Paris"}', "Paris", True, True),
        ('["Paris", "answer"]', "Paris", True, True),
        ('Paris {"answer": "no"}', "Paris", True, True),
        ("{'answer': 'no', 'context': Paris}", "Paris", True, True),
        ('python\n{"answer": "no Paris"}', "Paris", True, True),
        ("json", "json", True, True),
        ('``` json {"answer": "no"}```', "no", True, True),
    ],
)
def test_official_and_c18(message: str, answer: str, official: bool, corrected: bool) -> None:
    both = judge_both(entry(answer), said(message))
    assert official or both.official.reason == "agentic:answer_not_found"
    assert (both.official.valid, both.corrected.valid) == (official, corrected)
    assert both.corrected_rules == (("C18",) if official is not corrected else ())


@pytest.mark.parametrize("answers", [None, [], "Paris"])
def test_an_entry_without_answers_is_ours(answers: Any) -> None:
    judged = entry("Paris").model_copy(update={"possible_answer": answers})
    assert judge(judged, said("Paris")).reason == "harness:data"


def test_a_conversation_of_another_number_of_turns_is_no_answer() -> None:
    talk = said("Paris")
    talk.turns *= 2
    verdict = judge(entry("Paris"), talk)
    assert (verdict.outcome, verdict.reason) == ("error", "agentic:inference_error")
    assert verdict.detail["error"] == "2 turns recorded instead of one"


def test_hostile_messages_cost_little() -> None:
    started = time.process_time()
    for message in ("{" * 19_000 + "}", "a" * 1_000_000, "{" + "'a':" * 4000 + "}"):
        judge_both(entry("a" * 50 + "b"), said(message))
    assert time.process_time() - started < 3.0
