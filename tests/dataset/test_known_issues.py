"""Known issues: the list is well formed, and says exactly what cannot be passed, in each mode."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import get_args

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.categories import GROUPS, category_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.verified import IssueKind, known_issues
from pytest_bfcl.fetching.official import VERSION
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.transcript import Mode, Step, Transcript, Turn


def test_the_list_is_well_formed(official: DataSet) -> None:
    issues = known_issues(VERSION)
    assert {issue.kind for issue in issues} == set(get_args(IssueKind))
    for issue in issues:
        assert official.find(issue.id) is not None
        assert issue.modes
        assert set(issue.modes) <= set(get_args(Mode))
        assert len(issue.why) > 20
    keys = Counter((issue.id, mode) for issue in issues for mode in issue.modes)
    assert max(keys.values()) == 1


def test_other_versions_have_no_known_issues() -> None:
    assert known_issues("1999.1.1") == []
    assert known_issues("") == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", get_args(Mode))
def test_unpassable_is_what_the_oracle_cannot_pass(official: DataSet, mode: Mode) -> None:
    """Contract §8: equality, per mode, so that a new data version forces an update of the list."""
    names = [*GROUPS["single_turn"], *GROUPS["agentic"], *(["format_sensitivity"] if mode == "prompt" else [])]
    failed = set()
    for name in names:
        for ref in official.index(name):
            entry = official.load(ref)
            reply = answer(entry, mode)
            transcript = Transcript(
                entry.id, name, "oracle", mode, turns=[Turn([], [Step(reply)])], underscore_names=mode == "fc"
            )
            if not judge(entry, transcript).valid:
                failed.add(entry.id)
    assert failed == {
        issue.id
        for issue in known_issues(VERSION)
        if issue.kind == "unpassable"
        and mode in issue.modes
        and category_of(issue.id) not in GROUPS["retired"]  # theirs: tests/extensions/retired/test_bundled_retired.py
    }


def contradicts(entry: Entry) -> bool:
    """Whether no acceptable answer agrees with what the last source of a web-search entry says.

    They agree when one's words contain the other's, when both are one date (as far as both give it), or when they share
    a long word or its beginning (spelling variants, nationality and country).
    """
    last = str((entry.model_extra or {})["answer_source"][-1]["answer"])
    return not any(_agree(str(text), last) for text in entry.possible_answer or [])


def _agree(answer: str, source: str) -> bool:
    one, other = (re.findall(r"[^\W_]+", text.lower()) for text in (answer, source))
    joined = (" ".join(one), " ".join(other))
    if joined[0] in joined[1] or joined[1] in joined[0]:
        return True
    dates = _date(answer), _date(source)
    if dates[0] and dates[1]:
        return dates[0] == dates[1]
    return any(a[:5] == b[:5] for a in one for b in other if min(len(a), len(b)) >= 5 and not a.isdigit())


def _date(text: str) -> tuple[int, int] | None:
    """Month and day of a date in one of the forms the data uses."""
    forms = ("%Y-%m-%d", "%m/%d/%Y", "%Y/%m/%d", "%m/%d", "%B %d, %Y", "%d %B %Y", "%d %B")
    for form in forms:
        full = (text.strip(), form) if "%Y" in form else (f"2024 {text.strip()}", f"%Y {form}")
        try:
            found = datetime.strptime(*full)
        except ValueError:
            continue
        return found.month, found.day
    return None


def test_web_answers_that_contradict_their_source_are_listed(official: DataSet) -> None:
    for name in GROUPS["web_search"]:
        found = {ref.id for ref in official.index(name) if contradicts(official.load(ref))}
        assert found == {issue.id for issue in known_issues(VERSION) if issue.id.startswith(name)}
