"""Types of option values: each function reads one kind of text and raises `ValueError` with what is allowed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_bfcl.settings import LEVELS, MOST_PACED, check_header, check_parameter


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A whole number from ``low`` to ``high``."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"a whole number {_span(low, high)}") from None
        if value < low or (high is not None and value > high):
            raise ValueError(f"a whole number {_span(low, high)}")
        return value

    return read


def decimal(low: float, high: float | None = None, *, above: bool = False) -> Callable[[str], float]:
    """A finite number from ``low`` to ``high``; ``above`` excludes ``low``."""

    def read(text: str) -> float:
        value = _float(text)
        if value is None or value < low or (above and value == low) or (high is not None and value > high):
            raise ValueError(f"a number above {low:g}" if above else f"a number {_span(low, high)}")
        return value

    return read


class Parted(NamedTuple):
    """A value with parts behind it, ``VALUE,NAME=VALUE``; ``value`` is ``None`` if only parts were given."""

    value: Any
    parts: tuple[tuple[str, Any], ...] = ()


def split_parts(text: str, names: Collection[str]) -> tuple[str, list[tuple[str, str]]]:
    """The text before the first ``NAME=`` of these names, and each of them with its text."""
    head, *rest = re.split(rf"(?:^|,)({'|'.join(map(re.escape, names))})=", text) if names else [text]
    return head, list(zip(rest[::2], rest[1::2], strict=True))


class PartedReader:
    """Reads ``VALUE[,NAME=VALUE…]``; the value or any part may be left out. Names are written with ``-`` for ``_``."""

    def __init__(self, main: Callable[[str], Any], **parts: Callable[[str], Any]) -> None:
        self._main = main
        self.parts = {name.replace("_", "-"): read for name, read in parts.items()}

    def __call__(self, text: str) -> Any:
        """The value, or `Parted` with its parts. Raises `ValueError` that names the part."""
        head, found = split_parts(text, self.parts)
        try:
            value = self._main(head) if head or not found else None
        except ValueError as error:
            _, comma, rest = head.partition(",")
            if comma and "=" in rest:
                raise ValueError(
                    f"there is no part {rest.partition('=')[0]!r}; known: {', '.join(self.parts)}"
                ) from None
            raise ValueError(f"{error}") from None
        return Parted(value, tuple((name, self._part(name, said)) for name, said in found)) if found else value

    def _part(self, name: str, text: str) -> Any:
        try:
            return self.parts[name](text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def one_of(*words: str) -> Callable[[str], str]:
    """One of these words."""

    def read(text: str) -> str:
        if text not in words:
            from pytest_bfcl.failures import did_you_mean

            raise ValueError(did_you_mean(text, words) or f"one of {', '.join(words)}")
        return text

    return read


def named(text: str) -> str:
    """Any text that is not empty."""
    if not text:
        raise ValueError("it names nothing")
    return text


def temperature(text: str) -> float | None:
    """A number of at least 0, or ``none``: the provider decides."""
    if text.lower() in ("none", ""):
        return None
    value = _float(text)
    if value is None or value < 0:
        raise ValueError("a number of at least 0, or none")
    return value


class Concurrency(NamedTuple):
    """Requests in flight; ``paced``: as many as the server accepts, up to a limit."""

    most: int
    paced: bool = False

    def __str__(self) -> str:
        return f"auto:{self.most}" if self.paced else str(self.most)


def concurrency(text: str) -> Concurrency:
    """``N``, ``auto`` or ``auto:N``."""
    number = whole(1, 10_000)
    word, colon, bound = text.partition(":")
    if word == "auto":
        return Concurrency(number(bound) if colon else MOST_PACED, True)
    try:
        return Concurrency(number(text))
    except ValueError as error:
        raise ValueError(f"{error}, auto, or auto:N") from None


def shard(text: str) -> list[int]:
    """``I/N``."""
    from pytest_bfcl.selection.sharding import read_shard

    return list(read_shard(text))


def price(text: str) -> list[float]:
    """``1,2`` or ``in=1,out=2``, in USD per million tokens of input and output; both are named."""
    parts = [part.strip() for part in text.replace("/", ",").replace(";", ",").split(",")]
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    if named and (named.keys() != {"in", "out"} or len(parts) != 2):
        raise ValueError("in=INPUT,out=OUTPUT")
    values = [_float(value) for value in ([named["in"], named["out"]] if named else parts)]
    known = [value for value in values if value is not None and value >= 0]
    if len(parts) != 2 or len(known) != 2:
        raise ValueError("INPUT,OUTPUT in USD per million tokens, for instance 0.15,0.60")
    return known


def parameter(text: str) -> tuple[str, Any]:
    """``NAME=VALUE``: a field of the request and its value, JSON or else text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not valid: NAME=VALUE, for instance top_p=0.95")
    name = name.strip()
    check_parameter(name)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        if value.lstrip()[:1] in ("{", "["):
            raise ValueError(f"{name}: {value!r} is not JSON (the shell may have taken the quotes)") from None
        return name, value


