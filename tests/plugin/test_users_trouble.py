"""What is wrong in the user's own code is told with its place; our frames stay out of it."""

from __future__ import annotations

import pytest

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.places import fixture_error
from pytest_bfcl.session.users_model import AT_START, LATER, UsersModelTrouble


def test_a_users_error_has_file_and_line() -> None:
    try:
        raise KeyError("contents")
    except KeyError as error:
        trouble = fixture_error(error)
    assert trouble is not None
    assert "the model fixture raised KeyError: 'contents' (" in trouble.message
    assert "test_users_trouble.py:14, in test_a_users_error_has_file_and_line" in trouble.advice


def test_failures_alike_stop_early_at_first_and_late_afterwards() -> None:
    def failures(answered: bool) -> int:
        counter = UsersModelTrouble()
        if answered:
            counter.answered()
        for number in range(100):
            counter.failed(AdapterError("fixture", f"raised KeyError: {number}"))
            if counter.reason is not None:
                return number + 1
        return 0

    assert (failures(False), failures(True)) == (AT_START, LATER)
    mixed = UsersModelTrouble()
    for number in range(100):
        mixed.failed(AdapterError("fixture", "one" if number % 2 else "another"))
    assert mixed.reason is None


def test_assertions_hide_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_bfcl.extensions.own_tests.assertions import assert_calls

        TOOL = {"name": "greet", "description": "Greets.", "parameters": {
            "type": "dict", "properties": {"name": {"type": "string", "description": "Who."}}, "required": ["name"]}}

        def test_greeting():
            assert_calls([{"name": "greet", "arguments": {"name": "Bob"}}], [TOOL], expected={"greet": {"name": "Ann"}})
        """
    )
    result = pytester.runpytest("-p", "no:asyncio")
    result.assert_outcomes(failed=1)
    assert "assertions.py" not in result.stdout.str()
    assert "value_error" in result.stdout.str()
