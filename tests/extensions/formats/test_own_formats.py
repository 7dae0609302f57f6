"""Formats of models' own, on small examples: each family's way, its defects, and what corrected rules make of them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_bfcl.decoding import DecodeError, call_texts, decode_reply
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.decoders import HANDLERS, SERVED, handler_name
from pytest_bfcl.formats.detection import TextReading, calls_anywhere, lost_calls
from pytest_bfcl.formats.served import server_reading
from pytest_bfcl.formats.table import FORMATS, find_decoder, guessed_decoder, reference_decoder, registered_format
from pytest_bfcl.formats.thinking import read_thinking, said
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn

CALL = '{"name": "f", "arguments": {"a": 1, "on": true}}'
WRITTEN: dict[str, str] = json.loads(Path(__file__).with_name("written.json").read_text(encoding="utf-8"))
"""Format → ``f(a=1, on=True)`` in it."""
TOOL = {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}, "on": {"type": ["boolean", "null"]}}}}


@pytest.mark.parametrize("name", WRITTEN)
def test_each_format_is_read_for_checking_and_for_execution(name):
    reply = Reply(text=WRITTEN[name])
    for reader in {name, handler_name(name)} if name in HANDLERS else (name,):
        (call,) = decode_reply(reply, "fc", decoder=reader, functions=[TOOL])
        assert call == ("f", {"a": 1, "on": True})
        (text,) = call_texts(reply, "fc", reader, [TOOL])
        assert text.replace(" ", "") == "f(a=1,on=True)"
        assert decode_reply(reply, "fc", decoder=reader, rules="corrected", functions=[TOOL]) == [call]


@pytest.mark.parametrize("name", [name for name in WRITTEN if name in SERVED])
def test_a_server_reads_the_same_amid_prose_and_cut_off(name):
    """What a format calls stays a call behind a sentence, after thoughts, and where the end tags are missing."""
    text = WRITTEN[name]
    want = [("f", {"a": 1, "on": True})]
    whole = ("glm4", "pythonic", "functionary32")  # nothing else may stand beside it
    thought = text if name in ("harmony", "muse") else f"<think>\nf? {text}\n</think>\n\n{text}"  # those have channels
    for written in (text, text if name in whole else f"I look it up. {text}", thought):
        assert decode_reply(Reply(text=written), "fc", decoder=name, functions=[TOOL]) == want, written
    with suppress(DecodeError):
        cut = text[: text.rindex("true" if "true" in text else "True") + 4]
        calls = decode_reply(Reply(text=cut), "fc", decoder=name, functions=[TOOL])
        assert calls in (want, [("f", {"a": 1})])  # a value whose tag is not closed is none


def test_every_decoder_has_an_example():
    others = {"llama3-json", "thinkagent", "gorilla", "nexus", "native", "native-or-texts", "cohere", "xiaoming"}
    assert {*HANDLERS, *SERVED} == set(WRITTEN) | others


DEFECTS = {
    # Official: what the handler makes of it (None: it does not decode). Corrected: the call.
    "llama3-json": ('{"name": "f", "parameters": {"a": 1, "on": true}}', None),
    "hermes": (f"<tool_call>{CALL}</tool_call>", []),
    "hammer": (f"```json\n[{CALL}]\n```", []),
    "xlam": (f"```json\n[{CALL}]\n```", None),
    "mistral-json": (f"[TOOL_CALLS][{CALL}]", None),
    "thinkagent": ('<think>x</think>[{"name": "f", "arguments": {"a": 1, "on": true}}]', "executed"),
    "granite3": (f"<|tool_call|>[{CALL}]<|end_of_text|>", None),
    "minicpm3": ("<|tool_call_start|>\n```\nf(a=1, on=True)\n```\n<|tool_call_end|>", "executed"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_kept_by_official_rules_and_mended_by_corrected_ones(name):
    text, official = DEFECTS[name]
    reply, name = Reply(text=text), f"handler:{name}"
    if official is None:
        with pytest.raises(DecodeError):
            decode_reply(reply, "fc", decoder=name)
    elif official == []:
        assert decode_reply(reply, "fc", decoder=name) == []
    assert decode_reply(reply, "fc", decoder=name, rules={"C15"}) == [("f", {"a": 1, "on": True})]
    assert call_texts(reply, "fc", name, mended=True) == ["f(a=1, on=True)"]


@pytest.mark.parametrize("name", sorted(set(WRITTEN) - {"python", "python-fence", "tool-code", "toolcall"}))
def test_prose_is_no_call_under_corrected_rules(name):
    with pytest.raises(DecodeError):
        decode_reply(Reply(text="I cannot help."), "fc", decoder=name, rules="corrected")


@pytest.mark.parametrize(
    ("name", "text", "call"),
    [
        ("llama3-json", '<|python_tag|>look_up.call(query="tea")<|eom_id|>', ("look_up", {"query": "tea"})),
        ("llama3-json", "<|python_tag|>print('hey')<|eom_id|>", ("python", {"code": "print('hey')"})),
        ("functionary32", "all\nOne moment.>>>python\nprint('hey')", ("python", {"code": "print('hey')"})),
        ("functionary31", "<|python_tag|>print('hey')", ("python", {"code": "print('hey')"})),
        ("xlam", "[Note] " + CALL, ("f", {"a": 1, "on": True})),
        ("xlam", "[{'name': 'f', 'arguments': {'a': True}}]", ("f", {"a": True})),
        ("hermes", f'<tool_call>[{CALL}, {CALL}]</tool_call>', ("f", {"a": 1, "on": True})),
        ("lfm2", "<|tool_call_start|>[f(s='it's \n 'one'', a=007)]<|tool_call_end|>",
         ("f", {"s": "it's \n 'one'", "a": 7})),
    ],
)  # fmt: skip
def test_more_that_servers_read(name, text, call):
    assert decode_reply(Reply(text=text), "fc", decoder=name, functions=[{"name": "python"}])[0] == call


THOUGHTS = [
    ("<think>\nhm\n</think>\n\nanswer", "answer", "hm"),
    ("hm\n</think>\n\nanswer", "answer", "hm"),
    ("<think>a</think>x<think>b</think>answer", "answer", "a"),
]


@pytest.mark.parametrize(("text", "answer", "reasoning"), THOUGHTS)
def test_thoughts_are_parted(text, answer, reasoning):
    assert read_thinking(text, "auto", "think") == (answer, reasoning)
    assert read_thinking(text, "strip") == (answer, reasoning)
    assert read_thinking(text, "keep", "think") == (text, None)
    assert read_thinking(text, "auto", "none") == (text, None)


def test_names_tell_formats():
    assert registered_format("Qwen/Qwen3-8B-FC") is FORMATS["qwen-fc"]
    assert registered_format("Qwen_Qwen3-8B-FC") is FORMATS["qwen-fc"]
    assert registered_format("my-model") is None
    assert [guessed_decoder("Qwen/Qwen3-8B", mode) for mode in ("fc", "prompt")] == ["hermes", "python"]
    assert (guessed_decoder("openai/gpt-oss-20b", "prompt"), reference_decoder("Qwen/Qwen3-8B-FC")) == (
        "harmony",
        "handler:hermes",
    )
    assert guessed_decoder("openai/gpt-oss-20b") == "harmony"
    assert guessed_decoder("Qwen/Qwen3-Coder-30B-A3B-Instruct") == "qwen-coder"
    assert guessed_decoder("who-knows") is None
    with pytest.raises(UsageError, match="known: toolcall, hermes"):
        find_decoder("nonsense")
    with pytest.raises(UsageError, match="name a decoder"):
        TextReading("auto").decoder_for("who-knows")


ALIKE = {"toolcall-json", "phi4-mini", "mimo", "laguna", "xlam", "hammer", "json-list", "mistral-json", "pythonic"}
"""Formats whose calls another one's decoder reads as well."""


