"""A parser of vLLM, SGLang, LMDeploy or mlx-lm in its own process; runs in any Python that has the engine.

Started as ``python parser_worker.py ENGINE NAME [TOKENIZER]``. Lines of JSON in and out:
``{"text", "tools", "splits"}`` →
``{"whole": calls, "streamed": [calls of each split]}`` or ``{"error"}``; a split lists the places, in atoms, where the
text is cut. Calls are pairs of name and arguments text; where the parser raises, they are a text. ``{"atoms": text}``
asks for the pieces that no split cuts.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any

MARKED = re.compile(r"[<\[|\uff5c\]>]")
SPECIAL = re.compile(r"<[|\uff5c][^<>|\uff5c\s]{1,40}[|\uff5c]>")
"""Special tokens of every model."""
MOST_SPECIAL = 4096
FIRST_SPECIAL = 0x110000
"""Ids of special tokens come after those of characters."""


class AnyTokenizer:
    """A tokenizer of characters with every special token that a parser requests, like the model's own."""

    eos_token_id = bos_token_id = pad_token_id = eos_token = bos_token = None

    def __init__(self) -> None:
        self.special: dict[str, int] = {}

    def get_vocab(self) -> Vocabulary:
        """Every possible entry."""
        return Vocabulary(self)

    vocab = property(get_vocab)
    get_added_vocab = get_vocab

    @property
    def all_special_tokens(self) -> list[str]:
        """The requested ones."""
        return list(self.special)

    @property
    def all_special_ids(self) -> list[int]:
        """Their ids."""
        return list(self.special.values())

    def tokenize(self, text: str, *_: Any, **__: Any) -> list[str]:
        """Special tokens and characters."""
        return atoms_of(text, self)

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        """Ids of `tokenize`."""
        pieces = self.tokenize(text)
        return [self.special.get(piece) or ord(piece[0]) for piece in pieces]

    def __call__(self, text: str, *_: Any, **__: Any) -> dict[str, list[int]]:
        """As tokenizers are called."""
        return {"input_ids": self.encode(text)}

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Of one token or of a list."""
        vocabulary = self.get_vocab()
        return vocabulary.get(tokens) if isinstance(tokens, str) else [vocabulary.get(token) for token in tokens]

    def convert_ids_to_tokens(self, ids: Any, *_: Any, **__: Any) -> Any:
        """Of one id or of a list."""
        names = {number: token for token, number in self.special.items()}
        return names.get(ids) or chr(ids) if isinstance(ids, int) else [names.get(each) or chr(each) for each in ids]

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """The text."""
        return "".join(tokens)

    def decode(self, ids: Any, *_: Any, **__: Any) -> str:
        """The text."""
        return "".join(self.convert_ids_to_tokens(ids))


class Vocabulary(dict[str, int]):
    """A vocabulary that contains every requested sign."""

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        super().__init__(tokenizer.special)
        self._tokenizer = tokenizer

    def __missing__(self, token: Any) -> int:
        special = self._tokenizer.special
        if token in special:
            return special[token]
        if not isinstance(token, str) or not MARKED.search(token) or len(special) >= MOST_SPECIAL:
            raise KeyError(token)
        special[token] = FIRST_SPECIAL + len(special)
        return special[token]

    def get(self, token: Any, default: Any = None) -> Any:
        """As `dict.get`, with marks."""
        try:
            return self[token]
        except KeyError:
            return default

    def __contains__(self, token: object) -> bool:
        return self.get(token) is not None


class Calls:
    """Calls joined from the pieces of a stream, like by a client."""

    def __init__(self) -> None:
        self._found: dict[int, list[Any]] = {}

    def add(self, index: int, name: str | None, arguments: str | None) -> None:
        """Take a piece."""
        call = self._found.setdefault(index, [None, ""])
        call[0] = call[0] or name
        call[1] += arguments or ""

    def take(self, message: Any) -> None:
        """Take a message of vLLM's."""
        for piece in getattr(message, "tool_calls", None) or ():
            self.add(piece.index, getattr(piece.function, "name", None), getattr(piece.function, "arguments", None))

    def rest(self, arguments: str) -> None:
        """The server's addition to the last call at the end of the text."""
        if arguments and self._found:
            self._found[max(self._found)][1] += arguments

    def all(self) -> list[Any]:
        """The calls in their order."""
        return [self._found[index] for index in sorted(self._found)]


