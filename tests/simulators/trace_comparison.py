"""Comparison of a simulator with a recorded call sequence of the reference (simulators spec §12).

Everything must be equal: error or not and which kind, keys and their order, types, numbers, ids, echoed arguments,
final state. Only wording is free: texts at the places listed in `WORDING` are compared by "which texts are equal to
which" over all sequences that share a `Wording`, so a text that echoes too much or too little shows up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.simulators import Simulator, create_simulator, serialise
from pytest_bfcl.simulators.execution import BUILT_IN

WORDING: Mapping[str, frozenset[str]] = {
    "GorillaFileSystem": frozenset({"result"}),
    "MathAPI": frozenset(),
    "MessageAPI": frozenset({"message"}),
    "TwitterAPI": frozenset({"retweet_status", "comment_status", "mention_status"}),
    "TicketAPI": frozenset({"close_ticket.status", "resolve_ticket.status", "edit_ticket.status"}),
    "TradingBot": frozenset(
        {
            "trading_login.status",
            "trading_logout.status",
            "withdraw_funds.status",
            "fund_account.status",
            "remove_stock_from_watchlist.status",
            "notification",
        }
    ),
    "TravelAPI": frozenset({"customer_support_message", "verification_failure"}),
    "VehicleControlAPI": frozenset(),
    "MemoryAPI_kv": frozenset({"status"}),
    "MemoryAPI_vector": frozenset({"status"}),
    "MemoryAPI_rec_sum": frozenset({"status"}),
    "WebSearchAPI": frozenset(),
}
"""Class → top-level result keys (``key`` or ``method.key``) whose texts are free wording."""


class Wording:
    """A one-to-one correspondence between recorded texts and ours, per place."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, str], str] = {}
        self._theirs: dict[tuple[str, str], str] = {}

    def problem(self, place: str, expected: str, actual: str) -> str | None:
        """Why these two texts cannot correspond, or ``None``."""
        ours = self._ours.setdefault((place, expected), actual)
        theirs = self._theirs.setdefault((place, actual), expected)
        if ours != actual:
            return f"two texts of ours ({ours!r}, {actual!r}) where the recording has one ({expected!r})"
        if theirs != expected:
            return f"one text of ours ({actual!r}) where the recording has two ({theirs!r}, {expected!r})"
        return None


def read_traces(path: Path, class_name: str) -> list[dict[str, Any]]:
    """The recorded sequences of one class."""
    mark = f'"class": "{class_name}"'
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if mark in line[:100]]