@pytest.mark.parametrize(
    "name", sorted(set(WRITTEN) - {"python", "python-fence", "tool-code", "glm4", "functionary32"})
)
def test_a_lost_call_is_found_by_its_marks(name):
    found = lost_calls(WRITTEN[name], [TOOL])
    assert found is not None
    assert found[1] == [("f", {"a": 1, "on": True})]
    if (wanted := server_reading(name)) is not None and name not in ALIKE:
        assert found[0] == wanted


def test_recorded_conversations_are_read_anew_and_stay_as_they_are():
    step = Step(Reply(text="<think>hm</think>" + WRITTEN["hermes"]))
    recorded = Transcript("simple_python_0", "simple_python", mode="fc", turns=[Turn(steps=[step])])
    read = TextReading("hermes").apply(recorded)
    assert (read.decoder, read.first_reply.reasoning, read.first_reply.text) == ("hermes", "hm", WRITTEN["hermes"])
    assert recorded.decoder is None
    assert recorded.first_reply.text.startswith("<think>")


HOSTILE = [
    "<tool_call>\n" * 50_000,
    "<tool_call>" * 80_000 + "{" * 1000,
    "[" * 100_000,
    '{"name":' * 20_000,
    "<start_function_call>call:f{" + "{[" * 50_000 + "<end_function_call>",
    "<think>" * 100_000 + "</think>" * 100_000,
    "<|tool_call|>" * 60_000 + "[" + "1," * 100_000,
    "<function=" * 90_000,
    "<arg_key>" * 90_000,
    "[TOOL_CALLS]" * 80_000,
    "; " * 300_000,
    "```" * 300_000,
    "<｜tool▁call▁begin｜>" * 50_000,
    "<|channel|>commentary to=functions.f<|message|>" * 18_000,
    '{"name": "f", "parameters": ' + "9" * 5000 + "}",
    "{'a': 9**9**9**9}",
    "__import__('os').system('false')",
    "<function=f>{}" * 9_000,
    "<function=f></function>" * 12_000,
    "[f(" * 30_000,
    '<tool_call>\n{"name": "f", "arguments":' + " " * 100_000,
    "<tool_call>f" + " " * 100_000 + "x",
    "[TOOL_CALLS]f[CALL_ID]" + " " * 100_000 + "x",
    "<|message|>" + " " * 100_000 + "x",
    "< " + " " * 100_000 + "x",
    "a" + "_" * 100_000 + "-",
    "<think>x</think>" * 5_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("share", [pytest.param(1, marks=pytest.mark.slow), 400], ids=["whole", "part"])
def test_hostile_texts_cost_little_and_evaluate_nothing(text, share):
    text = text[: len(text) // share] if len(text) > 1000 else text
    started = time.process_time()  # the machine may be shared
    for name in (*map(handler_name, HANDLERS), *SERVED):
        for rules in ("official", "corrected"):
            with suppress(DecodeError):
                decode_reply(Reply(text=text), "fc", decoder=name, rules=rules)
        with suppress(DecodeError):
            call_texts(Reply(text=text), "fc", name)
    read_thinking(text, "strip")
    read_thinking(text, "auto", "harmony")
    lost_calls(text)
    list(calls_anywhere(text, {"f"}))
    for cut in (True, False):
        said(text, cut=cut)
    assert time.process_time() - started < 20
