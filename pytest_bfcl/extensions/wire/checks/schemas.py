"""Generated schemas: a dictated call arrives under any schema that it fits.

Schemas use keywords of JSON Schema 2020-12 that tools of OpenAI and Anthropic may have. A schema is made around its
value, so that the right call is known. Needs the package hypothesis (extra ``wire``).
"""

from __future__ import annotations

import asyncio
import json
import random
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.wire.checks.calls import SAID, asked_for_less, forms
from pytest_bfcl.extensions.wire.differences import Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, LikelyBroke, NotCalled, Probe, Suspected
from pytest_bfcl.extensions.wire.requests import Tool, dictate
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extras import install_command
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.json_schema import is_valid

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Pair = tuple[Parsed, Any]
"""A schema and a value that is valid under it."""
NAME = "set_up"
SUSPECTS = 3
"""Failing schemas that are examined before the model is called weak."""
SHRINKING = 100
"""Most schemas that are tried for a smaller failing one."""


async def _schemas(probe: Probe) -> None:
    if find_spec("hypothesis") is None:
        raise NotCalled(f"needs the package hypothesis: {install_command('wire')}")
    count, seed = probe.conduct.schemas, f"{probe.conduct.seed}/{probe.attempt}"
    if not count:
        raise NotCalled("--bfcl-sample schemas=0")
    found: list[Pair] = []

    def keep(pair: Pair) -> bool:
        found.append(pair)
        return False

    await asyncio.to_thread(drawn, count, seed, keep)
    right = await asyncio.gather(*(_is_right(probe, pair) for pair in found))
    odd = [pair for pair, held in zip(found, right, strict=True) if not held]
    wavered: NotCalled | None = None
    for pair in odd[:SUSPECTS]:
        try:
            await _weigh(probe, pair)
        except NotCalled as end:
            wavered = end
        except Broke as end:
            raise await _smallest(probe, count, seed, pair, end) from None
    if wavered is not None and not any(right):
        raise wavered


async def _is_right(probe: Probe, pair: Pair) -> bool:
    """Whether both forms of the answer have the call."""
    parameters, arguments = pair
    wanted = Wanted(NAME, arguments)
    requests = forms(dictate(wanted, tools=[Tool(NAME, parameters, SAID)]))
    replies = [each[0] for each in await asyncio.gather(*map(probe.replies, requests))]
    probe.called = probe.called or any(reply.calls for reply in replies)
    return all(not reply.problem and compare([wanted], reply).kind == "exact" for reply in replies)


async def _weigh(probe: Probe, pair: Pair) -> None:
    """Raises unless the call arrives; it is the server's fault if the call arrives under an open schema."""
    parameters, arguments = pair
    await asked_for_less(probe, Tool(NAME, parameters, SAID), arguments)


async def _smallest(probe: Probe, count: int, seed: str, first: Pair, end: Broke) -> Broke:
    """The fault at the smallest schema that shows it."""
    loop = asyncio.get_running_loop()
    known: dict[str, bool] = {}
    begun = False

    def fails(pair: Pair) -> bool:
        nonlocal begun
        begun = begun or pair == first  # whatever was drawn before it was right, or the model's
        text = json.dumps(pair)
        if text not in known and begun:
            asked = len(known) < SHRINKING and pair != first
            right = asyncio.run_coroutine_threadsafe(_is_right(probe, pair), loop).result() if asked else pair != first
            known[text] = not right
        return known.get(text, False)

    pair = await asyncio.to_thread(drawn, count, seed, fails) or first
    try:
        await _weigh(probe, pair)
    except Broke as smaller:
        first, end = pair, smaller
    except NotCalled:
        pass  # the smaller one was the model's mood
    why = (
        f"{end.why}; the smallest schema that shows it: {json.dumps(first[0], ensure_ascii=False)[:600]} (seed {seed})"
    )
    kind = Suspected if isinstance(end, Suspected) else LikelyBroke if isinstance(end, LikelyBroke) else Broke
    return kind(why, *end.exchanges, proof=end.proof)


# -- what is drawn ---------------------------------------------------------------------------------------------------

KEYS = ("a", "b", "kind", "max-size", "größe", "with blank", "@type", "class", "items", "name")
LETTERS = "abz AZ09'\"\\{}[]:,<&é世😀"
PATTERNS = (("^[a-z]+$", "abc"), ("^[A-Z]{2}-[0-9]{3}$", "NO-007"), ("[0-9]", "x 1"), ("^(on|off)$", "off"))
FORMATS = (
    ("date", "2026-02-28"),
    ("date-time", "2026-02-28T12:00:00Z"),
    ("email", "a@example.org"),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    ("ipv4", "192.0.2.1"),
)
OTHERS: dict[str, list[Any]] = {
    "string": ["other"], "integer": [5], "number": [0.5], "boolean": [False], "null": [None], "array": [], "object": [],
}  # fmt: skip
DEEPEST = 3
MOST = 8
"""Parameters of a tool: enough that forty schemas have every keyword several times."""


def tasks() -> SearchStrategy[Pair]:
    """Parameters of a tool and the arguments of a right call."""
    from hypothesis import strategies as st

    @st.composite
    def task(draw: DrawFn) -> Pair:
        parts = _Parts(draw)
        schema, value = parts.object_(0)
        return (schema | ({"$defs": parts.defs} if parts.defs else {})), value

    return task().filter(lambda pair: is_valid(*pair))


