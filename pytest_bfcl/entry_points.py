"""All parts that installed packages add, our own ``extensions`` included (docs/plugins.md); what users name by module.

A package declares entry points in a group ``pytest_bfcl.<kind>``. A part is imported only when something needs it by
name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import clean, cut

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal[
    "verbs", "forms", "checks", "feeders", "fixtures", "models", "apis", "categories", "checkers", "decoders",
    "handlers", "parsers", "searches", "engines", "simulators", "simulator_sets", "listeners", "exporters", "sinks",
    "transforms", "gates", "worlds", "fetched", "boards", "sections", "sessions", "hosts",
]  # fmt: skip
"""What can be added, the group's name without its prefix.

- ``verbs``: a module of the console script (`pytest_bfcl.cli`).
- ``forms``: the same under ``VERB.FORM``: a further form of a verb, ``pytest-bfcl VERB FORM …``.
- ``checks``: test items besides the entries, ``bfcl/<name>.jsonl`` (`pytest_bfcl.plugin.collection`).
- ``feeders``: other places that hold conversations and judge lines (`pytest_bfcl.session.feeders`).
- ``fixtures``: the fixture ``ask`` (`pytest_bfcl.plugin.fixtures`).
- ``models``: a provider: ``(spec, settings, mode) -> Model``.
- ``apis``: ``completions``: ``(spec, settings, mode) -> Api``, whose ``digest(path)`` distinguishes templates.
- ``categories``: executes and judges the calls of a group of categories (`pytest_bfcl.checkers.plugged`).
- ``checkers``: ``(entry, transcript) -> Verdict``.
- ``decoders``: ``(text, functions) -> pairs of name and arguments``.
- ``handlers``: ``reference``: name → `Decoder`, the benchmark's own readings (`pytest_bfcl.formats.decoders`).
- ``parsers``: of an engine: ``("ENGINE:PARSER") -> Decoder``.
- ``simulators``: a `Simulator` class, under the name that entries use.
- ``exporters``: a function ``(run directory, folder) -> files``, a format of ``export --format``.
- ``sinks``: makes a sink, which receives a run's lines during the run (`pytest_bfcl.session.sinks`).
- ``gates``: makes a gate from an option's values (`pytest_bfcl.scoring.gating.OthersGate`).
- ``fetched``: ``embeddings``: ``(source, force=) -> lines to say``, for ``pytest-bfcl fetch --embeddings``.
- ``worlds``: executes the calls of entries on servers (`pytest_bfcl.conversation.engine`).
- ``transforms``: ``(entry, chance) -> fields that change``, for `--bfcl-transform`.
- ``simulator_sets``: a module, a value of ``--bfcl-simulators`` (`pytest_bfcl.simulators.execution.SimulatorSet`).
- ``searches``: ``serpapi``: ``() -> SearchProvider``, the live one of ``--bfcl-search``.
- ``engines``: ``serve``: ``(specs, base URL) -> Fleet`` (`pytest_bfcl.session.serving`).
- ``boards``: reads published leaderboards (`pytest_bfcl.session.closing`).
- ``sections``: a function that makes a section of a report (`pytest_bfcl.reporting.sources`).
- ``sessions``: ``(session, run) -> plugin or None``: a plugin for a pytest session, on the controller.
- ``hosts``: ``files``: how files of xdist's workers on other hosts travel (`pytest_bfcl.plugin.distribution`).
- ``listeners``: a function ``(run directory, summary)``, called when a run is over.
"""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""Names appear in specs, ids, files and on terminals; a name with other characters cannot be used."""


def offered(kind: Kind) -> Mapping[str, EntryPoint]:
    """Name → entry point of a kind; of two equal names the first on the path counts."""
    return _offered(kind, tuple(sys.path))


def find(kind: Kind, name: str) -> EntryPoint | None:
    """The entry point of that name."""
    return offered(kind).get(name)


def require(kind: Kind, name: str, what: str) -> Any:
    """The object with that name. Raises `UsageError` where no installed package offers it.

    ``what`` names it in the message.
    """
    point = find(kind, name)
    if point is None:
        raise UsageError(f"{what} is not in this installation: no package offers {name!r} as pytest_bfcl.{kind}")
    return load(point, what)


def load(point: EntryPoint, kind: str) -> Any:
    """The object it names. Raises `UsageError` if the import fails; ``kind`` says what was expected."""
    try:
        return point.load()
    except Exception as error:
        told = cut(clean(f"{type(error).__name__}: {error}"), 300)
        raise UsageError(f"the {kind} {point.name} of {origin(point)} cannot be loaded: {told}") from error


def origin(point: EntryPoint) -> str:
    """The package that offers it, and the place in that package."""
    name = point.dist.name if point.dist is not None else "an unnamed package"
    return clean(f"{name} ({cut(point.value, 100)})")


@cache
def _offered(kind: Kind, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in _every(path).select(group=f"pytest_bfcl.{kind}"):
        if _NAME.fullmatch(point.name):
            found.setdefault(point.name, point)
    return found


@cache
def _every(path: tuple[str, ...]) -> Any:
    """All entry points on this path. Reads the disk once, which takes some milliseconds."""
    from importlib.metadata import entry_points

    return entry_points()


def look_here() -> None:
    """Let modules in the working directory be found: neither ``pytest`` nor a console script looks there by itself."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def named(where: str) -> Any:
    """The object of a user's ``module:name.of.it``; ``None`` if the module has none. Raises any error of its import."""
    look_here()
    module, _, path = where.rpartition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
