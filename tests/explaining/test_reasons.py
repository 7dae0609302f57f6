"""Every reason is complete: a rule, a headline, a body, and a row of docs/reasons.md that says what to do.

``python -m tests.explaining.test_reasons`` writes the tables of docs/reasons.md anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import pytest_bfcl
from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import Attempt, Details, ValueDetails
from pytest_bfcl.checkers.reasons import all_reasons, details_of
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.failures import FailureTag, Reason, Verdict
from tests.checkers.building import entry, function, transcript

REASONS = all_reasons()
PACKAGE = Path(pytest_bfcl.__file__).parent
PAGE = PACKAGE.parent / "docs" / "reasons.md"
BEGIN, END = "<!-- reasons: begin -->\n", "<!-- reasons: end -->\n"
HEADS = {
    FailureTag.MALFORMED_OUTPUT: "nothing that can be read where a call or a message was due",
    FailureTag.WRONG_ANSWER: "read, but a rule is not met",
    FailureTag.ADAPTER_ERROR: "the reply never arrived",
    FailureTag.HARNESS_ERROR: "the data, this package or the machine",
}
VALUES: dict[Any, Any] = {
    "int | None": 1,
    "str | None": "some words",
    "list[object] | None": ["look(shelf='top')"],
    "Object | None": {"shelves": {"expected": 1, "called": 2}},
    "tuple[Attempt, ...]": (Attempt(0, reasons.VALUE.name, ValueDetails(param="n", called=4)),),
    "object": "a value",
}
NOT_OF_A_CASE = ("advice", "underlying", "corrected_rules", "reference")


def sample(family: type[Details]) -> Details:
    """Details of a family with everything told that a checker can tell."""
    kinds = {
        name: kind for each in reversed(family.__mro__) for name, kind in getattr(each, "__annotations__", {}).items()
    }
    assert kinds.keys() == get_type_hints(family).keys()
    return family(**{name: VALUES[kind] for name, kind in kinds.items() if name not in NOT_OF_A_CASE})


def tables() -> str:
    """The tables of docs/reasons.md, one a tag."""
    parts = []
    for tag, words in HEADS.items():
        rows = [each for each in REASONS.values() if each.tag is tag]
        lines = [f"| `{each.name}` | {each.rule} | {each.remedy} |" for each in rows]
        parts.append(
            "\n".join([f"## {tag}: {words}", "", "| reason | the rule | what to do |", "|---|---|---|", *lines])
        )
    return "\n\n".join(parts) + "\n"


def split_page() -> tuple[str, str, str]:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, tail = rest.partition(END)
    return head + BEGIN, table, END + tail


def test_the_page_says_what_to_do_about_each() -> None:
    assert split_page()[1] == tables(), "run python -m tests.explaining.test_reasons"


def test_every_constant_is_in_the_table_under_a_name_of_its_own() -> None:
    constants = [value for value in vars(reasons).values() if isinstance(value, Reason)]
    assert [REASONS[each.name] for each in constants] == constants
    assert {each.tag for each in REASONS.values()} == set(HEADS) <= set(FailureTag)


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_every_reason_is_complete(reason: Reason) -> None:
    assert issubclass(reason.details, Details)
    details = sample(reason.details)
    verdict = Verdict.wrong(reason, details)
    assert reason.rule
    assert reason.rule[0].islower()
    assert not reason.rule.endswith(".")
    assert reason.remedy.endswith((".", ")"))
    line = {"outcome": verdict.outcome, "reason": reason.name, "detail": dict(verdict.detail)}
    said = headline(line)
    assert said[0].isupper()
    assert reason.rule.lower() not in said.lower(), "the headline wants something its family does not tell"
    assert not {"{", "}"} & set(said.replace("{}", ""))
    judged = entry([function("f", n="integer")], [{"f": {"n": [5]}}])
    title, *body = failure_text(judged, transcript("[f(n=4)]"), verdict).splitlines()
    assert title == f"{reason.tag}: {reason.name}"
    labels = [row.split()[0] for row in body if row.split()]
    wanted = {"expected", "reply", "state"} if reason.tag.counts else {"error"}
    assert wanted & set(labels), body
    assert ("rule" in labels) is reason.tag.counts
    assert "None" not in "\n".join(body)
    assert "UNTOLD" not in "\n".join([said, *body])


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_details_come_back_from_a_result_line(reason: Reason) -> None:
    detail = json.loads(json.dumps(dict(Verdict.wrong(reason, sample(reason.details)).detail)))
    found = details_of(reason.name, detail)
    assert type(found) is reason.details
    assert {"rule": reason.rule, **found.to_json()} == {"rule": reason.rule, **detail}


@pytest.mark.parametrize("value", [None, -1, True, "x", 1.5, [], [{"call": -1, "reason": "x"}, 3], {"a": []}])
def test_values_of_other_types_are_not_told(value: Any) -> None:
    judged, record = entry([function("f", n="integer")], [{"f": {"n": [5]}}]), transcript("[f(n=4)]")
    for reason in REASONS.values():
        detail = dict.fromkeys([*get_type_hints(reason.details), "class", "rule"], value)
        line = {"outcome": "failed", "reason": reason.name, "detail": detail}
        assert headline(line)
        assert failure_text(judged, record, Verdict(False, reason.tag, reason.name, detail))


if __name__ == "__main__":
    head, _, tail = split_page()
    PAGE.write_text(head + tables() + tail, encoding="utf-8")
