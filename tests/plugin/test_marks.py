"""Marks without a model: told when asked for, free to use otherwise."""

from __future__ import annotations

import pytest


def test_markers_lists_ours_without_a_model(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--markers")
    result.stdout.fnmatch_lines(
        ["@pytest.mark.live: *the group live", "@pytest.mark.simple_java: *", "@pytest.mark.wire: *"]
    )


def test_their_names_stay_free_without_a_model(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfigure("--strict-markers")
    assert not [line for line in config.getini("markers") if line.startswith(("live:", "wire:"))]