class _Parts:
    """One schema while it is drawn; simple choices come first, so that a failure shrinks towards them.

    Everything is drawn bit by bit, because hypothesis mixes numbers and texts of loaded modules into its draws, and a
    seed would not be repeatable.
    """

    def __init__(self, draw: DrawFn) -> None:
        from hypothesis import strategies as st

        self._bit, self._draw = st.booleans(), draw
        self.defs: Parsed = {}

    def any_(self, depth: int) -> Pair:
        kinds = [self.text, self.whole, self.decimal, self.boolean, self.nothing]
        if depth < DEEPEST:
            kinds += [lambda: self.list_(depth + 1), lambda: self.object_(depth + 1)]
        schema, value = self.one(kinds)()
        return self.one((self._plain, self._described, self._either, self._types, self._among, self._named))(
            schema, value
        ), value

    def one(self, choices: Any) -> Any:
        found = list(choices)
        return found[self.number(0, len(found) - 1)]

    def maybe(self) -> bool:
        return bool(self._draw(self._bit))

    def number(self, low: int, high: int) -> int:
        drawn = 0
        for _ in range((high - low).bit_length()):
            drawn = 2 * drawn + self.maybe()
        return low + drawn % (high - low + 1)

    # -- values --------------------------------------------------------------------------------------------------

    def text(self) -> Pair:
        kind = self.one(("any", "pattern", "format", "length"))
        if kind == "pattern":
            pattern, value = self.one(PATTERNS)
            return {"type": "string", "pattern": pattern}, value
        if kind == "format":
            name, value = self.one(FORMATS)
            return {"type": "string", "format": name}, value
        text = "".join(self.one(LETTERS) for _ in range(self.number(0, 7)))
        limits = {"minLength": len(text), "maxLength": len(text) + self.number(0, 3)} if kind == "length" else {}
        return {"type": "string", **limits}, text

    def whole(self) -> Pair:
        value = self.number(0, 10**6) * self.one((1, -1))
        return {"type": "integer", **self._around(value)}, value

    def decimal(self) -> Pair:
        value = self.number(0, 8_000) / self.one((8, -8))
        return {"type": "number", **self._around(value)}, value

    def _around(self, value: float) -> Parsed:
        kind = self.one(("any", "closed", "open", "multiple"))
        if kind == "closed":
            return {"minimum": value, "maximum": value + self.number(0, 9)}
        if kind == "open":
            return {"exclusiveMinimum": value - 1, "exclusiveMaximum": value + 1}
        return {"multipleOf": 1 if isinstance(value, int) else 0.125} if kind == "multiple" else {}

    def boolean(self) -> Pair:
        return {"type": "boolean"}, self.maybe()

    def nothing(self) -> Pair:
        return {"type": "null"}, None

    # -- what holds others ---------------------------------------------------------------------------------------

    def list_(self, depth: int) -> Pair:
        items = [self.any_(depth) for _ in range(self.number(0, 3))]
        schemas = list({json.dumps(schema, sort_keys=True): schema for schema, _ in items}.values())
        inner = schemas[0] if len(schemas) == 1 else {"anyOf": schemas} if schemas else {}
        limits = {"minItems": len(items), "maxItems": len(items) + 1} if self.maybe() else {}
        return {"type": "array", "items": inner, **limits}, [value for _, value in items]

    def object_(self, depth: int) -> Pair:
        left, names = list(KEYS), []
        for _ in range(self.number(not depth, 3 if depth else MOST)):
            names.append(left.pop(self.number(0, len(left) - 1)))
        members = {name: self.any_(depth) for name in names}
        schema: Parsed = {"type": "object", "properties": {name: each for name, (each, _) in members.items()}}
        value = {name: each for name, (_, each) in members.items()}
        left_out = self.one((None, *names)) if len(names) > 1 else None
        schema["required"] = [name for name in names if name != left_out]
        if left_out is not None and self.maybe():
            del value[left_out]
        kind = self.one(("open", "closed", "further"))
        if kind == "closed":
            schema["additionalProperties"] = False
        elif kind == "further":
            schema["additionalProperties"], value["of one's own"] = self.any_(DEEPEST)
        return schema, value

    # -- what stands around a schema -----------------------------------------------------------------------------

    def _plain(self, schema: Parsed, value: Any) -> Parsed:
        return schema

    def _described(self, schema: Parsed, value: Any) -> Parsed:
        return {**schema, "title": "A title", "description": "What it is for.", "default": value}

    def _either(self, schema: Parsed, value: Any) -> Parsed:
        other = {"type": self.one(OTHERS)}
        return {"anyOf": [other, schema]}

    def _types(self, schema: Parsed, value: Any) -> Parsed:
        other = self.one(name for name in OTHERS if name != schema["type"])
        return {**schema, "type": [other, schema["type"]]}

    def _among(self, schema: Parsed, value: Any) -> Parsed:
        if isinstance(value, dict | list) or value is None:
            return schema
        return {"enum": [*OTHERS[schema["type"]], value]} if self.maybe() else {"const": value}

    def _named(self, schema: Parsed, value: Any) -> Parsed:
        name = f"part_{len(self.defs)}"
        self.defs[name] = schema
        return {"$ref": f"#/$defs/{name}"}


def drawn(count: int, seed: str, fails: Callable[[Pair], bool]) -> Pair | None:
    """Draw ``count`` pairs and check each; the smallest failing pair, ``None`` without any."""
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import HypothesisDeprecationWarning, NoSuchExample

    # Other threads draw random numbers meanwhile, our strategies do not.
    warnings.filterwarnings("ignore", ".*`random` module inside strategies", HypothesisDeprecationWarning)
    conduct = settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        return find(tasks(), fails, settings=conduct, random=random.Random(seed))
    except NoSuchExample:
        return None


JUDGES: Judges = {
    "schemas_generated": _schemas,
}