def encode(value: Any) -> Any:
    """A raw result or state in the recording's encoding (golden encoding of simulators spec §12)."""
    kind = type(value).__name__
    if kind == "Directory":
        return {"__dir__": value.name, "contents": {name: encode(node) for name, node in value.contents.items()}}
    if kind == "File":
        return {"__file__": value.name, "content": value.content}
    if isinstance(value, (set, frozenset)):
        return {"__set__": sorted(encode(item) for item in value)}
    if kind in ("mpf", "mpc", "Decimal", "complex", "ellipsis"):
        return {"__repr__": repr(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if value is not None and not isinstance(value, (str, int, float, bool)):
        return {"next_id": encode(value.next_id), "store": encode(value.store)}
    return value


def digest(encoded: Any) -> tuple[str, int]:
    """SHA-256 and length of the compact key-sorted ASCII JSON."""
    text = json.dumps(encoded, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest(), len(text)


def differences(line: Mapping[str, Any], simulator: Simulator, wording: Wording) -> Iterator[str]:
    """Replay a recorded sequence on a freshly loaded simulator; one text per difference."""
    comparison = _Comparison(line, wording)
    for number, call in enumerate(line["calls"]):
        where = f"call {number} {call['method']}({call['kwargs']})"
        try:
            result: Any = simulator.invoke(call["method"], (), call["kwargs"])
            serialise(result)
        except Exception as error:
            yield from (f"{where}: {problem}" for problem in comparison.raised(call, error))
            continue
        yield from (f"{where}: {problem}" for problem in comparison.returned(call, encode(result)))
    yield from (f"final state: {problem}" for problem in comparison.state(encode(simulator.public_state())))


class _Comparison:
    def __init__(self, line: Mapping[str, Any], wording: Wording) -> None:
        self.line = line
        self.free = WORDING[line["class"]]
        self.wording = wording
        self.unread = {"mentions"} if line.get("shared_default_leak") else set()
        # Default texts of the messenger are ours: free where the configuration brings no inbox and nobody sent them.
        self.default_inbox = line["class"] == "MessageAPI" and "inbox" not in line["initial_config"]
        self.sent = {str(call["kwargs"].get("message")) for call in line["calls"]}

    def raised(self, call: Mapping[str, Any], error: Exception) -> Iterator[str]:
        if call.get("error_kind") != "exception":
            yield f"raised {error!r}, recorded {call.get('error_kind') or call.get('result')}"
        elif call["exception"] not in {base.__name__ for base in type(error).__mro__}:
            yield f"raised {type(error).__name__}, recorded {call['exception']}"

    def returned(self, call: Mapping[str, Any], result: Any) -> Iterator[str]:
        kind = _error_kind(call["method"], result)
        if kind != call.get("error_kind"):
            yield f"error kind {kind}, recorded {call.get('error_kind')}: {str(result)[:300]}"
            return
        keys = sorted(result) if isinstance(result, dict) else None
        if keys != call["result_keys"]:
            yield f"keys {keys}, recorded {call['result_keys']}"
        elif "result" in call:
            yield from self._leaves(call["result"], result, call["method"], ())
        elif "result_sha256" in call and not self._has_wording(call["method"], result):
            ours = digest(result)
            if ours != (call["result_sha256"], call["result_json_len"]):
                yield f"digest of {ours[1]} characters, recorded {call['result_json_len']}: {str(result)[:200]}"

    def state(self, state: Any) -> Iterator[str]:
        if "final_state" in self.line:
            yield from self._leaves(self.line["final_state"], state, "state", (), ordered=False)
            return
        ours, recorded = digest(state), (self.line["final_state_sha256"], self.line["final_state_json_len"])
        if ours != recorded and not self.default_inbox:
            yield f"digest of {ours[1]} characters, recorded {recorded[1]}"

    def _has_wording(self, method: str, result: Any) -> bool:
        return isinstance(result, dict) and any(self._is_wording(method, (key,)) for key in result)

    def _is_wording(self, method: str, path: tuple[str, ...]) -> bool:
        return method != "state" and len(path) == 1 and (path[0] in self.free or f"{method}.{path[0]}" in self.free)

    def _leaves(
        self, expected: Any, actual: Any, method: str, path: tuple[str, ...], *, ordered: bool = True
    ) -> Iterator[str]:
        where = ".".join(path) or "result"
        if path and path[-1] in self.unread:
            return
        if isinstance(expected, str) and isinstance(actual, str):
            yield from self._texts(expected, actual, method, path)
        elif type(expected) is not type(actual):
            yield f"{where}: {actual!r:.200} ({type(actual).__name__}), recorded {expected!r:.200}"
        elif isinstance(expected, dict):
            keys, recorded = list(actual), list(expected)
            if keys != recorded if ordered else sorted(keys) != sorted(recorded):
                yield f"{where}: keys {keys}, recorded {recorded}"
                return
            for key in expected:
                yield from self._leaves(expected[key], actual[key], method, (*path, key), ordered=ordered)
        elif isinstance(expected, list):
            if len(expected) != len(actual):
                yield f"{where}: {len(actual)} items, recorded {len(expected)}"
                return
            for left, right in zip(expected, actual, strict=True):
                yield from self._leaves(left, right, method, (*path, "[]"), ordered=ordered)
        elif repr(expected) != repr(actual):  # also tells -0.0 from 0.0, and nan equals nan
            yield f"{where}: {actual!r}, recorded {expected!r}"

    def _texts(self, expected: str, actual: str, method: str, path: tuple[str, ...]) -> Iterator[str]:
        if self._is_wording(method, path):
            problem = self.wording.problem(path[-1], expected, actual)
        elif self.default_inbox and expected not in self.sent and path[0] in ("messages", "results", "inbox"):
            problem = self.wording.problem("default inbox", expected, actual)
        else:
            problem = None if expected == actual else f"{actual!r:.300}, recorded {expected!r:.300}"
        if problem:
            yield f"{'.'.join(path) or 'result'}: {problem}"


def _error_kind(method: str, result: Any) -> str | None:
    """The recording's word for an error result, ``None`` for an ordinary one."""
    if isinstance(result, dict):
        if "error" in result and method != "core_memory_retrieve_all":
            return "error_key"
        return "failure_key" if "verification_failure" in result else None
    if isinstance(result, list) and len(result) == 1:
        if isinstance(result[0], dict) and list(result[0]) == ["error"]:
            return "list_of_error_dict"
        if method == "get_watchlist" and isinstance(result[0], str) and " " in result[0]:
            return "list_of_error_string"
    return None


# The memory backends need a snapshot, web search needs a provider.
CLASSES = [name for name, module in BUILT_IN.items() if module.startswith("simulators.")]


def trace_problems(
    golden_dir: Path, class_name: str, *, long_context: bool, texts: Mapping[str, Any] | None
) -> list[str]:
    """All differences of one class, each with the number of its sequence."""
    wording = Wording()
    problems: list[str] = []
    compared = 0
    for number, line in enumerate(read_traces(golden_dir / "simulator_traces.jsonl", class_name)):
        if line["long_context"] != long_context:
            continue
        compared += 1
        simulator = create_simulator(class_name, line["initial_config"], long_context=long_context, texts=texts)
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
    assert compared >= 20
    return problems


class Dummy:
    """A fixed direction per text; the recording's similarities were not kept."""

    def encode(self, text: str) -> Any:
        import numpy as np

        return np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint8).astype(np.float32) / 2048


def memory_problems(golden_dir: Path, backend: str) -> list[str]:
    """All differences of one memory backend."""
    wording = Wording()
    problems: list[str] = []
    lines = read_traces(golden_dir / "simulator_traces.jsonl", f"MemoryAPI_{backend}")
    flushed = 0
    for number, line in enumerate(lines):
        config = line["initial_config"]
        first = "prereq" in config["test_id"] and config["test_id"].endswith("-0")
        stored = None if first else config["existing_final_snapshot"]
        simulator: Any = create_simulator(line["class"], config, snapshot=stored, encoder=Dummy())
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
        for path, recorded in line.get("flushed_files", {}).items():
            flushed += 1
            if not same_content(json.loads(json.dumps(simulator.snapshot())), recorded):
                problems.append(f"sequence {number}: {path} differs")
    assert (len(lines), flushed > 20) == (66, True)
    return problems


def same_content(content: Any, recorded: Mapping[str, Any]) -> bool:
    if "content" in recorded:
        return list(content) == list(recorded["content"]) and content == recorded["content"]
    return digest(content) == (recorded["content_sha256"], recorded["content_json_len"])