class Vllm:
    """A parser of vLLM, made for every text."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._parser = _manager().get_tool_parser(name)
        self._request = _first("vllm.entrypoints.openai.chat_completion.protocol", "vllm.entrypoints.openai.protocol")

    def made(self, tools: Any) -> tuple[Any, Any]:
        """Parser and request."""
        asked = [{"role": "user", "content": "?"}]
        request = self._request.ChatCompletionRequest(model="m", messages=asked, tools=tools or None)
        try:
            return self._parser(self._tokenizer, request.tools), request
        except TypeError:  # the parsers of an older vLLM know nothing of tools
            return self._parser(self._tokenizer), request

    def whole(self, text: str, tools: Any) -> list[Any]:
        """Its calls of an unstreamed text."""
        parser, request = self.made(tools)
        found = parser.extract_tool_calls(text, request)
        calls = found.tool_calls if found.tools_called else ()
        return [[call.function.name, call.function.arguments] for call in calls]

    def streamed(self, deltas: Sequence[str], tools: Any) -> list[Any]:
        """Its calls of a streamed text, with the server's addition at the end."""
        parser, request = self.made(tools)
        calls, seen = Calls(), ""
        ids: list[int] = []
        for delta in deltas:
            new = self._tokenizer.encode(delta, add_special_tokens=False)
            told = parser.extract_tool_calls_streaming(seen, seen + delta, delta, ids, ids + new, new, request)
            seen, ids = seen + delta, ids + new
            calls.take(told)
        if hasattr(parser, "finish_streaming"):
            calls.take(parser.finish_streaming())
        elif hasattr(parser, "get_remaining_unstreamed_args"):
            calls.rest(parser.get_remaining_unstreamed_args())
        return calls.all()


class Sglang:
    """A parser of SGLang, made for every text."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        self._name, self._parser = name, _detectors()
        self._protocol = _first("sglang.srt.entrypoints.openai.protocol", "sglang.srt.openai_api.protocol")
        if name not in self._parser.ToolCallParserEnum:
            raise KeyError(name)

    def made(self, tools: Any) -> Any:
        """The parser."""
        return self._parser([self._protocol.Tool(**each) for each in tools or ()], self._name)

    def whole(self, text: str, tools: Any) -> list[Any]:
        """Its calls of an unstreamed text."""
        return [[call.name, call.parameters] for call in self.made(tools).parse_non_stream(text)[1]]

    def streamed(self, deltas: Sequence[str], tools: Any) -> list[Any]:
        """Its calls of a streamed text."""
        parser, calls = self.made(tools), Calls()
        for delta in deltas:
            for call in parser.parse_stream_chunk(delta)[1]:
                calls.add(call.tool_index, call.name, call.parameters)
        return calls.all()


class Lmdeploy:
    """A parser of LMDeploy, made for every text; loaded without the engine, which needs a GPU's libraries."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        if name not in _lmdeploy_names():
            raise KeyError(name)
        self._request = _first("lmdeploy.serve.openai.protocol").ChatCompletionRequest
        self._parser = _first("lmdeploy.serve.parsers").ResponseParserManager.get("default")
        self._parser.set_parsers(None, name)

    def made(self, tools: Any) -> Any:
        """The parser."""
        asked = [{"role": "user", "content": "?"}]
        return self._parser(self._request(model="m", messages=asked, tools=tools or None))

    def whole(self, text: str, tools: Any) -> list[Any]:
        """Its calls of an unstreamed text."""
        calls = self.made(tools).parse_complete(text)[1] or ()
        return [[call.function.name, call.function.arguments] for call in calls]

    def streamed(self, deltas: Sequence[str], tools: Any) -> list[Any]:
        """Its calls of a streamed text."""
        parser, calls = self.made(tools), Calls()
        for number, delta in enumerate(deltas, 1):
            for message, _ in parser.stream_chunk(delta, [], final=number == len(deltas)):
                calls.take(message)
        return calls.all()


