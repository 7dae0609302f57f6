"""What the checks before a run and the reviewer's eye already find, sorted into the table of defects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.entry_checks import check_entry
from pytest_bfcl.dataset.schemas import Finding
from pytest_bfcl.extensions.lab.auditing.rules import Defect
from pytest_bfcl.extensions.own.lint import lint_entry

_BY_MESSAGE: tuple[tuple[str, str], ...] = (
    (r"^no possible_answer|^no SQL", "no_answer"),
    (r"a message has no content|: role ", "bad_message"),
    (r"^turn \d+ is empty", "empty_turn"),
    (r"^not one call in Python syntax", "not_a_call"),
    (r"^the answer calls .* which is not offered", "unknown_function"),
    (r"the answer names a parameter the function does not have", "unknown_parameter"),
    (r"acceptable values is empty", "empty_values"),
    (r"^required, but", "required_unanswered"),
    (r"required parameter .* is not documented", "required_undocumented"),
    (r"entries expect one call, the answer has", "several_calls"),
    (r"is not one the checkers know", "unknown_type"),
    (r"have one name on the wire", "wire_clash"),
    (r"turns in the question, \d+ in the answer", "turns_mismatch"),
    (r"^held-out functions arrive at turn", "late_functions"),
    (r"^an acceptable answer is a non-empty text", "empty_text"),
    (r"is not in the enum", "outside_enum"),
    (r"^nothing in the request says this value", "unmentioned"),
    (r"description says nothing|described word for word", "says_nothing"),
    (r"a model cannot tell", "twin_tools"),
)
"""Message → rule; what fits none is ``malformed``."""

_STYLE = ("no description", '"parameters.type" is', "has more than", "is no ", "unknown field")
"""Findings that are style, or that `schema_rules` tells in more detail."""

OWN_ONLY = frozenset({"unmentioned", "says_nothing", "twin_tools"})
"""Rules that read words: for own data; in third-party data there are too many to act on."""


def entry_defects(entry: Entry, *, words: bool) -> Iterator[Defect]:
    """Defects of one entry looked at by itself; ``words``: those a reviewer of own entries would name, too."""
    findings = [finding for finding in check_entry(entry) if _counts(entry, finding)]
    told: set[tuple[str, str]] = set()
    for finding in [*findings, *(lint_entry(entry) if words else ())]:
        rule = _rule_of(finding)
        # The schema rules tell values outside the enum and of other types in more detail.
        if rule == "outside_enum" or (rule == "malformed" and finding.severity == "warning"):
            continue
        if rule == "says_nothing" and ".parameters." in finding.field:
            continue  # of a parameter its name may say enough
        if (rule, finding.field) not in told:
            told.add((rule, finding.field))
            yield Defect(rule, entry.id, finding.message, finding.field)


def _counts(entry: Entry, finding: Finding) -> bool:
    return finding.severity == "error" or _rule_of(finding) != "malformed"


def _rule_of(finding: Finding) -> str:
    if any(text in finding.message for text in _STYLE):
        return "malformed" if finding.severity == "error" else "outside_enum"
    named = next((rule for pattern, rule in _BY_MESSAGE if re.search(pattern, finding.message)), "malformed")
    if named == "wire_clash" and len(set(re.findall(r"'([^']*)'", finding.message))) == 1:
        return "function_twice"
    return named
