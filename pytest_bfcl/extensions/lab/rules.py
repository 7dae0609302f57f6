"""The table of defects: the name of each, why it is one, and what to do."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_bfcl.dataset.verified import IssueKind

FEWEST_FAMILIES = 8
"""Independent families from which a discrimination is significant."""
FEWEST_ENTRIES = 30
"""Entries from which abilities are estimated well enough."""
NEGATIVE_Z = -1.3
"""Distance from no discrimination, in standard errors, below which it is called negative."""
_ROUNDS = 30
_PRIOR_SD = 3.0
"""Standard deviation of the priors on ability and intercept, in logits."""
_SLOPE_SD = 2.0


@dataclass(frozen=True, slots=True)
class ItemFit:
    """One entry: how many runs and families judged and passed it, difficulty and discrimination in logits.

    ``difficulty`` is the ability at which half pass (by the one-parameter model); ``error`` the standard error of
    ``discrimination``.
    """

    id: str
    judged: int
    passed: int
    families_judged: int
    families_passed: int
    difficulty: float
    discrimination: float
    error: float

    @property
    def is_negative(self) -> bool:
        """Whether better models pass it less often, beyond chance."""
        return self.discrimination < NEGATIVE_Z * self.error


def fit_items(outcomes: Mapping[str, Mapping[str, bool]], family: Mapping[str, str]) -> list[ItemFit]:
    """The fit of every entry, in order of ids; empty for too few runs or entries (`FEWEST_FAMILIES`).

    A model of ability θ passes an entry with probability 1 ⁄ (1 + exp(−a (θ − b))): difficulty ``b``, discrimination
    ``a`` (A. Birnbaum, in Lord and Novick, Statistical Theories of Mental Test Scores, 1968, ch. 17–20). Abilities come
    from all entries together by the one-parameter model (joint maximum likelihood, G. Rasch 1960). Then every entry is
    a logistic regression on them. Normal priors keep perfect scores finite. Runs of one family share one vote.

    ``outcomes``: run → entry → passed; ``family``: run → family.
    """
    entries = sorted({entry for passed in outcomes.values() for entry in passed})
    if len(set(family.values())) < FEWEST_FAMILIES or len(entries) < FEWEST_ENTRIES:
        return []
    sizes = Counter(family[run] for run in outcomes)
    weight = {run: 1.0 / sizes[family[run]] for run in outcomes}
    ability, difficulty = _one_parameter(outcomes, entries, weight)
    found = []
    for entry in entries:
        told = [(run, passed[entry]) for run, passed in outcomes.items() if entry in passed]
        slope, error = _slope([(ability[run], weight[run], passed) for run, passed in told])
        families = {family[run] for run, _ in told}
        right = {family[run] for run, passed in told if passed}
        count = sum(passed for _, passed in told)
        found.append(ItemFit(entry, len(told), count, len(families), len(right), difficulty[entry], slope, error))
    return found


def _one_parameter(
    outcomes: Mapping[str, Mapping[str, bool]], entries: Iterable[str], weight: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Ability of every run and difficulty of every entry, alternating Newton steps; abilities have mean 0."""
    ability = dict.fromkeys(outcomes, 0.0)
    difficulty = dict.fromkeys(entries, 0.0)
    for _ in range(_ROUNDS):
        score = dict.fromkeys(difficulty, 0.0)
        curve = dict.fromkeys(difficulty, 1.0 / _PRIOR_SD**2)
        moved = 0.0
        for run, passed in outcomes.items():
            here, gain, bend = ability[run], -ability[run] / _PRIOR_SD**2, 1.0 / _PRIOR_SD**2
            share = weight[run]
            for entry, right in passed.items():
                chance = _logistic(here - difficulty[entry])
                gain += right - chance
                spread = chance * (1 - chance)
                bend += spread
                score[entry] += share * (chance - right)
                curve[entry] += share * spread
            step = _limited(gain / bend)
            ability[run] += step
            moved = max(moved, abs(step))
        for entry, at in difficulty.items():
            difficulty[entry] = at + _limited((score[entry] - at / _PRIOR_SD**2) / curve[entry])
        middle = sum(ability.values()) / len(ability)
        for run in ability:
            ability[run] -= middle
        for entry in difficulty:
            difficulty[entry] -= middle
        if moved < 1e-4:
            break
    return ability, difficulty


