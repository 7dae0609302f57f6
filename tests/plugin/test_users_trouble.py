"""What is wrong in the user's own code is told with its place; our frames stay out of it."""

from __future__ import annotations

import pytest

from pytest_bfcl.models.callable import fixture_error


def test_a_users_error_has_file_and_line() -> None:
    try:
        raise KeyError("contents")
    except KeyError as error:
        trouble = fixture_error(error)
    assert trouble is not None
    assert "the model fixture raised KeyError: 'contents' (" in trouble.message
    assert "test_users_trouble.py:12, in test_a_users_error_has_file_and_line" in trouble.advice


def test_assertions_hide_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_bfcl.extensions.own.assertions import assert_calls

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
