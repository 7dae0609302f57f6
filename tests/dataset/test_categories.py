"""The category an id tells."""

from __future__ import annotations

import pytest

from pytest_bfcl.dataset.categories import category_of, present_id


@pytest.mark.parametrize(
    ("entry_id", "category"),
    [
        ("simple_python_0", "simple_python"),
        ("live_multiple_12-3-4", "live_multiple"),
        ("memory_kv_prereq_3-customer-1", "memory_kv_prereq"),
        ("format_sensitivity_7:plaintext:simple_python_1", "format_sensitivity"),
        ("irrelevance_ace_0", "irrelevance"),
        ("parallel_multiple_ace_0", "parallel_multiple"),
        ("live_irrelevance-mine", "live_irrelevance"),
        ("multi_turn_base.tax.3", "multi_turn_base"),
        ("multi_turn_miss_func", "multi_turn_miss_func"),
        ("irrelevances_ace_0", "irrelevances_ace"),
        ("multi_turn_base2_0", "multi_turn_base2"),
        ("my_irrelevance_0", "my_irrelevance"),
        ("plain", ""),
    ],
)
def test_the_longest_category_an_id_begins_with(entry_id: str, category: str) -> None:
    assert category_of(entry_id) == category


@pytest.mark.parametrize(
    ("given", "said", "now"),
    [
        ("executable_parallel_function_3", "executable_parallel_function", "exec_parallel_3"),
        ("exec_parallel_3", "exec_parallel", "exec_parallel_3"),
        ("other_3", "executable_parallel_function", "other_3"),
        ("parallel_3", "parallel", "parallel_3"),
    ],
)
def test_ids_of_earlier_releases_have_the_names_of_now(given: str, said: str, now: str) -> None:
    assert present_id(given, said) == now
