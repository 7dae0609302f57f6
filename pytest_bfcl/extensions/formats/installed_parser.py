"""The benchmark's handlers by the formats they read, with the exact failure behaviour of each (formats spec §4).

An engine's own parser runs on a text whole, and streamed with every split. That finds the splits that change the result
of a streaming parser, and the smallest of them.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from pytest_bfcl.extensions.formats import json_calls, text_calls
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.formats.decoders import HANDLER, HANDLERS, Decoder, handler_name
from pytest_bfcl.formats.members import Pair, items, iterated, objects, pair, string_parsed, texts
from pytest_bfcl.formats.served import calls_of, texts_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError

ENGINES = {"vllm": "BFCL_VLLM", "sglang": "BFCL_SGLANG", "lmdeploy": "BFCL_LMDEPLOY", "mlx": "BFCL_MLX"}
"""Engine → the environment variable with its Python; default: the Python of this run."""
STREAMED = "+stream"
START_S = 300.0
"""Importing an engine takes from seconds to minutes."""
ANSWER_S = 20.0
MOST_BYTES = 64 * 2**20
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}

Calls = list[tuple[str, str]]
"""Pairs of name and arguments text."""


def is_installed_name(name: str) -> bool:
    """Whether a decoder's name is ``ENGINE:PARSER``."""
    return name.partition(":")[0] in ENGINES and ":" in name


@lru_cache(maxsize=8)
def installed_parser(name: str, tokenizer: str = "") -> InstalledParser:
    """The parser ``ENGINE:NAME``, started once in this process. Raises `UsageError`."""
    engine, _, parser = name.partition(":")
    return InstalledParser(engine, parser.removesuffix(STREAMED), tokenizer)


