"""The memory backends: limits, quirks, prompts, snapshots, hostile arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.simulators import CallExecutor, create_simulator
from tests.simulators.trace_comparison import Dummy


def make(backend: str, snapshot: Any = None) -> Any:
    return create_simulator(f"MemoryAPI_{backend}", snapshot=snapshot, encoder=Dummy())


@pytest.mark.parametrize("key", ["a", "ab_1", "a_b_c", "a_1b", "a\n"])
def test_keys(key: str) -> None:
    assert "status" in make("kv").invoke("core_memory_add", (key, "x"))


@pytest.mark.parametrize("key", ["", "a1", "A", "_a", "a_", "a__b", "a b", "1", 5, None, "é", "a\n\n"])
def test_what_is_no_key(key: Any) -> None:
    kv = make("kv")
    assert "is no key" in kv.invoke("core_memory_add", (key, "x"))["error"]
    assert kv.core_memory == {}


def test_key_search() -> None:
    kv = make("kv")
    with pytest.raises(ZeroDivisionError):
        kv.invoke("core_memory_key_search", ("user",))
    kv.invoke("core_memory_add", ("user_name", "Ann"))
    kv.invoke("core_memory_add", ("home_city", "Rome"))
    found = kv.invoke("core_memory_key_search", ("User_Name",))["ranked_results"]
    assert [(round(score, 6), key) for score, key in found] == [(4.394449, "user_name"), (2.197225, "home_city")]
    assert kv.invoke("core_memory_key_search", ("name", 0)) == {"ranked_results": []}
    assert len(kv.invoke("core_memory_key_search", ("name", -1))["ranked_results"]) == 1
    assert json.loads(kv.call("core_memory_key_search", {"query": "x"}))["ranked_results"][0] == [0.0, "user_name"]


def test_vector_retrieval() -> None:
    vector = make("vector")
    assert vector.invoke("core_memory_retrieve", ("x", 0)) == {"result": []}
    for text in ("one", "two", "one"):
        vector.invoke("core_memory_add", (text,))
    rows = vector.invoke("core_memory_retrieve", ("one", 10))["result"]
    assert [row["id"] for row in rows if row["text"] == "one"] == [2, 0], "of equal scores the later is listed first"
    kept = vector.invoke("core_memory_retrieve", (rows[0]["text"], 1))["result"]
    assert list(kept[0]) == ["id", "similarity_score", "text"]
    for bad in (("x", 0), ("x", -1), (7, 1), (None,)):
        with pytest.raises((ValueError, TypeError)):
            vector.invoke("core_memory_retrieve", bad)
    with pytest.raises(TypeError):
        vector.invoke("core_memory_add", (["not", "text"],))


def test_replacing_in_the_running_text() -> None:
    memory = make("rec_sum", {"memory": "abab"})
    assert "status" in memory.invoke("memory_replace", ("ab", "c"))
    assert memory.memory == "cc"
    memory.invoke("memory_replace", ("", "-"))
    assert memory.memory == "-c-c-"
    assert "error" in memory.invoke("memory_replace", ("x", "y"))
    assert "error" in memory.invoke("memory_replace", ("c", "x" * 10_001))
    memory.invoke("memory_replace", ("c", "x" * 9_000))
    assert len(memory.memory) == 18_003, "the result's length is not checked"
    assert "error" in memory.invoke("memory_append", ("",))


def test_replacing_cannot_fill_the_machine() -> None:
    memory = make("rec_sum", {"memory": "a" * 10_000})
    text = memory.call("memory_replace", {"old_text": "a", "new_text": "a" * 10_000})
    assert "100,000,000 characters" in text
    assert len(memory.memory) == 10_000
    for _ in range(50):
        memory.call("memory_replace", {"old_text": "", "new_text": "a" * 10_000})
    assert len(memory.memory) <= 4_000_000


@pytest.mark.parametrize("backend", ["kv", "vector", "rec_sum"])
def test_snapshots_are_copies_that_load_again(backend: str) -> None:
    memory = make(backend)
    calls = CallExecutor({"memory": memory})
    if backend == "rec_sum":
        calls.execute("memory_append(text='likes tea')")
    else:
        argument = "text='likes tea'" if backend == "vector" else "key='tea', value='likes tea'"
        calls.execute(f"core_memory_add({argument})")
        calls.execute(f"archival_memory_add({argument})")
    stored = json.loads(json.dumps(memory.snapshot()))
    assert make(backend, stored).snapshot() == stored
    calls.execute("memory_clear()" if backend == "rec_sum" else "core_memory_clear()")
    assert memory.snapshot() != stored
    assert memory.call("no_such_tool").startswith("Error during execution")
