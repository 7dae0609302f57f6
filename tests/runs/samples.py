"""Small conversations and records of our own for the tests of this room."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import ValueDetails
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import Verdict
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
from pytest_bfcl.runs.results import conversation_fields, result_record
from pytest_bfcl.transcript import Call, Reply, Step, ToolCall, Transcript, Turn

SPEC = "openai:tiny@fc"


def fingerprint(**changes: Any) -> Fingerprint:
    values: dict[str, Any] = {
        "dataset": "official",
        "dataset_version": "2026.3.23",
        "dataset_sha256": "ab" * 32,
        "models": (ModelFingerprint(SPEC, "fc", {"temperature": 0.001}),),
        "conditions": {"repeat": 1, "seed": 0, "step_limit": 20, "search": "auto", "simulators": "own"},
        "selection": {"categories": ["simple_python"]},
    }
    return Fingerprint(**values | changes)


def single(entry_id: str = "simple_python_1", *, valid: bool = True, repeat: int = 1, **verdict: Any) -> dict[str, Any]:
    entry = Entry(id=entry_id, category=entry_id.rpartition("_")[0], question=[[{"role": "user", "content": "Go"}]])
    reply = Reply(
        tool_calls=(ToolCall("f_x", '{"a": 1}'),), input_tokens=20, output_tokens=5, latency_s=0.5, finish_reason="stop"
    )
    step = Step(reply, [Call("f.x", {"a": 1})])
    transcript = Transcript(entry.id, entry.category, SPEC, "fc", repeat, True, [Turn(steps=[step])])
    official = Verdict.passed() if valid else Verdict.wrong(reasons.TEXT, ValueDetails(**(verdict or {"param": "a"})))
    return result_record(entry, transcript, official, official, cost_usd=0.001)


def conversation() -> tuple[Entry, Transcript]:
    """Two turns: the first with a call and a closing text, the second with text only."""
    entry = Entry(
        id="multi_turn_base_7",
        category="multi_turn_base",
        question=[[{"role": "user", "content": "List"}], [{"role": "user", "content": "Thanks"}]],
        involved_classes=["GorillaFileSystem"],
        possible_answer=[["ls()"], []],
    )
    first = Step(
        Reply(tool_calls=(ToolCall("ls", "{}", "c1"),), input_tokens=9, output_tokens=2, latency_s=1.0, reasoning="hm"),
        ["ls()"],
        ['{"files": []}'],
    )
    second = Step(Reply("Empty.", input_tokens=12, output_tokens=1, latency_s=0.25), None, [], "no call")
    third = Step(Reply("Welcome.", input_tokens=15, output_tokens=1, latency_s=0.5, problem="length"), None)
    turns = [Turn(steps=[first, second]), Turn(steps=[third])]
    transcript = Transcript(entry.id, entry.category, SPEC, "fc", turns=turns, forced_quit=True)
    transcript.messages = [{"role": "user", "content": "List"}, {"role": "assistant", "content": "Empty. é"}]
    return entry, transcript


def line_of(transcript: Transcript) -> dict[str, Any]:
    """What a line says of a conversation: the inverse of `transcript_from_line`, but for decoded calls."""
    nested = CATEGORIES[transcript.category].multi_step
    if not transcript.decoded:
        return dict(conversation_fields(transcript, nested=nested))
    said = [[s.reply.text or "" if s.calls is None else s.call_texts for s in turn.steps] for turn in transcript.turns]
    return {"underscore_names": transcript.underscore_names, "trajectory": said}
