"""A server against the one that serves the model as it should: planted faults, equal servers, recorded ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import pytest

from pytest_bfcl.extensions.boards.verification import HARD_MARGIN, Run, Verification, by_entry, requests_needed, verify
from pytest_bfcl.extensions.boards.verification_text import noise, sentence
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.conduct import Conduct

DATE = "simple_python"


Harm = Callable[[Conduct, random.Random], dict[str, Any]]


def _served(count: int, dice: random.Random, harm: Harm | None = None) -> Run:
    """A server's run: most entries call, a few flip by chance, each by its own inclination, as sampling makes them."""
    found = []
    for number in range(count):
        wants = number % 5 != 0
        called = wants if dice.random() > 0.02 else not wants
        faulty = called and number % 40 == 1 and dice.random() < 0.5
        passed = dice.random() < (0.95 if number % 10 < 7 else 0.1)
        form = {"calls": int(called), **({"invalid": 1} if faulty else {})}
        finish = frozenset(["tool_calls" if called else "stop"])
        each: dict[str, Any] = {"passed": passed, "called": called, "form": form, "finish": finish}
        if harm is not None:
            each |= harm(Conduct(f"{DATE}_{number}", DATE, **each), dice)
        found.append(Conduct(f"{DATE}_{number}", DATE, **each))
    return by_entry(found)


def _lost_calls(found: Conduct, dice: random.Random) -> dict[str, Any]:
    """A parser that loses 3 % of the calls: the answer is empty, and wrong."""
    if not found.called or dice.random() > 0.03:
        return {}
    return {"called": False, "form": {"calls": 0}, "empty": True, "passed": False, "finish": frozenset(["stop"])}


def _sometimes(share: float, when: Callable[[Conduct], bool], **changes: Any) -> Harm:
    return lambda found, dice: changes if when(found) and dice.random() < share else {}


def _calls(found: Conduct) -> bool:
    return found.called


def _is_silent(found: Conduct) -> bool:
    return not found.called


