"""Multi-turn verdicts on a simulator of our own: every error type, quiet turns, the step limit, independence."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.checkers import judge, judge_both
from pytest_bfcl.checkers.json_calls import as_json, is_accepted
from pytest_bfcl.checkers.reasons import rule_of
from pytest_bfcl.checkers.state import SHOWN_RESULTS, state_difference
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.simulators import Simulator, register_simulator, tool
from pytest_bfcl.simulators.file_tree import Directory, File
from pytest_bfcl.transcript import CALLS_A_STEP
from tests.checkers.building import conversation


@register_simulator
class PantryForTests(Simulator):
    """A pantry."""

    name = "PantryForTests"

    def load(self, config: dict[str, Any], *, long_context: bool = False, **context: Any) -> None:
        self.shelves: dict[str, list[str]] = config.get("shelves", {})
        self._visits = 0

    @tool(writes=True)
    def put(self, shelf: str, item: str) -> dict[str, Any]:
        """Put an item on a shelf."""
        self.shelves.setdefault(shelf, []).append(item)
        return {"stored": item}

    @tool(writes=False)
    def look(self, shelf: str) -> list[str]:
        """Look at a shelf."""
        self._visits += 1
        return list(self.shelves.get(shelf, []))


def pantry(truth: list[list[str]], category: str = "multi_turn_base", **values: Any) -> Entry:
    question = [[{"role": "user", "content": f"Words of turn {n}."}] for n in range(len(truth))]
    return Entry.model_validate(
        {
            "id": "pantry_0",
            "category": category,
            "question": question,
            "function": PantryForTests.documents(),
            "possible_answer": truth,
            "initial_config": {"PantryForTests": {"shelves": {"top": ["jam"]}}},
            "involved_classes": ["PantryForTests"],
            **values,
        }
    )


PUT = "put(shelf='top', item='tea')"
LOOK = "look(shelf='top')"


@pytest.mark.parametrize(
    ("wanted", "called", "shown"),
    [
        ("tea", 5, ("tea", 5)),
        (["tea"], "tea", (["tea"], "tea")),
        ("tea", ["tea"], ("tea", ["tea"])),
        ({"a": 1}, 5, ({"a": 1}, 5)),
        (5, {"a": 1}, (5, {"a": 1})),
        ("x" * 300, 5, ("x" * 300, 5)),
        ("x" * 301, 5, ("x" * 300 + "…", 5)),
        ("tea", "x" * 500, ("tea", "x" * 299 + "…")),
        ("x" * 500 + "a", "x" * 500 + "b", ("…" + "x" * 100 + "a", "…" + "x" * 100 + "b")),
    ],
)
def test_long_texts_are_shown_where_they_differ(wanted: Any, called: Any, shown: tuple[Any, Any]) -> None:
    found = state_difference({"note": called}, {"note": wanted})
    assert tuple(found["note"][side] for side in ("expected", "called")) == shown


@pytest.mark.parametrize("kind", [list, dict])
def test_a_difference_is_looked_for_to_some_depth(kind: type) -> None:
    def nested(depth: int, leaf: Any) -> Any:
        for _ in range(depth):
            leaf = [leaf] if kind is list else {"k": leaf}
        return leaf

    step = "[0]" if kind is list else ".k"
    for more in (0, 1):
        found = state_difference({"a": nested(12 + more, 2)}, {"a": nested(12 + more, 1)})
        assert found == {f"a{step * 12}": {"expected": nested(more, 1), "called": nested(more, 2)}}
    assert [*state_difference({"a": nested(5_000, 2)}, {"a": nested(5_000, 1)})] == [f"a{step * 12}"]


def test_a_difference_shows_some_of_many_attributes() -> None:
    for count in (12, 12 + 1):
        wanted = {f"a{number}": number for number in range(count)}
        found = state_difference({}, wanted)
        assert len(found) == count
        assert ("…" in found) is (count > 12)
    assert found["…"].startswith(f"{count} attributes differ: a0, a1, ")


def test_a_difference_inside_of_objects_is_found_whatever_holds_them() -> None:
    def tree(content: str, parent: Directory) -> Directory:
        return Directory("r", parent, {"f": File("f", content), "g": File("g")})

    found = state_difference({"root": tree("b", Directory("p"))}, {"root": tree("a", Directory("q"))})
    assert found == {"root.contents.f.content": {"expected": "a", "called": "b"}}


def test_hostile_calls_are_results_not_crashes() -> None:
    hostile = ["__import__('os').system('true')", "(" * 500, "look(", "look(shelf=open('x'))", "9**9**9", "\x00"]
    both = judge_both(pantry([[LOOK]]), conversation([[hostile, [LOOK]]]))
    assert both.official.valid


def test_results_that_tell_why_are_shown_within_bounds() -> None:
    shown = judge(pantry([[PUT]]), conversation([[[LOOK, *["look()"] * (SHOWN_RESULTS + 2)]]])).detail["results"]
    assert list(shown) == [str(number) for number in range(1, SHOWN_RESULTS + 1)]
    assert all("error" in result.lower() for result in shown.values())


@pytest.mark.parametrize("truth", [None, "look()", [LOOK], [[LOOK], LOOK], {}])
def test_a_ground_truth_of_another_shape_is_ours(truth: Any) -> None:
    judged = pantry([[LOOK]]).model_copy(update={"possible_answer": truth})
    assert judge(judged, conversation([[[LOOK]]])).reason == "harness:data"


@pytest.mark.parametrize(
    ("category", "truth", "turns", "corrected", "more"),
    [
        ("multi_turn_miss_param", [[], [LOOK]], [[[LOOK]], [[LOOK]]], False, {}),
        ("multi_turn_miss_param", [[], [LOOK], []], [["Which shelf?"], [[LOOK]], [[LOOK]]], True, {}),
        ("multi_turn_miss_param", [[], [LOOK], []], [["Which shelf?"], [[LOOK]], [[PUT]]], False, {}),
        ("multi_turn_base", [[LOOK], []], [[[LOOK]], [[LOOK]]], True, {}),
        ("multi_turn_base", [[LOOK], []], [[[LOOK]], [[PUT]]], False, {}),
        ("multi_turn_base", [[LOOK], []], [[[LOOK]], [["no_such_tool()"]]], False, {}),
        ("multi_turn_miss_func", [[LOOK], [], [LOOK]], [[[LOOK]], [[LOOK]], [[LOOK]]], False,
         {"missed_function": {2: [{"name": "look"}]}}),
        ("multi_turn_miss_func", [[], [LOOK], [LOOK]], [[[LOOK]], [[LOOK]], [[LOOK]]], True,
         {"missed_function": {2: [{"name": "look"}]}}),
    ],
)  # fmt: skip
def test_c17_quiet_turns(
    category: str, truth: list[list[str]], turns: list[list[Any]], corrected: bool, more: dict[str, Any]
) -> None:
    both = judge_both(pantry(truth, category, **more), conversation(turns, category))
    assert both.official.valid
    assert both.corrected.valid is corrected
    if not corrected:
        assert both.corrected.reason == "multi_turn:irrelevance_error:decoder_success"
        assert both.corrected_rules == ("C17",)


def test_inference_error_is_an_error() -> None:
    verdict = judge(pantry([[LOOK]]), conversation([], inference_error="Error during inference: 503"))
    assert (verdict.outcome, verdict.reason) == ("error", "multi_turn:inference_error")


def test_more_calls_in_a_step_than_are_carried_out_end_the_conversation() -> None:
    """Right at the limit it is judged as ever, one beyond it is the model's mistake under both rule sets."""
    entry = pantry([[LOOK]])
    assert judge(entry, conversation([[[LOOK] * CALLS_A_STEP]])).valid
    both = judge_both(entry, conversation([[[LOOK] * (CALLS_A_STEP + 1)]]))
    for verdict in (both.official, both.corrected):
        assert (verdict.outcome, verdict.reason) == ("failed", "multi_turn:force_terminated")


@pytest.mark.parametrize(
    ("value", "accepted", "fits"),
    [
        ({"b": 1, "a": "New York"}, {"a": "new-york", "b": 1}, True), ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, "X"], [1, "x"], True), ([1], [1, 2], False), (True, 1, False), (1, True, False), (1.0, 1, True),
    ],
)  # fmt: skip
def test_values_are_equal_as_json(value: object, accepted: object, fits: bool) -> None:
    assert is_accepted(value, [accepted]) is fits
    assert as_json({"a": (1, {2: (value,)})}) == {"a": [1, {"2": [value]}]}


def test_the_rule_of_an_unknown_reason_is_what_its_line_says() -> None:
    assert rule_of("no:such_reason", {"rule": "told"}) == "told"
    assert rule_of("no:such_reason", {"rule": 7}) == ""
    assert rule_of(None, {}) == ""