def _slope(told: list[tuple[float, float, bool]]) -> tuple[float, float]:
    """Slope of passing on ability and its standard error: penalised weighted logistic regression."""
    level, slope = 0.0, 1.0
    inverse = 1.0
    for _ in range(_ROUNDS):
        g0, g1 = -level / _PRIOR_SD**2, -slope / _SLOPE_SD**2
        h00, h01, h11 = 1 / _PRIOR_SD**2, 0.0, 1 / _SLOPE_SD**2
        for at, share, right in told:
            chance = _logistic(level + slope * at)
            rest, spread = share * (right - chance), share * chance * (1 - chance)
            g0 += rest
            g1 += rest * at
            h00 += spread
            h01 += spread * at
            h11 += spread * at * at
        determinant = h00 * h11 - h01 * h01
        first, second = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
        level, slope = level + _limited(first), slope + _limited(second)
        inverse = h00 / determinant
        if abs(first) + abs(second) < 1e-6:
            break
    return slope, math.sqrt(inverse)


def _limited(step: float) -> float:
    return max(-2.0, min(2.0, step))


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -35.0 else 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of defect. ``kind`` is its kind of known issue. A ``reading`` rule lists entries for a person to read:
    it decides nothing and never enters the list of known issues by itself.
    """

    name: str
    title: str
    why: str
    advice: str
    kind: IssueKind
    level: Literal["defect", "reading"] = "defect"


_FIX_ANSWER = "correct the answer, or exclude the entry"
_FIX_SCHEMA = "make schema and answer agree"
_FIX_SIBLINGS = "give all variants the content of the right one"
_READ = "read the entry; correct it where it is wrong"

_ROWS: tuple[Rule, ...] = (
    # The entry as it stands.
    Rule("malformed", "the entry cannot be used as it is", "a shape the loader or the checkers do not know",
         "fix the field named", "unpassable"),
    Rule("no_answer", "there is no answer", "nothing can be right", "write the answer", "unpassable"),
    Rule("bad_message", "a message has no content or no known role", "a model cannot be asked this",
         "write the message", "unpassable"),
    Rule("empty_turn", "a turn asks nothing", "a turn without a message is only right where functions arrive",
         "write the turn's request or take the turn out", "unpassable"),
    Rule("not_a_call", "a call of the ground truth is no call", "it is not one call in Python syntax, so it never runs",
         _FIX_ANSWER, "unpassable"),
    Rule("unknown_function", "the answer calls a function that is not offered", "a model cannot call it",
         "offer the function or correct its name", "unpassable"),
    Rule("unknown_parameter", "the answer names a parameter that the function does not have",
         "no call that fits the schema has it", _FIX_SCHEMA, "unpassable"),
    Rule("empty_values", "no value is acceptable", "the list of acceptable values is empty", _FIX_ANSWER, "unpassable"),
    Rule("required_unanswered", "a required parameter has no acceptable value",
         "a call with it is wrong, a call without it breaks the schema", _FIX_ANSWER, "unpassable"),
    Rule("required_undocumented", "a required parameter is not documented", "nobody knows what to give",
         "document it or take it from the required ones", "ambiguous"),
    Rule("several_calls", "more calls are expected than the category allows", "the checker reads one call",
         "move the entry to a parallel category", "unpassable"),
    Rule("unknown_type", "a type word that nothing understands", "no value has this type", "use a known type word",
         "unpassable"),
    Rule("function_twice", "a function is offered twice", "which of the two is meant cannot be told from a call",
         "take one of them out", "ambiguous"),
    Rule("wire_clash", "two functions have one name on the wire", "dots become underscores there",
         "rename one of them", "ambiguous"),
    Rule("turns_mismatch", "question and answer have different numbers of turns", "the last are judged by nothing",
         "write the missing turns", "unpassable"),
    Rule("late_functions", "held-out functions arrive at a turn that does not exist", "they never arrive",
         "name a turn of the entry", "unpassable"),
    Rule("empty_text", "an acceptable answer is an empty text", "an empty text is part of every answer",
         "write the answer", "wrong_answer"),
    # Schema against answer.
    Rule("wrong_type", "an acceptable value has another type than the schema says",
         "a call with it breaks the schema", _FIX_SCHEMA, "unpassable"),
    Rule("outside_enum", "an acceptable value is outside the enum", "a call with it breaks the schema", _FIX_SCHEMA,
         "unpassable"),
    Rule("wrong_item", "an item of an acceptable list does not fit its schema", "a call with it breaks the schema",
         _FIX_SCHEMA, "unpassable"),
    Rule("nested_unknown", "a nested value has a key that the schema does not name", "the key is a guess",
         _FIX_SCHEMA, "ambiguous"),
    Rule("nested_required", "a nested value lacks a required key", "a call with it breaks the schema", _FIX_SCHEMA,
         "unpassable"),
    Rule("nested_enum", "a nested value is outside its enum", "a call with it breaks the schema", _FIX_SCHEMA,
         "unpassable"),
    Rule("nested_type", "a nested value has another type than its schema says", "a call with it breaks the schema",
         _FIX_SCHEMA, "unpassable"),
    Rule("default_outside_enum", "a default is outside its own enum", "the schema contradicts itself",
         "add the default to the enum or choose another", "ambiguous", "reading"),
    Rule("default_wrong_type", "a default has another type than its parameter", "the schema contradicts itself",
         "give the default the type of the parameter", "ambiguous", "reading"),
    Rule("enum_wrong_type", "a value of an enum has another type than its parameter", "the schema contradicts itself",
         "give the enum the type of the parameter", "ambiguous", "reading"),
    # Request against answer.
    Rule("contradictory_values", "acceptable values contradict each other", "both cannot be what was asked for",
         "keep the right one", "wrong_answer"),
    Rule("either_way", "yes and no are both acceptable", "the parameter is tested by nothing", _READ, "ambiguous",
         "reading"),
    Rule("date_contradicted", "the request names another date", "the request's own date is not acceptable", _FIX_ANSWER,
         "wrong_answer", "reading"),
    Rule("number_contradicted", "the request names another number",
         "the request's only number is not acceptable where the answer has one", _FIX_ANSWER, "wrong_answer"),
    Rule("unasked", "another value than the default is expected, which nothing says",
         "the parameter is optional, and the request leaves it open", 'accept "" and the default', "wrong_answer",
         "reading"),
    Rule("default_only", "a documented default is accepted only when it is written out",
         "leaving the parameter out means the same", 'accept "" as well', "ambiguous", "reading"),
    Rule("no_such_date", "a date that does not exist is expected", "no calendar has it", _FIX_ANSWER, "wrong_answer"),
    Rule("weekday_contradicted", "the request gives a date another day of the week than it has",
         "which of the two is meant cannot be told", "correct the request", "ambiguous"),
    Rule("percent_or_fraction", "a rate is expected in another unit than is documented",
         "the request gives it in percent, the description says which is wanted", _FIX_ANSWER, "wrong_answer"),
    Rule("request_refused", "the request gives a value, and only the default is accepted",
         "the answer forbids what the request says", _FIX_ANSWER, "wrong_answer", "reading"),
    Rule("enum_contradicted", "the request uses the word of one choice, and another one is expected",
         "the answer contradicts the request's own word", _FIX_ANSWER, "wrong_answer", "reading"),
    Rule("cut_short", "a place is not accepted as the request writes it",
         "the accepted one has another second part, or none", "accept the request's own words, too", "ambiguous",
         "reading"),
    Rule("unmentioned", "nothing in the request says the expected value", "a model can only guess it",
         'say it in the request, accept "", or name a default', "ambiguous"),
    Rule("says_nothing", "a description says nothing", "a model has nothing to choose by", "describe it", "ambiguous"),
    Rule("twin_tools", "two functions cannot be told apart", "same parameters, same description",
         "say what distinguishes them", "ambiguous"),
    Rule("function_fits", "no call is due, yet a function seems to fit",
         "the request uses most words of a function's name and description", _READ, "ambiguous", "reading"),
    # Ground truth of stateful entries.
    Rule("config_unusable", "the initial state cannot be loaded", "the simulators refuse it", "fix the configuration",
         "unpassable"),
    Rule("call_error", "a call of the ground truth ends in an error", "the expected way does not work", _FIX_ANSWER,
         "wrong_answer"),
    Rule("call_unbound", "a call of the ground truth does not fit its function", "its arguments do not bind",
         _FIX_ANSWER, "unpassable"),
    Rule("call_misfit", "a call of the ground truth has an argument that its function's schema forbids",
         "a model is told not to call it so", _FIX_ANSWER, "wrong_answer"),
    Rule("too_early", "a held-out function is expected before it arrives", "a model does not have it yet",
         "move the call to a later turn", "unpassable"),
    Rule("held_out_unused", "a held-out function is never expected", "holding it out changes nothing",
         "hold out a function the entry needs", "ambiguous", "reading"),
    Rule("unreachable", "a literal of the ground truth stands nowhere",
         "neither the requests so far, nor tool documents, nor any tool result so far say it", _FIX_ANSWER,
         "wrong_answer"),
    Rule("altered", "a literal differs from its source by white space or quotes only",
         "an exact copy would not be accepted", _FIX_ANSWER, "wrong_answer"),
    Rule("rearranged", "a text of the ground truth consists of known words in an order that stands nowhere",
         "no request and no result has the words in this order", _READ, "ambiguous", "reading"),
    Rule("unearned", "an adversary passes the entry", "it measures less than it says",
         "expect what only the right calls bring about, in a state that every trial begins anew", "ambiguous"),
    Rule("unplayable", "the entry cannot be played here", "whether an adversary passes it is not known", _READ,
         "ambiguous", "reading"),
    # Agentic entries.
    Rule("answer_nowhere", "the accepted answer stands nowhere",
         "no conversation before the question (memory), no page of the data's own web has it", _FIX_ANSWER,
         "wrong_answer"),
    # Entries against each other.
    Rule("siblings_calls", "variants of one entry expect different calls", "only the order of turns may differ",
         _FIX_SIBLINGS, "wrong_answer"),
    Rule("siblings_state", "variants of one entry start from different states", "the same calls do different things",
         _FIX_SIBLINGS, "ambiguous"),
    Rule("duplicate_differs", "the same request and functions with different answers",
         "whatever a model does, one of them fails", "keep one, or accept both answers", "wrong_answer"),
    Rule("call_or_none", "of two equal requests one wants a call and the other none",
         "whatever a model does, one of them fails", "keep one of them", "wrong_answer"),
    Rule("duplicate", "an entry stands twice", "it counts twice", "take one out", "ambiguous", "reading"),
    # Runs.
    Rule("never_passed", "no run ever passed", "several runs failed it", _READ, "ambiguous", "reading"),
    Rule("consensus", "independent models agree on another answer", "several families gave the same calls, wrong here",
         _READ, "ambiguous", "reading"),
    Rule("negative_discrimination", "better models pass it less often",
         "what is right elsewhere is wrong here: the answer may be", _READ, "ambiguous", "reading"),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.name: rule for rule in _ROWS}


@dataclass(frozen=True, slots=True)
class Defect:
    """``field`` is the place in the entry; ``proof`` lines show it; ``others`` are ids of further affected entries."""

    rule_name: str
    id: str
    message: str
    field: str = ""
    proof: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The kind of defect."""
        return RULES[self.rule_name]

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field else ""
        return f"{self.id}: {self.rule.name}: {self.message}{place}"


