"""Handlers that read calls as other texts: source code between marks, lines, Gemma's signs (formats spec §4). Phi's and
Gemini's fences, Nemotron, Gorilla and Nexus pass a *source* with added brackets to the benchmark's parser of the
entry's return format. Granite 20B, GLM-4, MiniCPM and FunctionGemma are read here.
"""

from __future__ import annotations

import ast
from typing import Any

from pytest_bfcl.extensions.formats.json_calls import text_result
from pytest_bfcl.formats.members import Pair, objects, spans, texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import parse_python
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, WrongShape, check_integer, check_length
from pytest_bfcl.syntax.python_syntax import decode_python, read_calls, written_calls
from pytest_bfcl.syntax.wrapping import prepare, tag_content
from pytest_bfcl.transcript import Call

# -- sources ---------------------------------------------------------------------------------------------------------


def without_fence(text: str, tagged: bool) -> str:
    """Phi: removes a fence's opening and its language word."""
    return prepare(_unfenced(text.strip()), tagged)


def _unfenced(text: str) -> str:
    return text.removeprefix("```json").removeprefix("```python")


def no_tool_code(text: str, tagged: bool) -> str:
    """Gemini: removes fences named ``tool_code`` everywhere."""
    return prepare(_plain(text), tagged)


def _plain(text: str) -> str:
    return text.replace("```tool_code\n", "").replace("\n```", "")


def bracketed(text: str, tagged: bool) -> str:
    """Gorilla: adds brackets around any text."""
    return tag_content(f"[{text}]") if tagged else f"[{text}]"


def read_nexus(text: str) -> str:
    """Nexus: removes its word for calls at read time."""
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
    """Phi's calls as call texts, without trimming the text first."""
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


# -- Granite 20B, GLM-4, MiniCPM -------------------------------------------------------------------------------------


def _granite20b_members(result: object) -> list[str | Pair]:
    members: list[str | Pair] = []
    for piece in text_result(result).split("<function_call>"):
        piece = piece.strip()
        if not piece:
            continue
        try:
            value = parse_json(piece)
        except DecodeError:
            members.append(piece)
            continue
        if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
            raise DecodeError("a call is an object with a name")
        name = value.get("name", "").strip()
        members.append("No function is called" if name == "no_function" else (name, value.get("arguments", {})))
    return members


def granite20b_calls(result: object) -> list[Any]:
    """*function_call*: other texts than JSON stay texts among the calls."""
    members = _granite20b_members(result)
    return [member if isinstance(member, str) else objects([member])[0] for member in members]


def granite20b_texts(result: object) -> list[str]:
    """The same as call texts; prose is executed as a call, a defect of the handler."""
    members = _granite20b_members(result)
    return [member if isinstance(member, str) else texts([member])[0] for member in members]


def glm_calls(result: object) -> list[Any]:
    """*two lines*: the name, then its arguments; a single line is a text where a call is expected."""
    lines = text_result(result).split("\n")
    return [result] if len(lines) == 1 else [{lines[0]: parse_json(lines[1])}]


def glm_texts(result: object) -> list[str]:
    """The same as call texts; a single line raises, the empty text is no call."""
    if result == "":
        return []
    calls = glm_calls(result)
    if isinstance(calls[0], str):
        raise DecodeError("one line is no call")
    return texts(calls[0].items())


_THOUGHT, _THOUGHT_END = "<|thought_start|>", "<|thought_end|>"
_BLOCK, _BLOCK_END = "<|tool_call_start|>", "<|tool_call_end|>"


def minicpm_block(result: object) -> tuple[str, str | None]:
    """The text after the block of calls, and the block's inside (``None`` without one)."""
    text = text_result(result)
    if _THOUGHT in text and _THOUGHT_END in text:
        if text.index(_THOUGHT) > text.rindex(_THOUGHT_END):
            raise DecodeError("thought tags in the wrong order")
        text = text.rpartition(_THOUGHT_END)[2]
    if _BLOCK not in text or _BLOCK_END not in text:
        return text.strip(), None
    start, end = text.index(_BLOCK), text.rindex(_BLOCK_END)
    if start > end:
        raise DecodeError("call tags in the wrong order")
    inside = text[start + len(_BLOCK) : end].strip()
    rest = text[end + len(_BLOCK_END) :].strip()
    if inside.startswith("`"):
        inside = inside.lstrip("`").strip()
        if inside.startswith("python"):
            inside = inside.lstrip("python").strip()
    return rest, inside.rstrip("`").strip()


