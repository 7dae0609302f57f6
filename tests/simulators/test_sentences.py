"""Simulators speak the data set's sentences where it has them; ours are never mixed into the official set's results."""

from __future__ import annotations

import ast
import hashlib
import inspect
from pathlib import Path

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.fetching.texts_extraction import PASSED_ON, PLACES
from pytest_bfcl.simulators import CallExecutor, create_simulator, simulator_class

MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")

OFFICIAL_RESULTS = (4625, "4585b3491dc6091992f73e211ef40d63bb9ee2e002f4442c5d3ceafd3b1720b1")
"""Ground-truth calls of the official multi-turn entries and the SHA-256 of the reference's results, each with a NUL."""


def test_a_given_sentence_replaces_ours() -> None:
    said = create_simulator("MessageAPI", {}, sentences={"send_message.logged_out": "Please log in."})
    assert said.call("send_message", {"receiver_id": "USR002", "message": "x"}) == '{"error": "Please log in."}'


def test_values_are_never_templates() -> None:
    said = create_simulator("TicketAPI", {}, sentences={"get_ticket.unknown": "No ticket {0}."})
    assert said.call("get_ticket", {"ticket_id": "{0.__class__}"}) == '{"error": "No ticket {0.__class__}."}'


def test_missing_arguments_are_worded_as_python_does() -> None:
    said = create_simulator("TicketAPI", {}).call("get_ticket", {})
    assert said == "Error during execution: TicketAPI.get_ticket() missing 1 required positional argument: 'ticket_id'"


def test_every_place_is_spoken_by_a_simulator() -> None:
    rooms = {Path(inspect.getfile(simulator_class(name))).parent for name in PLACES}
    literals = {
        node.value
        for room in rooms
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    ends = tuple(text for text in literals if text[:1] in "._" and "." in text)
    for name, places in PLACES.items():
        for place in [*places, *PASSED_ON.get(name, ())]:
            assert place in literals or place.endswith(ends), f"{name}: nobody says {place}"


def test_the_official_ground_truths_get_the_reference_s_results_to_the_byte(official: DataSet) -> None:
    data = official
    told, calls = hashlib.sha256(), 0
    for category in MULTI_TURN:
        for ref in data.index(category):
            entry = data.load(ref)
            executor = CallExecutor(
                {
                    name: create_simulator(
                        name,
                        entry.initial_config.get(name),
                        long_context=entry.row.long_context,
                        texts=data.texts.long_context,
                        sentences=data.texts.sentences.get(name),
                    )
                    for name in entry.involved_classes
                }
            )
            for call in (call for turn in entry.possible_answer for call in turn):
                told.update(executor.execute(call).encode() + b"\0")
                calls += 1
    assert (calls, told.hexdigest()) == OFFICIAL_RESULTS
