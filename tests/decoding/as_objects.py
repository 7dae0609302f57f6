"""Decoded calls as they are stored, ``{name: {parameter: value}}``: what these tests write down."""

from pytest_bfcl import decoding
from pytest_bfcl.transcript import Call


def objects(calls):
    assert all(type(call) is Call for call in calls)
    return [call.as_object() for call in calls]


def decode(text, **options):
    return objects(decoding.decode(text, **options))


def decode_reply(reply, mode, **options):
    return objects(decoding.decode_reply(reply, mode, **options))
