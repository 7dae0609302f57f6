from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.dataset.inputs import short_digest
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint, clean_url
from pytest_bfcl.settings import Settings, SplitPart
from tests.runs.samples import SPEC, fingerprint


def refused(one: Fingerprint, other: Fingerprint, purpose: Purpose = Purpose.PARTS) -> list[str]:
    """What keeps the two apart, without what it does to numbers."""
    return [each.text for each in comparability(one, other, purpose).refused]


DATA = SimpleNamespace(name="official", version="2026.3.23", sha256="cd" * 32)


MODEL = ModelFingerprint(SPEC, "fc", {"temperature": 0.001})
TAKEN = {"name": "half", "sha256": "12345678ff", "part": "test", "entries": 3}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, ["official 2026.3.23 (abababab)", f"{SPEC} t=0.001", "official rules 2026.3.23+2"]),
        (
            {"dataset": "", "dataset_version": "", "dataset_sha256": "", "models": ()},
            ["? (no hash)", "no model", "official rules 2026.3.23+2"],
        ),
        (
            {"models": (ModelFingerprint("a:b@fc", "fc", prompt_sha256="1" * 64), MODEL)},
            ["official 2026.3.23 (abababab)", f"a:b@fc, {SPEC} t=0.001", "official rules 2026.3.23+2",
             "own system prompt: not comparable"],
        ),
        (
            {"conditions": {"step_limit": 5, "split": TAKEN, "trained_on": {**TAKEN, "name": "other"}}},
            ["official 2026.3.23 (abababab)", f"{SPEC} t=0.001", "official rules 2026.3.23+2",
             "5 steps a turn: not comparable", "test part of half (12345678)",
             "trained on 3 entries of other (12345678)"],
        ),
        ({"conditions": {}}, ["official 2026.3.23 (abababab)", f"{SPEC} t=0.001", "official rules 2026.3.23+2"]),
    ],
)  # fmt: skip
def test_the_short_form_names_data_models_rules_and_what_is_odd(changes: dict[str, Any], parts: list[str]) -> None:
    assert fingerprint(**changes, plugin_version="9").short() == " · ".join([*parts, "pytest-bfcl 9"])