def statement_calls(inside: str) -> list[Call]:
    """The calls of Python statements, a call as value of each. Raises if one has none."""
    check_length(inside)
    try:
        tree = parse_python(inside, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise DecodeError(f"not Python statements: {error}") from None
    nodes = []
    for statement in getattr(tree, "body", ()):
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.Return)) or not isinstance(value, ast.Call):
            raise DecodeError("a statement without a call")
        nodes.append(value)
    return read_calls(nodes)


def minicpm_calls(result: object) -> Any:
    """*python block*: without a readable block the text behind it."""
    rest, inside = minicpm_block(result)
    try:
        calls = statement_calls(inside) if inside else []
    except DecodeError:
        calls = []
    return [call.as_object() for call in calls] or rest


def minicpm_texts(result: object) -> list[str]:
    """The same as call texts; without a readable block no call."""
    _, inside = minicpm_block(result)
    try:
        return written_calls(statement_calls(inside)) if inside else []
    except DecodeError:
        return []


# -- FunctionGemma: ``call:NAME{key:value}`` in tags -----------------------------------------------------------------

START, END, ESCAPE = "<start_function_call>", "<end_function_call>", "<escape>"
_WORDS = {"null": None, "true": True, "false": False}
_MARKS = frozenset("{[:]},")


def gemma_pairs(result: object) -> list[Pair]:
    """*gemma call*: name and arguments of every tagged call."""
    pairs: list[Pair] = []
    for inside in spans(text_result(result), START, END):
        inside = inside.strip()
        if inside.startswith("call:"):
            name, brace, rest = inside.removeprefix("call:").partition("{")
            pairs.append((name.strip(), _Scanner(brace + rest).arguments() if brace else {}))
    return pairs


class _Scanner:
    """The handler's scanner, which never fails: open containers, keys of open objects, one pending value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: list[Any] = []
        self.open: list[list[Any] | Parsed] = [self.root]
        self.slots: list[str | None] = []
        self.pending: Any = None
        self.buffer: list[str] = []

    def arguments(self) -> Parsed:
        """The first member of the root if it is an object."""
        position, text = 0, self.text
        while position < len(text):
            character = text[position]
            if character == "<" and text.startswith(ESCAPE, position):
                end = text.find(ESCAPE, position + len(ESCAPE))
                self._commit()
                if end < 0:
                    self._add(text[position:])
                    break
                self._add(text[position + len(ESCAPE) : end])
                position = end + len(ESCAPE)
                continue
            if character in _MARKS:
                self._commit()
                self._mark(character)
            else:
                self.buffer.append(character)
            position += 1
        else:
            self._commit()
        first = self.root[0] if self.root else None
        return first if isinstance(first, dict) else {}

    def _commit(self) -> None:
        word = "".join(self.buffer).strip()
        self.buffer.clear()
        if word:
            self._add(_value(word))

    def _add(self, value: object) -> None:
        innermost = self.open[-1]
        if isinstance(innermost, list):
            innermost.append(value)
        elif self.slots and self.slots[-1] is not None:
            innermost[self.slots[-1]] = value
            self.slots[-1] = None
        else:
            self.pending = value

    def _mark(self, mark: str) -> None:
        if mark in "{[":
            container: list[Any] | Parsed = {} if mark == "{" else []
            if len(self.open) > MAX_DEPTH:
                raise DecodeError(f"containers nested deeper than {MAX_DEPTH}")
            self._add(container)
            self.open.append(container)
            if mark == "{":
                self.slots.append(None)
            self.pending = None
        elif mark in "}]":
            if mark == "}" and self.slots:
                self.slots.pop()
            if len(self.open) > 1:
                self.open.pop()
            self.pending = None
        elif mark == ",":
            self.pending = None
        else:
            if self.pending is not None and isinstance(self.open[-1], dict) and self.slots:
                self.slots[-1] = str(self.pending)
            self.pending = None


def _value(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    for kind in (int, float):
        try:
            value = kind(word)
        except ValueError:
            continue
        return check_integer(value) if isinstance(value, int) else value
    return word