FAULTS: dict[str, Harm] = {
    "unknown": _sometimes(0.04, _calls, form={"calls": 1, "unknown": 1}),
    "broken": _sometimes(0.04, _calls, form={"calls": 1, "broken": 1}),
    "invalid": _sometimes(0.04, _calls, form={"calls": 1, "invalid": 1}),
    "lost": _sometimes(0.04, _calls, lost=True),
    "reasoning_only": _sometimes(0.15, _is_silent, reasoning_only=True),
    "empty": _sometimes(0.15, _is_silent, empty=True),
    "retried": _sometimes(0.04, _calls, retried=True),
    "passed": _sometimes(0.12, lambda found: bool(found.passed), passed=False),
    "errors": _sometimes(0.03, lambda found: True, passed=None),
    "called": _sometimes(0.3, _is_silent, called=True, finish=frozenset(["stop"])),
    "finish:length": _sometimes(0.2, _is_silent, finish=frozenset(["stop", "length"])),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_its_own_measure(fault: str) -> None:
    reference, faulty = (_served(1000, random.Random(seed), harm) for seed, harm in ((1, None), (2, FAULTS[fault])))
    found = verify(faulty, [reference])
    assert found.verdict == "other"
    assert [row.measure.name for row in found.others] == [fault]
    assert sentence(found).startswith("differs from the reference: ")
    # Seen from the faulty side the good one is better; what is merely otherwise stays a difference.
    turned = verify(reference, [faulty])
    assert [row.measure.name for row in turned.others] == ([fault] if fault in ("called", "finish:length") else [])


@pytest.mark.parametrize(
    ("calls", "text"),
    [("tool_use", "end_turn"), ("completed", "completed"),
     *(pytest.param(*words, marks=pytest.mark.slow) for words in (("STOP", "STOP"), ("TOOL_CALL", "COMPLETE")))],
)  # fmt: skip
def test_another_api_has_other_words_for_the_same_endings(calls: str, text: str) -> None:
    reference = _served(1000, random.Random(1))

    def other(cut: float) -> Run:
        def end(found: Conduct, dice: random.Random) -> dict[str, Any]:
            return {"finish": frozenset(["MAX_TOKENS" if dice.random() < cut else calls if found.called else text])}

        return _served(1000, random.Random(2), end)

    assert verify(other(0), [reference]).verdict != "other"
    assert "finish:length" in [row.measure.name for row in verify(other(0.1), [reference]).others]


def test_equal_servers_few_requests_and_none() -> None:
    reference = _served(4000, random.Random(1))
    same = verify(_served(4000, random.Random(2)), [reference])
    told = "serves the model the same within 3 points (hard faults within 0.5)"
    assert (same.verdict, sentence(same)) == ("same", told)
    assert "binomial" in noise(same)
    few = verify(_served(60, random.Random(2)), [reference])
    assert few.verdict == "unknown"
    assert 200 < few.more < 4000
    assert sentence(few) == f"too few requests to tell: about {few.more:,} more would do"
    for row in (*same.rows, *few.rows):  # no verdict without its figure in the table
        low, high = row.interval99
        assert row.is_other == (row.loss > 0 and not low <= 0 <= high)
        assert row.is_same == (row.worst < row.margin)
    assert few.entries < requests_needed(reference) < 10_000
    sure = by_entry(Conduct(f"{DATE}_{n}", DATE, True, called=True) for n in range(9))  # no share varies
    assert requests_needed(sure) == math.ceil(math.sqrt(8) * NormalDist().inv_cdf(0.975) / HARD_MARGIN / 2)
    with pytest.raises(UsageError, match="share no entry"):
        verify({}, [reference])


@pytest.mark.slow
def test_repeated_references_measure_the_noise() -> None:
    references = [_served(2000, random.Random(seed)) for seed in (1, 2, 3)]
    found = verify(_served(2000, random.Random(4)), references)
    assert found.verdict != "other"
    assert noise(found) == "noise floor measured between 3 runs of the reference"
    repeats = {name: [run[name][0] for run in references] for name in references[0]}  # one run with --repeat 3
    assert verify(_served(2000, random.Random(4)), [repeats]) == found
    assert 0 < next(row.floor for row in found.rows if row.measure.name == "called") < 0.03
    assert next(row.entries for row in found.rows) == 2000  # three pairs of one entry are one entry
    assert verify(_served(2000, random.Random(4), FAULTS["broken"]), references).verdict == "other"


def test_decisions_to_call_against_the_references() -> None:
    def run(*called: bool) -> Run:
        return by_entry(Conduct(f"{DATE}_{n}", DATE, True, called=each) for n, each in enumerate(called))

    trigger = verify(run(True, True, False, False, True), [run(True, False, True, False, True)]).trigger
    assert (trigger.precision, trigger.recall, trigger.f1) == (2 / 3, 2 / 3, 2 / 3)
    never = verify(run(False), [run(False)]).trigger
    assert (never.precision, never.recall, never.f1) == (None, None, None)


def _trial(seed: int, count: int, harm: Harm | None = None) -> Verification:
    return verify(_served(count, random.Random(f"a{seed}"), harm), [_served(count, random.Random(f"b{seed}"))])


@pytest.mark.slow
def test_equal_servers_differ_in_one_of_a_hundred_trials_at_most() -> None:
    for count in (100, 500):
        assert sum(_trial(seed, count).verdict == "other" for seed in range(500)) <= 5, count


@pytest.mark.slow
@pytest.mark.parametrize(("share", "found"), [(0.0125, 0), (0.03, 90)])
def test_a_planted_hard_fault_is_never_called_the_same(share: float, found: int) -> None:
    """1 % of all entries at 2,000 (80 % call): "the same" in 5 % of trials at most; more of them is found."""
    harm = _sometimes(share, _calls, form={"calls": 1, "unknown": 1})
    verdicts = [_trial(seed, 2000, harm).verdict for seed in range(100)]
    assert verdicts.count("same") <= 5
    assert verdicts.count("other") >= found


@pytest.mark.slow
def test_three_percent_of_calls_lost_are_found_in_nine_of_ten_trials() -> None:
    found = [_trial(seed, 2000, _lost_calls) for seed in range(100)]
    assert sum(each.verdict == "other" for each in found) >= 90