class InstalledParser:
    """One parser of an engine in its own process; a hanging parser costs its text, not the run.

    ``tokenizer``: the folder of the model's own; by default a made-up one with every special token that the parser
    needs. Raises `UsageError` if the engine is not installed or has no such parser.
    """

    def __init__(self, engine: str, name: str, tokenizer: str = "") -> None:
        if engine not in ENGINES or not name:
            raise UsageError(f"{engine}:{name} is no parser of {' or '.join(ENGINES)}: write vllm:hermes")
        self.engine, self.name = engine, name
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._start()
        atexit.register(self.close)

    def whole(self, text: str, functions: Sequence[Fields] = (), *, dots: str = "_") -> Calls:
        """The calls of an unstreamed reply. Raises `DecodeError` if the parser raises. ``dots``: the sent replacement
        of dots in names.
        """
        return _calls(self._ask({"text": text, "tools": tools_of(functions, dots)}).get("whole"))

    def streamed(
        self, text: str, functions: Sequence[Fields], splits: Sequence[Sequence[int]]
    ) -> list[Calls | DecodeError]:
        """The calls of a reply streamed with each of these splits; a split lists the cuts in `atoms`."""
        answer = self._ask({"text": text, "tools": tools_of(functions), "splits": [list(cuts) for cuts in splits]})
        found: list[Calls | DecodeError] = []
        for each in answer.get("streamed") or ():
            try:
                found.append(_calls(each))
            except DecodeError as error:
                found.append(error)
        return found

    def atoms(self, text: str, functions: Sequence[Fields] = ()) -> list[str]:
        """The pieces of a text that always arrive whole: special tokens, and single characters."""
        return list(self._ask({"atoms": text, "tools": tools_of(functions)}).get("atoms") or ())

    def close(self) -> None:
        """End the process; the next request starts a new one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _start(self) -> None:
        python = os.environ.get(ENGINES[self.engine]) or sys.executable
        script = str(Path(__file__).with_name("parser_worker.py"))
        command = [python, script, self.engine, self.name, *([self._tokenizer] if self._tokenizer else [])]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise UsageError(f"{ENGINES[self.engine]}={python} cannot be started: {error}") from None
        told = self._read(START_S)
        if "ready" in told:
            return
        self.close()
        if "unknown" in told:
            known = [str(name) for name in told["unknown"]]
            raise UsageError(f"{self.engine} has no parser {self.name!r}; {instead_of(self.name, known)}")
        why = str(told.get("missing") or told.get("error") or "its process ended")
        raise UsageError(
            f"{self.engine}:{self.name} needs {self.engine} in {python}: {why}\n"
            f"what to do: install it there, or name the Python that has it in {ENGINES[self.engine]}"
        )

    def _ask(self, question: Parsed) -> Parsed:
        with self._lock:
            if self._process is None:
                self._start()
            assert self._process is not None
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(question).encode() + b"\n")
                self._process.stdin.flush()
            except OSError:
                self.close()
                raise DecodeError(f"the parser {self.engine}:{self.name} has ended") from None
            answer = self._read(ANSWER_S + 0.05 * len(question.get("splits") or ()))
        if "error" in answer:
            self.close()
            raise DecodeError(f"{self.engine}:{self.name}: {answer['error']}")
        return answer

    def _read(self, limit_s: float) -> Parsed:
        """One line of the worker; an ``error`` if it ends, writes too much or takes too long."""
        assert self._process is not None
        assert self._process.stdout is not None
        line, stdout = b"", self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(limit_s):
                    return {"error": f"no answer within {limit_s:.0f} s"}
                part = os.read(stdout.fileno(), 65_536)
                line += part
                if not part or len(line) > MOST_BYTES:
                    return {"error": "its process ended" if not part else "an answer without end"}
        value = json.loads(line)
        return value if isinstance(value, dict) else {"error": "no object"}


def _calls(found: object) -> Calls:
    if not isinstance(found, list):
        raise DecodeError(f"the parser raised: {found}")
    return [(str(name), str(arguments)) for name, arguments in found]


def pairs_of(calls: Calls) -> list[tuple[str, Any]]:
    """Names with parsed arguments. Raises `DecodeError` for arguments that are no JSON."""
    pairs = []
    for name, arguments in calls:
        try:
            pairs.append((name, json.loads(arguments or "{}")))
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"arguments of {name} are no JSON: {error}") from None
    return pairs


def tools_of(functions: Sequence[Fields], dots: str = "_") -> list[Parsed]:
    """Function documents as OpenAI's tools, the types JSON schema's."""
    return [
        {"type": "function", "function": {
            "name": str(each.get("name", "")).replace(".", dots), "description": str(each.get("description", "")),
            "parameters": _schema(each.get("parameters") or {"type": "object", "properties": {}}, 0)}}
        for each in functions
    ]  # fmt: skip


def _schema(value: Any, depth: int) -> Any:
    if depth > 40:
        return {}
    if isinstance(value, dict):
        return {
            key: _TYPES.get(item, item) if key == "type" and isinstance(item, str) else _schema(item, depth + 1)
            for key, item in value.items()
        }
    return [_schema(item, depth + 1) for item in value] if isinstance(value, list) else value


MOST_CUTS = 1_500
"""Cut positions up to which each is tried; in longer texts every second, third …"""
EVEN = (1, 2, 3, 4, 5, 8, 13, 21)
"""Lengths of even deltas that are tried, in atoms."""
SCATTERED = 40
"""Splits at random places, the same for every text of a length."""
MOST_SHRINKS = 400

T = TypeVar("T")

Cuts = tuple[int, ...]


def splits_of(atoms: Sequence[str]) -> list[Cuts]:
    """Every tried split: uncut, one cut at each position, deltas of even lengths, tokens, scattered cuts."""
    count = len(atoms)
    step = 1 + count // MOST_CUTS
    splits: list[Cuts] = [(), *((place,) for place in range(1, count, step))]
    splits += (tuple(range(length, count, length)) for length in EVEN if length < count)
    dice = random.Random(count)
    scattered = (_scattered(dice, count) for _ in range(SCATTERED if count > 2 else 0))
    return list(dict.fromkeys([*splits, token_cuts(atoms), *scattered]))


def _scattered(dice: random.Random, count: int) -> Cuts:
    return tuple(sorted(dice.sample(range(1, count), dice.randint(1, min(count - 1, 40)))))


def deltas_of(atoms: Sequence[str], cuts: Cuts) -> tuple[str, ...]:
    """The pieces that arrive."""
    return tuple("".join(atoms[start:end]) for start, end in pairwise((0, *cuts, len(atoms))))


def token_cuts(atoms: Sequence[str]) -> Cuts:
    """Where a server's tokens end: around special ones, else every four characters."""
    cuts, run = [], 0
    for place, atom in enumerate(atoms):
        if len(atom) > 1 or run == 4 or (place and len(atoms[place - 1]) > 1):
            cuts.append(place)
            run = 0
        run += 1
    return tuple(cut for cut in cuts if cut)