def header(text: str) -> tuple[str, str]:
    """``NAME: VALUE``; messages do not show the value, it may be a key."""
    name, colon, value = text.partition(":")
    if not colon:
        raise ValueError("a header is written 'NAME: VALUE'")
    name, value = name.strip(), value.strip()
    check_header(name, value)
    return name, value


def server(text: str) -> tuple[str, str]:
    """``NAME=COMMAND`` or ``NAME=URL`` of an MCP server; messages do not show the value, which may contain a key."""
    from pytest_bfcl.dataset.served_entry import named_server

    return named_server(text)


def servers(pairs: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The fields of `Settings` for MCP servers and the commands around their trials.

    ``pairs``: ``NAME``, ``NAME.setup`` and ``NAME.teardown`` as written.
    """
    found: dict[str, dict[str, str]] = {"mcp": {}, "mcp_setup": {}, "mcp_teardown": {}}
    for name, where in pairs.items():
        server, dot, when = name.rpartition(".")
        field = f"mcp_{when}" if dot and f"mcp_{when}" in found else ""
        found[field or "mcp"][server if field else name] = where
    return found


def report(text: str) -> Any:
    """Level of the HTML report and names of sinks, with commas between: the level, or `Parted`."""
    words = [word for word in text.replace(",", " ").split() if word]
    levels = [word for word in words if word in LEVELS]
    if len(levels) > 1 or not words:
        raise ValueError(f"one of {', '.join(LEVELS)}, and names of sinks, with commas between")
    sinks = tuple(dict.fromkeys(word for word in words if word not in LEVELS))
    level = levels[0] if levels else None
    return Parted(level, (("sinks", sinks),)) if sinks else level


def decoder(text: str) -> str:
    """A decoder's name, or ``auto``."""
    from pytest_bfcl.failures import UsageError
    from pytest_bfcl.formats.table import find_decoder

    try:
        return text if text == "auto" else find_decoder(text).name
    except UsageError as error:
        raise ValueError(str(error)) from None


def search(text: str) -> str:
    """A source of the web search."""
    from pytest_bfcl.providers import check_choice
    from pytest_bfcl.providers.recorded import replay_source

    return _existing(check_choice(text), replay_source(text))


_REST = ("auto", "local", "live", "record", "replay")


def rest(text: str) -> str:
    """A source of REST answers."""
    from pytest_bfcl.providers.recorded import check_choice, replay_source

    return _existing(check_choice(text, _REST), replay_source(text))


def _existing(choice: str, folder: str | None) -> str:
    """The source itself. Raises `ValueError` if its recording does not exist."""
    if folder is not None:
        place = Path(folder).expanduser()
        if not place.is_dir():
            what = "is a file, name the run's folder" if place.exists() else "does not exist"
            raise ValueError(f"there is nothing to replay, {folder} {what}")
        if not any(any(each.glob("*.jsonl")) for each in (place, place / "web", place / "rest")):
            raise ValueError(f"there is nothing to replay, {folder} holds no recording")
    return choice


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _span(low: float, high: float | None) -> str:
    return f"of at least {low:g}" if high is None else f"from {low:g} to {high:g}"
