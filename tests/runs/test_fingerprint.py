from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
from tests.runs.samples import SPEC, fingerprint


def refused(one: Fingerprint, other: Fingerprint, purpose: Purpose = Purpose.PARTS) -> list[str]:
    """What keeps the two apart, without what it does to numbers."""
    return [each.text for each in comparability(one, other, purpose).refused]


DATA = SimpleNamespace(name="official", version="2026.3.23", sha256="cd" * 32)


MODEL = ModelFingerprint(SPEC, "fc", {"temperature": 0.001})


def test_facts_of_an_earlier_release_lack_fields() -> None:
    empty = Fingerprint.from_dict({"models": [{}]})
    assert empty == Fingerprint(
        models=(ModelFingerprint("", ""),), rules_version="", plugin_version="", started_at="", state=""
    )
    nulls = dict.fromkeys(("dataset", "selection", "conditions", "counted", "left_out", "planned", "archives"))
    nulls["models"] = [dict.fromkeys(("parameters", "reasoning", "stream", "headers", "think", "read_as"))]
    assert Fingerprint.from_dict(nulls) == empty
    assert Fingerprint.from_dict({"models": None}).models == ()


def test_apis_servers_and_words_are_compared_where_both_say_them() -> None:
    command = "the server command"
    mine = fingerprint(
        models=(replace(MODEL, api="chat"),),
        conditions={
            "mcp": {"m": {command: "1"}, "n": {}},
            "transforms": {"own": "1", "b": ""},
            "templates": {"seed": "1"},
        },
    )
    other = fingerprint(
        models=(replace(MODEL, api="responses"),),
        conditions={
            "mcp": {"m": {command: "3"}, "o": {}},
            "transforms": {"own": "2", "b": ""},
            "templates": {"seed": "2"},
        },
    )
    words, seed, server = "words of own: 1 → 2", "template seed: 1 → 2", f"MCP server m, {command}: 1 → 3"
    assert refused(mine, other) == [seed, words, server, f"API of {SPEC}: chat → responses"]
    assert refused(mine, other, Purpose.MODELS) == [seed, words]
