"""Assertions for tests of your own (docs/own_tests.md)."""

from pytest_bfcl.extensions.own.assertions import assert_answer, assert_calls, assert_no_calls, assert_state
from pytest_bfcl.extensions.own.expecting import assert_expect, expect

__all__ = ["assert_answer", "assert_calls", "assert_expect", "assert_no_calls", "assert_state", "expect"]
