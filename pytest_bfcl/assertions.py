"""Assertions for tests of your own (docs/own_tests.md)."""

from pytest_bfcl.extensions.own.assertions import assert_answer, assert_calls, assert_no_calls, assert_state

__all__ = ["assert_answer", "assert_calls", "assert_no_calls", "assert_state"]