def test_everything_a_run_was_asked_with_is_in_its_facts(tmp_path: Path) -> None:
    for name in ("web", "rest"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_text(f'{{"call": "{name}", "result": 1}}\n')
    part: SplitPart = {"name": "half", "sha256": "12345678ff", "part": "test", "data": {}, "ids": ["a", "b", "c"]}
    settings = Settings(
        repeat=2, seed=3, search=f"replay:{tmp_path}", rest=f"replay:{tmp_path}", rules="corrected",
        mcp={"b": "npx b", "a": "npx a"}, mcp_setup={"a": "up"}, mcp_teardown={"b": "down"}, serve="", names="dots",
        transforms=("shuffled", "own"), rewordings={"own": {"a": [[{"role": "user", "content": "é"}]]}},
        split=part, headers={"X-B": "1", "X-A": "2"}, stream=True, reasoning="keep", decoder="hermes", think="strip",
        template="qwen-fc", base_url="http://h/v1", system_prompt="Do", api="chat",
    )  # fmt: skip
    data = SimpleNamespace(**vars(DATA), file_digests={"f": "12"})
    made = Fingerprint.of(data, [("vllm:m@fc", "fc")], settings, {"ids": ["a"]}, {"vllm:m@fc": "proved"})
    facts = made.to_dict()
    assert facts["models"] == [
        {
            "model": "vllm:m@fc", "mode": "fc", "parameters": {"temperature": 0.001}, "base_url": "http://h/v1",
            "prompt_sha256": hashlib.sha256(b"Do").hexdigest(), "api": "chat", "reasoning": "keep", "stream": True,
            "decoder": "hermes", "think": "strip", "template": "qwen-fc", "read_as": "proved",
            "headers": {"X-A": "[hidden]", "X-B": "[hidden]"},
        }
    ]  # fmt: skip
    servers = {"a": {"server": "npx a", "setup": "up"}, "b": {"server": "npx b", "teardown": "down"}}
    words = hashlib.sha256(b'{"a": [[{"content": "\\u00e9", "role": "user"}]]}').hexdigest()[:12]
    place = f"replay:{tmp_path}"
    assert facts["conditions"] == {
        "repeat": 2, "seed": 3, "step_limit": 20, "search": place, "rest": place, "simulators": "own", "serve": "",
        "mcp": {name: {f"the {kind} command": short_digest(text) for kind, text in told.items()}
                for name, told in servers.items()},
        "transforms": {"shuffled": "", "own": words}, "names": "dots",
        "split": {"name": "half", "sha256": "12345678ff", "part": "test", "entries": 3},
    }  # fmt: skip
    assert list(facts["conditions"]["mcp"]) == ["a", "b"]
    assert facts["dataset"] == {"name": "official", "version": "2026.3.23", "sha256": "cd" * 32, "files": {"f": "12"}}
    assert (facts["rules"], facts["selection"]) == ("corrected", {"ids": ["a"]})
    assert {name: len(digest) for name, digest in facts["archives"].items()} == {"web": 64, "rest": 64}
    assert facts["archives"]["web"] != facts["archives"]["rest"]
    late = replace(made, counted={SPEC: {"a": 2}}, left_out=1, planned=4).ended("finished")
    assert Fingerprint.from_dict(late.to_dict()) == late


def test_what_was_not_asked_for_is_not_in_the_facts() -> None:
    made = Fingerprint.of(DATA, [(SPEC, "fc")], Settings())
    facts = made.to_dict()
    assert set(facts["conditions"]) == {"repeat", "seed", "step_limit", "search", "rest", "simulators"}
    assert set(facts["models"][0]) == {
        "model", "mode", "parameters", "base_url", "prompt_sha256", "api", "reasoning", "stream"
    }  # fmt: skip
    assert facts["models"][0]["prompt_sha256"] is None
    assert (facts["selection"], facts["archives"], facts["dataset"].get("files")) == ({}, {}, None)
    assert facts["started_at"].endswith("Z")
    assert len(facts["started_at"]) == 20
    assert made.comparable


def test_facts_of_an_earlier_release_lack_fields() -> None:
    empty = Fingerprint.from_dict({"models": [{}]})
    assert empty == Fingerprint(
        models=(ModelFingerprint("", ""),), rules_version="", plugin_version="", started_at="", state=""
    )
    nulls = dict.fromkeys(("dataset", "selection", "conditions", "counted", "left_out", "planned", "archives"))
    nulls["models"] = [dict.fromkeys(("parameters", "reasoning", "stream", "headers", "think", "read_as"))]
    assert Fingerprint.from_dict(nulls) == empty
    assert Fingerprint.from_dict({"models": None}).models == ()


def changed_model(**changes: Any) -> dict[str, Any]:
    return {"models": (replace(MODEL, **changes),)}


def of_conditions(**changes: Any) -> dict[str, Any]:
    return {"conditions": fingerprint().conditions | changes}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset_sha256": "ef" * 32}, "data SHA-256: abababababab → efefefefefef"),
        ({"dataset": "own"}, "data set: official → own"),
        ({"dataset_version": ""}, "data version: 2026.3.23 → none"),
        ({"files": {"f": "1" * 20}}, f"data file f: none → {'1' * 12}"),
        ({"rules": "corrected"}, "rules: official → corrected"),
        ({"rules_version": "x"}, "rules version: 2026.3.23+2 → x"),
        ({"models": (replace(MODEL, model="openai:other@fc"),)}, f"models: {SPEC} → openai:other@fc"),
        ({"models": (MODEL, replace(MODEL, model="a:b"))}, f"models: {SPEC} → a:b, {SPEC}"),
        (changed_model(mode="prompt"), f"mode of {SPEC}: fc → prompt"),
        (changed_model(parameters={"temperature": 0.7}), f"temperature of {SPEC}: 0.001 → 0.7"),
        (changed_model(parameters={}), f"temperature of {SPEC}: 0.001 → none"),
        (changed_model(parameters={"temperature": 0.001, "top_k": 0}), f"top_k of {SPEC}: none → 0"),
        (changed_model(base_url="http://h"), f"base URL of {SPEC}: none → http://h"),
        (changed_model(reasoning="keep"), f"reasoning of {SPEC}: reference → keep"),
        (changed_model(decoder="hermes"), f"decoder of {SPEC}: none → hermes"),
        (changed_model(think="strip"), f"thoughts of {SPEC}: auto → strip"),
        (changed_model(template="qwen-fc"), f"template of {SPEC}: none → qwen-fc"),
        (changed_model(prompt_sha256="1" * 64), f"system prompt of {SPEC}: none → 111111111111"),
        (of_conditions(step_limit=5), "step limit: 20 → 5"),
        (of_conditions(simulators="reference"), "simulators: own → reference"),
        (of_conditions(split={"name": "s"}), "split: none → None part of s (None)"),
        (of_conditions(trained_on={"name": "s"}), "trained on: none → None part of s (None)"),
        (of_conditions(transforms={"own": ""}), "transforms: none → own"),
        (of_conditions(search="local"), "search: auto → local"),
        (of_conditions(rest="replay"), "REST: auto → replay"),
    ],
)
def test_differences_are_told(change: dict[str, Any], said: str) -> None:
    assert refused(fingerprint(), fingerprint(**change)) == [said]


