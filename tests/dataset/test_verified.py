"""The verified data: corrections as facts over ids, refused on other data, exclusions where nothing is certain."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_bfcl import run
from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.categories import GROUPS, category_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.verified import (
    DIGEST_CHARS,
    Correction,
    IssueKind,
    Kind,
    Verification,
    apply,
    known_issues,
    verification,
)
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.fetching.official import VERSION
from pytest_bfcl.fetching.texts import digest
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.transcript import Mode, Step, Transcript, Turn

KINDS = get_args(Kind)
REPOSITORY = Path(__file__).parents[2]
A = "post(text='b a')"
ANSWER = {"id": "x_0", "ground_truth": [["post(text='b a')", "stop()"]]}
QUESTION = {"id": "x_0", "function": [{"name": "f", "enum": ["a"]}]}


def _correction(field: str, value: Any, **change: Any) -> Correction:
    was = digest(value)[:DIGEST_CHARS]
    return Correction("x_0", "wrong_answer", field, was, "why", "proof", **change)


@pytest.mark.parametrize(
    ("field", "change", "truth"),
    [
        ("answer/ground_truth/0/0", {"replace": ("b a", "a b")}, [["post(text='a b')", "stop()"]]),
        ("answer/ground_truth/0/1", {"remove": True}, [["post(text='b a')"]]),
        ("answer/ground_truth/0/0", {"to": "go()"}, [["go()", "stop()"]]),
        ("answer/ground_truth/0", {"add": ["go()", ""]}, [["post(text='b a')", "stop()", "go()", ""]]),
        (
            "answer/ground_truth",
            {"reordered": [1, 0]},
            [["post(text='b a')", "stop()"], ["stop()", "post(text='b a')"]],
        ),
    ],
)
def test_each_kind_of_change(field: str, change: dict[str, Any], truth: list[list[str]]) -> None:
    value: Any = {"answer": ANSWER}
    for part in field.split("/"):
        value = value[int(part)] if part.isdecimal() else value[part]
    listed = Verification({"x_0": (_correction(field, value, **change),)}, {})
    question, answer = listed.corrected("x_0", QUESTION, ANSWER)
    assert answer is not None
    assert answer["ground_truth"] == truth
    assert ANSWER["ground_truth"] == [["post(text='b a')", "stop()"]]
    assert question == QUESTION


def test_a_correction_written_for_other_data_is_refused() -> None:
    change = _correction("answer/ground_truth/0/0", "something else", to="go()")
    with pytest.raises(HarnessError, match="x_0: the correction of answer/ground_truth/0/0 was written for other data"):
        apply(change, {"question": {}, "answer": json.loads(json.dumps(ANSWER))})
    missing = _correction("answer/ground_truth/7/0", "", to="go()")
    with pytest.raises(HarnessError, match="the field is not there"):
        apply(missing, {"question": {}, "answer": ANSWER})


def test_changes_of_the_question_are_left_out_where_only_the_answer_may_change() -> None:
    change = _correction("question/function/0/enum", ["a"], add=["b"])
    listed = Verification({"x_0": (change,)}, {})
    assert listed.corrected("x_0", QUESTION, ANSWER, answers_only=True) == (QUESTION, ANSWER)
    assert listed.corrected("x_0", QUESTION, ANSWER)[0]["function"][0]["enum"] == ["a", "b"]


def test_the_list_names_every_change_once_with_reason_and_evidence() -> None:
    listed = verification(VERSION)
    changes = [change for rows in listed.corrections.values() for change in rows]
    assert len({(change.id, change.field) for change in changes}) == len(changes)
    assert not set(listed.corrections) & set(listed.exclusions)
    for row in [*changes, *listed.exclusions.values()]:
        assert row.reason
        assert row.evidence
    assert all(listed.kept.values())
    assert not listed.ids & set(listed.kept)
    assert verification("1999.1.1").ids == frozenset()


def test_what_is_accepted_besides_stands_beside_what_was_accepted() -> None:
    """`narrow` answers stay right: the list says what is right, too."""
    for changes in verification(VERSION).corrections.values():
        for change in changes:
            if change.kind == "narrow":
                assert change.add or change.reordered or change.id == "simple_javascript_13", change.id


def test_the_counts_of_the_page_are_those_of_the_list() -> None:
    listed = verification(VERSION)
    first = [Counter(changes[0].kind for changes in listed.corrections.values()),
             Counter(row.kind for row in listed.exclusions.values())]  # fmt: skip
    page = (REPOSITORY / "docs/verified.md").read_text(encoding="utf-8")
    for kind in KINDS:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{kind}` |"))
        assert [int(cell) for cell in row.split("|")[3:5]] == [counts[kind] for counts in first], kind
    assert f"{len(listed.corrections)} corrected, {len(listed.exclusions)} excluded, {len(listed.kept)} kept" in page


def test_every_seldom_passed_entry_is_judged(golden_dir: Path) -> None:
    listed = verification(VERSION)
    lines = gzip.decompress((golden_dir / "consensus/seldom_passed.jsonl.gz").read_bytes()).splitlines()
    ids = {json.loads(line)["id"] for line in lines}
    assert len(ids) == 158
    assert ids <= listed.ids | set(listed.kept)
    assert set(listed.kept) <= ids


@pytest.fixture(scope="module")
def verified(official: Any) -> Any:
    return open_data("verified")


def test_every_correction_fits_the_official_data(official: Any, verified: Any) -> None:
    listed = verification(official.version)
    assert listed.ids
    for entry_id in listed.corrections:
        before, after = official.entry(entry_id), verified.entry(entry_id)
        assert before != after, entry_id
        if all(change.of_answer for change in listed.corrections[entry_id]):
            assert before.verified.possible_answer == after.possible_answer
            assert before.question == after.question


def test_excluded_entries_are_not_in_the_verified_data(official: Any, verified: Any) -> None:
    listed = verification(official.version)
    for entry_id in listed.exclusions:
        assert official.entry(entry_id).verified == "excluded"
        assert verified.find(entry_id) is None, entry_id
    sizes = [sum(len(data.index(name)) for name in data.categories() if name != "format_sensitivity")
             for data in (official, verified)]  # fmt: skip
    assert sizes[0] - sizes[1] == len(listed.exclusions)


def test_the_verified_data_has_a_name_version_and_digest_of_its_own(official: Any, verified: Any) -> None:
    assert (verified.name, verified.official, verified.verified) == ("verified", True, True)
    assert verified.version.startswith(f"{official.version}+verified.")
    assert verified.sha256 != official.sha256


MODES = ("fc", "prompt")


@pytest.mark.parametrize("mode", MODES)
def test_the_corrected_ground_truth_passes_and_the_old_one_fails_where_it_should(
    mode: str, official: Any, verified: Any
) -> None:
    listed = verification(VERSION)
    ids = sorted(listed.corrections)
    after = {line["id"]: line for line in run([verified.entry(name) for name in ids], f"oracle:@{mode}").records}
    rules = {issue.id for issue in known_issues(VERSION) if issue.kind == "unpassable"}  # Java arrays, official rules
    failed = [name for name in ids if after[name]["outcome"] != "passed"]
    assert [name for name in failed if name not in rules or after[name]["corrected_outcome"] != "passed"] == []
    before = {line["id"]: line for line in run([official.entry(name) for name in ids], f"oracle:@{mode}").records}
    wrong = [
        name
        for name in ids
        if any(c.of_answer and c.kind == "wrong_answer" and not c.remove for c in listed.corrections[name])
    ]
    still = [name for name in wrong if before[name].get("verified_outcome") != "failed"]
    assert still == [], [(name, before[name]["outcome"]) for name in still]


def test_lines_of_excluded_entries_say_so_and_no_official_figure_changes(official: Any) -> None:
    excluded = next(name for name in sorted(verification(VERSION).exclusions) if name.startswith("multi_turn_base"))
    result = run([official.entry(name) for name in (excluded, "multi_turn_base_0", "multi_turn_base_4")], "oracle:")
    lines = {line["id"]: line for line in result.records}
    assert lines[excluded]["verified_outcome"] == "excluded"
    assert "verified_outcome" not in lines["multi_turn_base_0"]
    (model,) = result.summary["models"].values()
    found = model["categories"]["multi_turn_base"]
    assert (found["accuracy"], found["verified_accuracy"], found["reviewed"]) == (1.0, 0.5, 2)


def _told(entry: Any, turns: list[list[str]]) -> dict[str, Any]:
    """The verdicts on a conversation with one step a turn."""
    calls = [[turn] if turn else [] for turn in turns]
    transcript = transcript_from_line({"id": entry.id, "category": entry.category, "trajectory": calls})
    return {"official": judge(entry, transcript), "verified": judge(entry.verified, transcript)}


VARIANTS = ("base", "miss_func", "miss_param", "long_context")
CHANGED: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    # What the request does not ask for is left out: a look at the account, a priority nobody named, a dropped price.
    "account": ("121", r"get_account_info\(\)", "", VARIANTS),
    "priority": ("178", r"priority=4, ", "", VARIANTS),
    "price": ("198", r"get_flight_cost.*", "", VARIANTS),
    # A quoted message is expected as it is quoted, which the base variant does.
    "quoted": ("143", r"(.*)\$.*", "{base}", VARIANTS[1:]),
}
"""Entry, what of its ground truth is replaced with what, variants: it fails officially and passes on verified data."""


@pytest.mark.parametrize(
    ("name", "variant"), [(name, each) for name, (_, _, _, variants) in CHANGED.items() for each in variants]
)
def test_what_is_right_by_the_request_passes_on_verified_data(name: str, variant: str, official: Any) -> None:
    number, pattern, to, _ = CHANGED[name]
    entry = official.entry(f"multi_turn_{variant}_{number}")
    base = official.entry(f"multi_turn_base_{number}").possible_answer
    if to:
        to = next(call for turn in base for call in map(str, turn) if "$" in call).replace("\\", r"\\")
    truth = [[str(call) for call in turn] for turn in entry.possible_answer]
    said = [[text for text in (re.sub(f"^{pattern}$" if pattern[-1] == "*" else pattern, to, call) for call in turn)
             if text] for turn in truth]  # fmt: skip
    assert said != truth
    found = _told(entry, said)
    assert (found["official"].valid, found["verified"].valid) == (False, True)


def failing(data: DataSet, mode: Mode, *names: str) -> set[str]:
    """The entries of these categories and of all that one reply answers which the oracle does not pass."""
    found = set()
    for name in (*GROUPS["single_turn"], *GROUPS["agentic"], *names):
        for entry in map(data.load, data.index(name)):
            turns = [Turn([], [Step(answer(entry, mode))])]
            spoken = Transcript(entry.id, name, "oracle", mode, turns=turns, underscore_names=mode == "fc")
            if not judge(entry, spoken).valid:
                found.add(entry.id)
    return found


def unpassable(mode: Mode) -> set[str]:
    """What the official rules cannot pass, as listed; of retired categories: tests/extensions/retired."""
    issues = [issue for issue in known_issues(VERSION) if issue.kind == "unpassable" and mode in issue.modes]
    return {issue.id for issue in issues if category_of(issue.id) not in GROUPS["retired"]}


@pytest.mark.slow  # both whole sets
@pytest.mark.parametrize("mode", get_args(Mode))
def test_unpassable_is_what_the_oracle_cannot_pass(official: DataSet, verified: DataSet, mode: Mode) -> None:
    """Contract §8: equality, per mode, so that a new data version forces an update of the list; the verified data
    leave only what is wrong with the official checking rules (Java arrays), not with data.
    """
    listed = unpassable(mode)
    assert failing(official, mode, *(["format_sensitivity"] if mode == "prompt" else [])) == listed
    failed = failing(verified, mode)
    assert failed == {name for name in listed if verified.find(name) and name.startswith("simple_java")}
    assert len(failed) <= 12


@pytest.mark.slow  # the whole set
def test_every_ground_truth_of_verified_conversations_passes(verified: Any) -> None:
    failed, count = [], 0
    for name in GROUPS["multi_turn"]:
        for entry in map(verified.load, verified.index(name)):
            calls = [[list(turn)] if turn else [] for turn in entry.possible_answer]
            line = {"id": entry.id, "category": name, "trajectory": calls}
            count += 1
            if not judge(entry, transcript_from_line(line)).valid:
                failed.append(entry.id)
    assert failed == []
    assert count > 750


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