def known_issues_toml(defects: Iterable[Defect], dataset: str) -> str:
    """One table an entry and rule, in the form of `pytest_bfcl/dataset/known_issues.toml`; readings are comments.
    ``dataset`` is the version of the entries. The sentences are the rules', without any text of the data.
    """
    lines = ["# Found by `pytest-bfcl validate audit`; review each before it becomes a known issue."]
    told: set[str] = set()
    for defect in defects:
        for entry_id in (defect.id, *defect.others):
            if defect.rule.level == "reading":
                lines.append(f"# to read: {_line(entry_id)}: {defect.rule.title}")
            elif entry_id not in told:
                told.add(entry_id)
                lines += [
                    "",
                    "[[issues]]",
                    f"id = {_quoted(entry_id)}",
                    'modes = ["fc", "prompt"]',
                    f"kind = {_quoted(defect.rule.kind)}",
                    f"why = {_quoted(defect.rule.title + (f' ({defect.field})' if defect.field else ''))}",
                    f"dataset = {_quoted(dataset)}",
                ]
    return "\n".join(lines) + "\n"


def items_csv(fits: Iterable[ItemFit]) -> str:
    """One row an entry: how many judged and passed it, its difficulty and discrimination (logits)."""
    lines = ["id,judged,passed,families_judged,families_passed,difficulty,discrimination,standard_error"]
    for fit in fits:
        counts = f"{fit.judged},{fit.passed},{fit.families_judged},{fit.families_passed}"
        lines.append(f"{_line(fit.id)},{counts},{fit.difficulty:.3f},{fit.discrimination:.3f},{fit.error:.3f}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are valid in TOML."""
    return json.dumps(text, ensure_ascii=True)


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
