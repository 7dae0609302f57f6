import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape, has_call
from pytest_bfcl.transcript import Reply, ToolCall
from tests.decoding.as_objects import decode_reply


def native(*pairs):
    return Reply(tool_calls=tuple(ToolCall(name, arguments) for name, arguments in pairs))


def test_calls_in_order_with_number_notation_kept():
    decoded = decode_reply(native(("pour", '{"ml": 40.0}'), ("stir", '{"times": 40}')), "fc")
    assert decoded == [{"pour": {"ml": 40.0}}, {"stir": {"times": 40}}]
    assert type(decoded[0]["pour"]["ml"]) is float
    assert type(decoded[1]["stir"]["times"]) is int


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{liters: 40}",
        '{"a": 1} x',
        "\ufeff{}",
        '{"a": "\n"}',
        '{"a": ' + "9" * 4301 + "}",
        '{"a": ' + "[" * 100_000,
    ],
)
def test_broken_json_does_not_decode(arguments):
    with pytest.raises(DecodeError) as caught:
        decode_reply(native(("f", arguments)), "fc")
    assert not isinstance(caught.value, WrongShape)


@pytest.mark.parametrize("arguments", ["[40]", '"text"', "null", "5"])
def test_json_that_is_no_object_has_the_wrong_shape(arguments):
    with pytest.raises(WrongShape) as caught:
        decode_reply(native(("ok", "{}"), ("f", arguments)), "fc")
    assert caught.value.decoded[0] == {"ok": {}}


def test_without_calls_the_text_decides():
    assert decode_reply(Reply(text=""), "fc") == []
    for text in (None, "I cannot", " ", "[f(x=1)]"):
        with pytest.raises(DecodeError):
            decode_reply(Reply(text=text), "fc")


def test_brackets_inside_strings_are_no_nesting():
    arguments = '{"a": "' + "[" * 5_000 + '"}'
    assert decode_reply(native(("f", arguments)), "fc")[0]["f"]["a"] == "[" * 5_000


def test_has_call_looks_at_neither_names_nor_arguments():
    assert has_call(native(("nonsense", "{}")), "fc")
    assert not has_call(native(("f", "{broken")), "fc")
    assert not has_call(native(("f", "[1]")), "fc")
    assert has_call(Reply(text="f(x)"), "prompt")
    assert not has_call(Reply(text="Sure: [f(x=1)]"), "prompt")
    assert not has_call(Reply(text=""), "prompt")
    assert not has_call(Reply(text=None), "prompt")
