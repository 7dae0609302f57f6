import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape
from pytest_bfcl.transcript import Reply, ToolCall
from tests.decoding.as_objects import decode_reply


def native(*pairs):
    return Reply(tool_calls=tuple(ToolCall(name, arguments) for name, arguments in pairs))


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


def test_brackets_inside_strings_are_no_nesting():
    arguments = '{"a": "' + "[" * 5_000 + '"}'
    assert decode_reply(native(("f", arguments)), "fc")[0]["f"]["a"] == "[" * 5_000