def shrunk(cuts: Cuts, found: T, wrong: Callable[[Sequence[Cuts]], list[tuple[Cuts, T]]]) -> tuple[Cuts, T]:
    """Fewer cuts of the same split that still fail: halves first, then one by one."""
    tried, size = 0, len(cuts) // 2
    while size and tried < MOST_SHRINKS:
        fewer = [cuts[:start] + cuts[start + size :] for start in range(0, len(cuts), size)]
        tried += len(fewer)
        still = wrong([each for each in fewer if each])
        if still:
            cuts, found = still[0]
            size = min(size, len(cuts) // 2 or (1 if len(cuts) > 1 else 0))
        else:
            size //= 2
    return cuts, found


def _handler(
    name: str, texts: Callable[..., list[str]], calls: Callable[..., Any] | None = None, **more: Any
) -> Decoder:
    return Decoder(handler_name(name), HANDLERS[name], texts, calls, **more)


def _of_pairs(name: str, pairs: Callable[..., list[Pair]], comma: str = ",", **more: Any) -> Decoder:
    """A handler with both readings from the same pairs."""
    return _handler(
        name, lambda result: texts(pairs(result), comma), lambda result: objects(pairs(result)), **more
    )  # fmt: skip


def native_calls(result: object) -> list[Any]:
    """``{name: JSON text}`` objects; the empty text is the empty list, any other does not decode."""
    if result == "":
        return []
    if not isinstance(result, list):
        raise DecodeError("no tool call: the reply is text" if result else "no tool call and no text")
    return objects((name, _parsed(arguments)) for name, arguments in items(result))


def _parsed(arguments: object) -> Any:
    return parse_json(arguments) if isinstance(arguments, str) else arguments


def native_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(items(native_calls(result)))


def mixed_calls(result: Any) -> list[Any]:
    """Nova and Gemini: calls hold parsed arguments; a text-only reply is a list of texts, which is no list of calls."""
    return [result] * bool(result) if isinstance(result, str) else list(result)


def mixed_texts(result: object) -> list[str]:
    """The same as call texts; a list of texts raises."""
    if not isinstance(result, list):
        if result == "":
            return []
        raise DecodeError("no tool call: the reply is text")
    return texts(string_parsed(items(result)))


def cohere_pairs(result: object) -> list[Pair]:
    """Calls stored as ``{tool_name, parameters}``; anything else is no call."""
    return list(items(result)) if isinstance(result, list) else []


def xiaoming_calls(result: object) -> list[Any]:
    """xiaoming: stored as native calls, read like DM-Cito's, so calls never decode."""
    return objects(map(pair, iterated(result)))


def installed_decoder(name: str) -> Decoder:
    """The requested parser; ``+stream`` reads token by token. Raises `UsageError`."""
    parser = installed_parser(name)

    def pairs(text: str, functions: Sequence[Fields]) -> list[tuple[Any, Any]]:
        if not name.endswith(STREAMED):
            return list(pairs_of(parser.whole(text, functions)))
        (calls,) = parser.streamed(text, functions, [token_cuts(parser.atoms(text, functions))])
        if isinstance(calls, DecodeError):
            raise calls
        return list(pairs_of(calls))

    what = f"the parser {parser.name} of an installed {parser.engine}"
    return Decoder(name, what, texts_of(pairs), calls_of(pairs), served=True, thinking="think")


_PARSED = (
    _handler("python-fence", text_calls.phi_texts, source=text_calls.without_fence),
    _handler("tool-code", text_calls.gemini_texts, source=text_calls.no_tool_code),
    _handler("toolcall", text_calls.toolcall_texts, source=text_calls.toolcall),
    _handler("gorilla", text_calls.never, source=text_calls.bracketed),
    _handler("nexus", text_calls.never, source=text_calls.nexus, read=text_calls.read_nexus),
)
_LISTED = json_calls.listed_texts, json_calls.listed_calls
_OWN = (
    _handler("hermes", json_calls.hermes_texts, json_calls.hermes_calls, thinking="think"),
    _handler("hermes-strict", *_LISTED, read=json_calls.read_arch, stored=True),
    _of_pairs("falcon", json_calls.falcon_pairs),
    _handler("granite3", *_LISTED, read=json_calls.read_granite3, stored=True),
    _handler("phi4-mini", *_LISTED, read=json_calls.read_phi, stored=True),
    _handler("granite20b", text_calls.granite20b_texts, text_calls.granite20b_calls),
    _of_pairs("llama3-json", json_calls.llama_pairs),
    _handler("hammer", json_calls.hammer_texts, json_calls.hammer_calls),
    _of_pairs("json-list", json_calls.bitagent_pairs),
    _of_pairs("xlam", json_calls.xlam_pairs),
    _handler("mistral-json", *_LISTED, read=json_calls.read_mistral, stored=True),
    _handler("thinkagent", json_calls.thinkagent_texts, lambda result: objects(json_calls.thinkagent_pairs(result))),
    _handler("glm4", text_calls.glm_texts, text_calls.glm_calls),
    _of_pairs("functiongemma", text_calls.gemma_pairs, ", "),
    _handler("minicpm3", text_calls.minicpm_texts, text_calls.minicpm_calls),
    _handler("tool-calls-list", json_calls.mining_texts, json_calls.mining_calls, read=json_calls.read_mining),
    _handler("native", native_texts, native_calls),
    _handler("native-or-texts", mixed_texts, mixed_calls, stored=True),
    _of_pairs("cohere", cohere_pairs, stored=True),
    _handler("xiaoming", json_calls.mining_texts, xiaoming_calls, stored=True),
)


DECODERS: Mapping[str, Decoder] = {decoder.name.removeprefix(HANDLER): decoder for decoder in (*_PARSED, *_OWN)}
"""Name → the *reference reading* of the format; the entry point ``reference`` of the group ``pytest_bfcl.handlers``."""
