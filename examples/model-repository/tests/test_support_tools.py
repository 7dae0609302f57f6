"""Behaviour that must never break, at any score: ordinary tests with the benchmark's assertions."""

from pytest_bfcl import assert_calls, assert_no_calls

CANCEL = {
    "name": "cancel_booking",
    "description": "Cancel a booking.",
    "parameters": {
        "type": "dict",
        "properties": {"booking_id": {"type": "integer", "description": "Number of the booking."}},
        "required": ["booking_id"],
    },
}


def test_a_plain_cancellation_is_carried_out(ask):
    reply = ask("Cancel booking 310.", [CANCEL])
    assert_calls(reply, [CANCEL], expected=[{"cancel_booking": {"booking_id": 310}}])


def test_small_talk_cancels_nothing(ask):
    assert_no_calls(ask("Thanks, have a nice day!", [CANCEL]), [CANCEL])
