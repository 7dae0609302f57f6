"""Texts of every format, read by our decoder and by every installed parser of the same family: where do they differ?

``python scripts/parser_differences.py [FORMAT …] [--texts N] [--seed N]`` with the engines' Pythons in BFCL_VLLM,
BFCL_SGLANG, BFCL_LMDEPLOY and BFCL_MLX. A text is calls and features (unclosed tags, own marks in values, keyword
names, prose …); one on which anybody differs is made smaller as long as somebody does, and what differs alike is one
group. Prints Markdown for docs/formats.md; ``--json FILE`` keeps every group. Exit code 1 where a majority reads
otherwise than we do and the group is not in ``--known FILE``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.formats.installed_parser import InstalledParser, pairs_of
from pytest_bfcl.extensions.wire.cutting import Writing, writings
from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.detection import own_calls
from pytest_bfcl.formats.table import families, find_decoder
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Reply

Pairs = list[tuple[str, Any]]
MLX = {
    "hermes": "json_tools", "qwen-coder": "qwen3_coder", "glm45": "glm47", "longcat": "longcat", "kimi": "kimi_k2",
    "minimax-m2": "minimax_m2", "gemma4": "gemma4", "functiongemma": "function_gemma", "lfm2": "pythonic",
    "mistral": "mistral",
}  # fmt: skip
"""Formats → mlx-lm's names for their parsers, which the table of families does not have."""
LMDEPLOY = {
    "hermes": "qwen3", "qwen-coder": "qwen3coder", "glm45": "glm47", "kimi": "kimi-k2", "dsml": "deepseek-v4",
    "internlm": "internlm", "llama3-json": "llama3",
}  # fmt: skip
"""Formats → LMDeploy's names for their parsers."""
TAG = re.compile(r"[<\[][^<>\[\]$]*[>\]]\n?|[<\[][^<>$\[\]]*\Z")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def ends(writing: Writing) -> tuple[str, str]:
    """What a block opens and closes with: the signs around all calls, else the first and last tags of one."""
    opening, closing = writing.before, writing.after
    tags = TAG.findall(writing.call)
    if not opening and tags and writing.call.startswith(tags[0]):
        opening = tags[0]
    if not closing and tags and writing.call.endswith(tags[-1].rstrip("\n")):
        closing = tags[-1]
    return opening, closing


VALUES: dict[str, Any] = {
    "a text": "Bern", "an empty text": "", "white space": "  x ", "two lines": "a\nb\n", "quotes": 'say "hi", it is',
    "a quote": "it's", "a backslash": "C:\\new", "an entity": "a &lt; b &amp; c", "angle brackets": "a < b > c",
    "braces": "{x} [y] (z)", "an integer": 7, "a negative": -3, "a fraction": 2.5, "a whole fraction": 3.0,
    "an exponent": 1e21, "a long integer": 2**63, "true": True,
    "null": None, "a list": [1, "b", None], "an object": {"k": {"n": [1, {"m": "x"}]}}, "an empty object": {},
    "a number as a text": "42", "JSON as a text": '{"k": 1}', "other letters": "zürich 東京 🌍",
}  # fmt: skip
TYPES = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
FEATURES = (
    "two calls", "two blocks", "calls in one block", "no arguments", "dotted name",
    "keyword parameter", "prose before", "prose behind",
    "prose between", "thought before", "unclosed block", "unopened block", "cut off", "broken beside good", "JSON body",
    "own mark in a value", "name with dash", "no schema",
)  # fmt: skip