class Mlx:
    """A parser of mlx-lm, which gets the text between its tags; loaded without mlx, which is for one maker."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        if name not in _mlx_names():
            raise KeyError(name)
        self._module = import_module(f"mlx_lm.tool_parsers.{name}")

    def made(self, tools: Any) -> Any:
        """The parser, which keeps nothing."""
        return self._module

    def whole(self, text: str, tools: Any) -> list[Any]:
        """Its calls of an unstreamed text."""
        opening, closing = self._module.tool_call_start, self._module.tool_call_end
        found: list[Any] = []
        for rest in text.split(opening)[1:]:
            inside = self._module.parse_tool_call(rest.partition(closing)[0] if closing else rest, tools)
            found += inside if isinstance(inside, list) else [inside]
        return [[each["name"], json.dumps(each["arguments"])] for each in found]


def _bare(name: str, *inner: str) -> str:
    """A package without the imports of its first file, and its subpackages; its folder."""
    from importlib.util import find_spec

    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {name!r}")
    folder = next(iter(found.submodule_search_locations))
    for each in (name, *inner):
        package = ModuleType(each)
        package.__path__ = [os.path.join(folder, *each.split(".")[1:])]
        sys.modules[each] = package
    return folder


def _mlx_names() -> list[str]:
    from pathlib import Path

    return sorted(file.stem for file in Path(_bare("mlx_lm"), "tool_parsers").glob("[a-z]*.py"))


def _lmdeploy_names() -> list[str]:
    import logging

    if "lmdeploy" not in sys.modules:
        _bare("lmdeploy", "lmdeploy.serve", "lmdeploy.serve.openai")
        told = ModuleType("lmdeploy.utils")  # of which the parsers only need the log
        vars(told)["get_logger"] = logging.getLogger
        sys.modules["lmdeploy.utils"] = told
    return sorted(_first("lmdeploy.serve.parsers.tool_parser").ToolParserManager.module_dict)


def _first(*modules: str) -> Any:
    """The first existing module, because releases move them."""
    for name in modules[:-1]:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise
    return import_module(modules[-1])


def _manager() -> Any:
    return _first("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers").ToolParserManager


def _detectors() -> Any:
    found = _first("sglang.srt.function_call.function_call_parser", "sglang.srt.function_call_parser")
    return found.FunctionCallParser


def known_names(engine: str) -> list[str]:
    """The parsers an engine has."""
    if engine == "mlx":
        return _mlx_names()
    if engine == "lmdeploy":
        return _lmdeploy_names()
    if engine == "sglang":
        return sorted(_detectors().ToolCallParserEnum)
    manager = _manager()
    return sorted(manager.list_registered() if hasattr(manager, "list_registered") else manager.tool_parsers)


def tokenizer_of(folder: str) -> Any:
    """A model's own tokenizer from a folder, else one with every token."""
    if not folder:
        return AnyTokenizer()
    transformers = _first("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def atoms_of(text: str, tokenizer: Any) -> list[str]:
    """Pieces that arrive whole: special tokens; everything else is cut anywhere."""
    if isinstance(tokenizer, AnyTokenizer):
        added = {mark: tokenizer.get_vocab().get(mark) for mark in SPECIAL.findall(text)}
    else:
        added = tokenizer.get_added_vocab()
    known = sorted({*tokenizer.all_special_tokens, *added} - {""}, key=len, reverse=True)
    if not known:
        return list(text)
    special = "|".join(map(re.escape, known))
    return [piece for piece in re.split(f"({special})|(.)", text, flags=re.DOTALL) if piece]


def tried(parse: Callable[..., Any], *given: Any) -> Any:
    """A parser's calls, or its failure."""
    try:
        return parse(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def answer(parser: Any, tokenizer: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """One line's answer."""
    tools = asked.get("tools") or []
    if "atoms" in asked:
        tried(parser.made, tools)  # asks for its special tokens
        return {"atoms": atoms_of(asked["atoms"], tokenizer)}
    text, streamed = asked["text"], []
    if "splits" not in asked:
        return {"whole": tried(parser.whole, text, tools)}
    atoms = atoms_of(text, tokenizer)
    for cuts in asked["splits"]:
        deltas = ["".join(atoms[start:end]) for start, end in pairwise([0, *cuts, len(atoms)])]
        streamed.append(tried(parser.streamed, [each for each in deltas if each], tools))
    return {"streamed": streamed}


def main() -> None:
    """Answer until the input ends. The engine's output goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine, name, folder = [*sys.argv[1:], ""][:3]

    def say(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    try:
        tokenizer = tokenizer_of(folder)
        kinds: dict[str, Any] = {"vllm": Vllm, "sglang": Sglang, "lmdeploy": Lmdeploy, "mlx": Mlx}
        parser = kinds[engine](name, tokenizer)
        parser.made([])
    except KeyError:
        say({"unknown": known_names(engine)})
        return
    except Exception as error:
        say({"missing": f"{type(error).__name__}: {error}"[:500]})
        return
    say({"ready": name})
    for line in sys.stdin:
        try:
            say(answer(parser, tokenizer, json.loads(line)))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"[:500]})


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: nothing in it is for an engine to import
    main()
