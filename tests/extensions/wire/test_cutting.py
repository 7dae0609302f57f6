"""Streaming parsers under every split of their texts: a correct one, planted defects, the verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.wire import parser as parsers
from pytest_bfcl.extensions.wire.cutting import RULES, Cut, examined, formats_of, writings, written_in
from pytest_bfcl.extensions.wire.parser import target_of
from pytest_bfcl.formats.served import server_reading
from pytest_bfcl.formats.table import families
from tests.extensions.wire.apis import chat_chunks
from tests.extensions.wire.model import Heard, Message

HERE = "tests.extensions.wire.streaming_parsers"
DEFECTS: dict[str, set[str]] = {
    "LosesDelta": {"split_calls", "arguments_parse"},
    "Doubles": {"split_calls", "split_text", "arguments_parse"},
    "NameTwice": {"delta_name"},
    "NoId": {"delta_id"},
    "NewId": {"delta_id"},
    "NoType": {"delta_type"},
    "NoIndex": {"delta_index", "delta_id", "delta_type", "delta_name"},
    "OneIndex": {"delta_index", "delta_id", "delta_type", "delta_name", "whole"},
    "Objects": {"delta_arguments", "arguments_text", "whole", "split_calls"},
    "HalfCharacters": {"whole_characters", "split_calls"},
    "OneBracketMore": {"split_calls", "arguments_parse"},
    "Leaks": {"split_calls", "split_text"},
    "LosesText": {"whole", "split_text"},
    "OneADelta": {"whole", "split_calls", "split_text"},
    "Raises": {"fails"},
    "Hangs": {"fails"},
    "Chatty": {"fails"},
}
"""A planted defect → the rules it breaks."""


def cuts_of(name: str) -> dict[str, Cut]:
    return {cut.rule: cut for cut in examined(target_of(f"{HERE}:{name}"), written_in("hermes"))}


SLOW = pytest.mark.slow  # thousands of splits


@pytest.mark.parametrize("name", ["Right", *(pytest.param(name, marks=SLOW) for name in ("with_tools", "in_a_loop"))])
@pytest.mark.slow
def test_a_correct_parser_breaks_nothing(name: str) -> None:
    target = target_of(f"{HERE}:{name}")
    assert formats_of(target) == ["hermes"]
    assert list(examined(target, written_in("hermes"))) == []


@SLOW
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "LIMIT_S", 2.0)
    monkeypatch.setattr("pytest_bfcl.extensions.wire.cutting.SHRINK_S", 0.5)
    cuts = cuts_of(name)
    assert cuts.keys() == DEFECTS[name], {rule: cut.why for rule, cut in cuts.items()}
    for cut in cuts.values():
        assert "".join(cut.deltas) == cut.text.text
        assert cut.rule_text


@SLOW
def test_a_finding_is_as_small_as_it_can_be() -> None:
    cut = cuts_of("Leaks")["split_calls"]
    assert cut.text.text == '<tool_call>{"name": "g", "arguments": }</tool_call>' or len(cut.text.text) < 60
    assert len(cut.deltas) == 2
    lost = cuts_of("LosesDelta")["split_calls"]
    assert '"' in lost.deltas
    assert len(lost.deltas) <= 3


@SLOW
def test_our_own_reader_of_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes of event streams in every split, with either line end."""
    calls = [("look_up", '{"key": "世😀"}'), ("get_status", "{}")]
    said = Message("Hm.", "I look.", calls, finish="calls", ids=["a", "b", "c"])
    chunks = list(chat_chunks([said], Heard("chat", [], []), 4))
    for end in ("\n", "\r\n"):
        lines = [f"data: {json.dumps(each, ensure_ascii=False)}{end}{end}" for each in [*chunks, "[DONE]"]]
        text = "".join(lines).replace('"[DONE]"', "[DONE]")
        (tmp_path / "streams.jsonl").write_text(json.dumps({"text": text}) + "\n")
        assert (
            main(["doctor", "wire", "--parser", f"{HERE}:chat_stream", "--lines", str(tmp_path / "streams.jsonl")]) == 0
        )
        assert "every split gives the same result" in capsys.readouterr().out


def test_every_format_of_a_family_can_be_written() -> None:
    known = {server_reading(row.format) for row in families().values()} - {None}
    assert known - set(writings()) == {"k2-horizon", "kimi-k3", "minimax-m3", "muse"}
    for name in writings():
        assert len(written_in(name)) >= 13, name


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bfcl.extensions.wire.cutting.SHRINK_S", 0.2)
    assert main(["doctor", "wire", "--parser", f"{HERE}:Leaks"]) == 1
    told = capsys.readouterr().out
    assert "hermes, in every split: 14" in told
    assert f"rule    {RULES['split_calls']}" in told
    assert 'deltas  "<' in told
    for words, why in {
        ("--parser", "nowhere:it"): "cannot be loaded: ModuleNotFoundError",
        ("--parser", "json:nothing"): "the module json has no 'nothing'",
        ("--parser", "json:__name__"): "is no callable but str",
        ("--parser", "json"): "write module:callable",
        ("--parser", "json:loads"): "finds no plain call in any of",
        ("--parser", f"{HERE}:Right", "--format", "herms"): "hermes",
        ("--parser", f"{HERE}:Right", "--lines", str(tmp_path / "none")): "cannot read",
    }.items():
        assert main(["doctor", "wire", *words]) == 2, words
        assert why in capsys.readouterr().err
