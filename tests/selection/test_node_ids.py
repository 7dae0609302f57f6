"""What node ids and ``-m`` expressions ask for."""

from __future__ import annotations

from pytest_bfcl.selection.node_ids import mentioned, stripes, virtual_argument


def test_stripes_deal_everything_once_and_keep_scenarios_whole() -> None:
    nodeids = [f"bfcl/simple_python.jsonl::simple_python_{number}" for number in range(11)]
    nodeids += [f"bfcl/memory_kv_prereq.jsonl::memory_kv_prereq_{n}-student-{n}" for n in range(3)]
    nodeids += [f"bfcl/memory_kv.jsonl::memory_kv_{n}-student-{n}" for n in range(5)]
    nodeids += [f"bfcl/memory_kv.jsonl::memory_kv_{n}-finance-{n}" for n in range(5, 9)]
    dealt = stripes(nodeids, 3)
    assert sorted(position for stripe in dealt for unit in stripe for position in unit) == list(range(len(nodeids)))
    units = [unit for stripe in dealt for unit in stripe if len(unit) > 1]
    assert sorted(map(len, units)) == [4, 8]
    assert units[0] == sorted(units[0])
    assert stripes(nodeids, 3) == dealt


def test_mark_expressions_and_arguments() -> None:
    assert mentioned("not format_sensitivity and (live or sql)") == ["live", "sql"]
    assert virtual_argument("../x/bfcl/live_simple.jsonl::a[b:c]") == ("live_simple", "a[b:c]")
    assert virtual_argument("bfcl/live_simple.json") is None
