"""Formats that hand a text to the benchmark's own language parsers: Python, Java, JavaScript, JSON, XML (spec §4).

A source is the text for the parser of the entry's return format, brackets supplied.
"""

from __future__ import annotations

from pytest_bfcl.formats.members import spans
from pytest_bfcl.syntax.limits import DecodeError, WrongShape
from pytest_bfcl.syntax.preparation import prepare, tag_content
from pytest_bfcl.syntax.python_syntax import decode_python
from pytest_bfcl.syntax.writing import written_calls


def without_fence(text: str, tagged: bool) -> str:
    """Phi: a fence's opening and its language word go first."""
    return prepare(_unfenced(text.strip()), tagged)


def _unfenced(text: str) -> str:
    return text.removeprefix("```json").removeprefix("```python")


def no_tool_code(text: str, tagged: bool) -> str:
    """Gemini: fences named ``tool_code`` go first, wherever they stand."""
    return prepare(_plain(text), tagged)


def _plain(text: str) -> str:
    return text.replace("```tool_code\n", "").replace("\n```", "")


def bracketed(text: str, tagged: bool) -> str:
    """Gorilla: brackets around whatever it is."""
    return tag_content(f"[{text}]") if tagged else f"[{text}]"


def read_nexus(text: str) -> str:
    """Nexus: its word for calls goes at read time."""
    return text.replace("Call:", "").strip()


def nexus(text: str, tagged: bool) -> str:
    """Nexus: calls between semicolons; its word for no fitting function is a text where a call is expected."""
    if "out_of_domain" in text:
        raise WrongShape("irrelevant")
    return bracketed(text.removesuffix(";").replace(";", ","), tagged)


def toolcall(text: str, tagged: bool) -> str:
    """Nemotron: the inside of the first ``<TOOLCALL>``, nothing without one."""
    return prepare(next(spans(text, "<TOOLCALL>", "</TOOLCALL>"), ""))


def phi_texts(text: str) -> list[str]:
    """Phi's calls as call texts; here the text is not trimmed first."""
    return _texts(_unfenced(text))


def gemini_texts(text: str) -> list[str]:
    """Gemini's calls as call texts."""
    return _texts(_plain(text))


def toolcall_texts(text: str) -> list[str]:
    """Nemotron's calls as call texts."""
    return _texts(next(spans(text, "<TOOLCALL>", "</TOOLCALL>"), ""))


def _texts(text: str) -> list[str]:
    return written_calls(decode_python(prepare(text)))


def never(text: object) -> list[str]:
    """Families whose handler cannot execute calls."""
    raise DecodeError("calls of this family cannot be executed by its handler")