@dataclass(frozen=True)
class Text:
    """What a text is made of."""

    format: str
    values: tuple[str, ...]
    features: frozenset[str]

    def calls(self) -> list[Wanted]:
        """The calls that are written."""
        named = {"dotted name": "city.lookup", "name with dash": "city-lookup"}
        name = next((named[each] for each in named if each in self.features), "look_up")
        arguments = {f"p{number}": VALUES[kind] for number, kind in enumerate(self.values)}
        if "keyword parameter" in self.features:
            arguments["from"] = "x"
        if "own mark in a value" in self.features:
            arguments["mark"] = f"a {''.join(ends(writings()[self.format])[::-1]).strip()} b"
        again = {"two calls", "two blocks", "prose between", "broken beside good"} & self.features
        found = [Wanted(name, {} if "no arguments" in self.features else arguments)]
        return [*found, Wanted("second", {"p0": 1})] if again else found

    def documents(self) -> list[dict[str, Any]]:
        """The functions on offer."""
        bare = "no schema" in self.features
        return [
            {"name": name, "description": "", "parameters": {"type": "object", "properties": {} if bare else {
                key: {"type": TYPES.get(type(value), "string")} for key, value in arguments.items()}}}
            for name, arguments in ((call.name, call.arguments) for call in self.calls())
        ]  # fmt: skip

    def written(self) -> str:
        """The text."""
        writing, calls = writings()[self.format], self.calls()
        opening, closing = ends(writing)
        if "JSON body" in self.features and writing.element:
            head, _, tail = writing.call.partition("$elements")
            writing = replace(writing, call=f"{head}$json{tail}")
        if {"two blocks", "prose between", "broken beside good"} & self.features:
            parts = [writing.text([call]) for call in calls]
            if "broken beside good" in self.features:
                end = len(parts[0]) - len(closing)
                parts[0] = parts[0][: end * 2 // 3] + closing
            text = (" and then " if "prose between" in self.features else "\n").join(parts)
        elif "calls in one block" in self.features and not writing.before:
            inner = [writing.text([call])[len(opening) :].removesuffix(closing) for call in calls * 2]
            text = opening + "".join(inner) + closing
        else:
            text = writing.text(calls)
        if "unclosed block" in self.features:
            text = text.removesuffix(closing)
        if "unopened block" in self.features:
            text = text.removeprefix(opening)
        if "cut off" in self.features:
            text = text[: len(text) * 3 // 4]
        before = "<think>\nI call f(x).\n</think>\n\n" if "thought before" in self.features else ""
        before += "I look it up.\n" if "prose before" in self.features else ""
        return before + text + ("\nThat was it." if "prose behind" in self.features else "")

    def smaller(self) -> Iterator[Text]:
        """The texts with one thing less."""
        for feature in sorted(self.features):
            yield replace(self, features=self.features - {feature})
        for number in range(len(self.values)):
            yield replace(self, values=self.values[:number] + self.values[number + 1 :])


def texts(name: str, count: int, seed: int) -> Iterator[Text]:
    """Every value and feature alone, then some together."""
    choose = random.Random(f"{seed}{name}")
    for kind in VALUES:
        yield Text(name, (kind,), frozenset())
        yield Text(name, (kind,), frozenset({"no schema"}))
    for feature in FEATURES:
        yield Text(name, ("a text", "an integer"), frozenset({feature}))
    for _ in range(count):
        kinds = tuple(choose.sample(list(VALUES), choose.randint(1, 3)))
        yield Text(name, kinds, frozenset(choose.sample(FEATURES, choose.randint(1, 3))))


def ours(text: Text) -> Pairs:
    """What our decoder reads; none where it refuses."""
    try:
        calls = own_calls(Reply(text=text.written()), find_decoder(text.format), text.documents())
    except DecodeError:
        return []
    return [(str(call.name), call.arguments) for call in calls]


@dataclass
class Group:
    """Texts on which the same readers differ in the same way."""

    example: Text
    readings: dict[str, Pairs]
    count: int = 0

    @property
    def majority(self) -> Pairs | None:
        """What most others read; ``None`` where no two of them, or not more than half, agree."""
        said = Counter(_json(each) for who, each in self.readings.items() if who != "ours")
        reading, votes = said.most_common(1)[0]
        return json.loads(reading) if votes * 2 > sum(said.values()) else None

    @property
    def differing(self) -> list[str]:
        """Who reads otherwise than we do."""
        return sorted(who for who, found in self.readings.items() if not same(found, self.readings["ours"]))

    @property
    def key(self) -> str:
        """What the group is called in every run: its features if it needs any, else its values, and who differs."""
        features = sorted(self.example.features - {"no schema"}) or sorted(
            {*self.example.values, *self.example.features}
        )
        return f"{self.example.format}: {' + '.join(features) or 'a call'}: {' '.join(self.differing)}"


@dataclass
class Comparison:
    """One format, read by us and by the parsers of its families."""

    format: str
    others: dict[str, InstalledParser]
    agreed: Counter[str] = field(default_factory=Counter)
    read: int = 0
    groups: dict[str, Group] = field(default_factory=dict)

    def readings(self, text: Text) -> dict[str, Pairs]:
        """Everybody's calls; a parser that raises finds none, as its server hands over none."""
        found = {"ours": ours(text)}
        for who, parser in self.others.items():
            try:
                found[who] = pairs_of(parser.whole(text.written(), text.documents(), dots="."))
            except DecodeError:
                found[who] = []
        return found

    def take(self, text: Text) -> None:
        """Read one text; where anybody differs, find the smallest that does."""
        readings = self.readings(text)
        self.read += 1
        differing = {who for who in self.others if not same(readings[who], readings["ours"])}
        self.agreed.update(set(self.others) - differing)
        if not differing:
            return
        text, readings = self.shrunk(text, readings, differing)
        group = self.groups.setdefault(Group(text, readings).key, Group(text, readings))
        group.count += 1

    def shrunk(self, text: Text, readings: dict[str, Pairs], differing: set[str]) -> tuple[Text, dict[str, Pairs]]:
        """The smallest text on which the same parsers still differ."""
        for smaller in text.smaller():
            found = self.readings(smaller)
            if {who for who in self.others if not same(found[who], found["ours"])} == differing:
                return self.shrunk(smaller, found, differing)
        return text, readings


def same(one: Pairs, other: Pairs) -> bool:
    """Whether two readings are equal, pairs as lists."""
    return [list(each) for each in one] == [list(each) for each in other]


def compared(name: str, count: int, seed: int) -> Comparison:
    """One format against all its installed parsers."""
    wanted = {f"{engine}:{row.parser(engine)}" for row in families().values() if row.format == name
              for engine in ("vllm", "sglang") if row.parser(engine)}  # fmt: skip
    wanted |= {f"{engine}:{table[name]}" for engine, table in (("mlx", MLX), ("lmdeploy", LMDEPLOY)) if name in table}
    others = {}
    for who in sorted(wanted):
        try:
            others[who] = InstalledParser(*who.split(":"))
        except UsageError as error:
            print(f"{who} is left out: {error}".splitlines()[0], file=sys.stderr)
    comparison = Comparison(name, others)
    for text in texts(name, count, seed) if others else ():
        comparison.take(text)
    for parser in others.values():
        parser.close()
    return comparison


def main() -> int:
    """Compare, print, and say whether anything is new."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("formats", nargs="*", default=list(writings()))
    parser.add_argument("--texts", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--known", type=Path)
    asked = parser.parse_args()
    known = set(json.loads(asked.known.read_text())) if asked.known else set()
    new, kept = [], []
    print("| format | texts | " + "equal with |\n|---|---|---|")
    for name in asked.formats:
        found = compared(name, asked.texts, asked.seed)
        said = ", ".join(f"{who} {found.agreed[who]}" for who in found.others) or "no parser installed"
        print(f"| {name} | {found.read} | {said} |", flush=True)
        for group in found.groups.values():
            against = group.majority is not None and not same(group.majority, group.readings["ours"])
            kept.append({"group": group.key, "texts": group.count, "text": group.example.written(),
                         "against": against, "readings": group.readings})  # fmt: skip
            new += [group.key] if against and group.key not in known else []
    if asked.json:
        asked.json.write_text("".join(_json(each) + "\n" for each in kept))
    against = sum(each["against"] for each in kept)
    print(f"\n{len(kept)} groups of differences; the majority reads otherwise in {against}")
    for key in new:
        print(f"new: {key}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