@pytest.mark.parametrize(
    "change",
    [
        changed_model(api="chat"), changed_model(stream=True), changed_model(headers=("X",)),
        of_conditions(repeat=3, seed=9, serve="x", names="dots", mcp={"m": "1"}), of_conditions(search="record"),
        of_conditions(search="serpapi"), of_conditions(rest=None), {"planned": 3},
        {"archives": {"web": "1"}}, {"left_out": 1}, {"state": "finished", "ended_at": "x", "started_at": "y"},
        {"selection": {"categories": ["all"]}}, {"plugin_version": "9"},
    ],
)  # fmt: skip
def test_what_may_differ(change: dict[str, Any]) -> None:
    assert refused(fingerprint(), fingerprint(**change)) == []


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


COUNTED = {"counted": {SPEC: {"web_search_base": 1, "rest": 1, "no_such": 1}}}


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        # Both replay: what is kept decides, not where it lay; without a digest the paths do.
        ({"search": "replay:a"}, {"search": "replay:b"}, ["search: replay:a → replay:b"]),
        ({"search": "replay:a", "web": "1" * 20}, {"search": "replay:b", "web": "1" * 20}, []),
        ({"search": "replay:a", "web": "1"}, {"search": "replay:a", "web": "2"}, ["recorded web: 1 → 2"]),
        ({"search": "replay:a", "web": "1"}, {"search": "replay:a"}, []),
        ({"search": "live", "web": "1"}, {"search": "replay:a", "web": "1"}, []),
        # The same live source may say something else: its digests are not compared.
        ({"web": "1"}, {"web": "2"}, []),
        ({"rest": "replay:a", "rest_kept": "1"}, {"rest": "local", "rest_kept": "2"}, ["recorded rest: 1 → 2"]),
        # Nobody asked the outside: who would have answered does not matter.
        ({"search": "local", "counted": {}}, {"counted": {SPEC: {"multiple": 1}}}, []),
        ({"search": "local", "counted": {SPEC: {"multiple": 1}}}, {"counted": {}}, []),
        ({"search": "live", "counted": {SPEC: {"web_search_base": 1}}}, {"counted": {}}, ["search: live → auto"]),
        ({"rest": "local", "counted": {SPEC: {"web_search_base": 1}}}, {"counted": {}}, []),
        ({"rest": "live", "counted": {SPEC: {"rest": 1}}}, {"counted": {}}, ["REST: live → auto"]),
        ({"search": "live", "counted": {SPEC: {"rest": 1}}}, {"counted": {}}, []),
    ],
)
def test_what_the_outside_said(mine: dict[str, Any], theirs: dict[str, Any], said: list[str]) -> None:
    def run(facts: dict[str, Any]) -> Fingerprint:
        kept = {"web": facts.get("web"), "rest": facts.get("rest_kept")}
        return fingerprint(
            dataset="bundled",
            conditions={name: facts[name] for name in ("search", "rest") if name in facts},
            archives={name: digest for name, digest in kept.items() if digest},
            counted=facts.get("counted", {}),
        )

    assert refused(run(mine), run(theirs)) == said
    assert bool(refused(run(theirs), run(mine))) is bool(said)


@pytest.mark.parametrize(("data", "choice", "same"), [
    ("official", "live", True), ("official", "local", False), ("own", "local", True), ("own", "live", False),
    ("own", "record", True), ("own", "serpapi", False),
])  # fmt: skip
def test_auto_is_live_for_official_data_and_local_for_all_other(data: str, choice: str, same: bool) -> None:
    auto, said = (fingerprint(dataset=data, conditions={"search": each}) for each in ("auto", choice))
    assert (refused(auto, said) == []) is same


def test_two_models_on_the_same_test_may_be_compared() -> None:
    other = fingerprint(models=(ModelFingerprint("openai:other@prompt", "prompt", {"temperature": 1}),))
    assert refused(fingerprint(), other, Purpose.MODELS) == []
    assert refused(fingerprint(), other)


@pytest.mark.parametrize(
    ("url", "clean"),
    [(None, None), ("", None), ("http://h/v1", "http://h/v1"), ("http://u:p@h:1/v1#x", "http://h:1/v1")],
)
def test_urls_lose_what_is_secret(url: str | None, clean: str | None) -> None:
    assert clean_url(url) == clean
