"""The fuzzer finds what is planted, and shrinks it; against a reference that is installed (`make slow`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.parity.cases import Source
from tests.parity.exceptions import excused
from tests.parity.fuzzing import Difference, Reference, first_difference, fuzz, place_of
from tests.parity.ours import Ours
from tests.patience import patience

A_MINUTE = 60.0
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    python = os.environ.get("PARITY_PYTHON")
    if not python:
        pytest.skip("needs an installed bfcl-eval: PARITY_PYTHON=…/bin/python (make parity makes one)")
    side = Reference(python)
    yield side
    side.close()


def a_key_of_the_second_tweet(request: Fields, answer: Fields) -> None:
    tweets = [place for place, call in enumerate(request["calls"]) if call.startswith("post_tweet(")]
    if len(tweets) > 1:
        answer["results"][tweets[1]] = answer["results"][tweets[1]].replace('"id"', '"ident"')


def another_error_type(request: Fields, answer: Fields) -> None:
    if answer["error_type"] == "value_error:others":
        answer["error_type"] = "value_error:string"


def an_empty_text_for_null(request: Fields, answer: Fields) -> None:
    for message in (message for sent in answer["requests"] for message in sent["messages"]):
        message["content"] = message["content"] if message["content"] is not None else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "plant", "size"),
    [
        ("calls", a_key_of_the_second_tweet, lambda request: len(request["calls"]) <= 3),
        ("verdicts", another_error_type, lambda request: len(json.dumps(request)) < 700),
        ("messages", an_empty_text_for_null, lambda request: len(request["replies"]) <= 6),
    ],
)
def test_a_planted_difference_is_found_within_a_minute_and_is_small(
    official: Any, reference: Reference, kind: str, plant: Callable[..., None], size: Callable[[Fields], bool]
) -> None:
    ours = Ours(official)

    def wrong(request: Fields) -> Fields:
        answer = ours.answer(request)
        plant(request, answer)
        return answer

    found = fuzz(wrong, reference, Source(official), patience(A_MINUTE), kinds=(kind,), start=7, most=1)
    assert [difference.kind for difference in found.differences] == [kind]
    assert size(found.differences[0].request)


def test_a_place_is_the_call_that_parts_the_sides() -> None:
    request = {"do": "execute", "calls": ["ls()", "cd(folder='x')"]}
    ours = {"results": ["{}", "Error during execution: no"], "state": {}}
    theirs = {"results": ["{}", '{"error": "nothing there"}'], "state": {}}
    assert place_of(request, ours, theirs) == 'cd: Error during execution: no for {"error": "nothing there"}'
    assert first_difference(ours, theirs).startswith(".results[1]")
    assert excused(request, ours, theirs) == ""
    assert excused(request, {"results": ["{}", "Error during execution: a text is needed, not int"]}, theirs)
    score = '{{"result": [{{"similarity_score": {}}}]}}'
    near, far = ({"results": ["{}", score.format(number)]} for number in (-0.00028881430, -0.00029881803))
    assert excused(request, near, {"results": ["{}", score.format(-0.00028881803)]})
    assert not excused(request, near, far)
    verdicts = {"valid": False, "error_type": "reply:nothing_said"}, {"valid": True, "error_type": None}
    assert excused({"do": "judge"}, *verdicts)
    assert not excused({"do": "judge"}, *reversed(verdicts))
    assert Difference("calls", request, ours, theirs).told().startswith("calls: cd")
