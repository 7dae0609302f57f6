"""Whether two numbers are the same measurement: one rule that every command uses (docs/gates.md).

The answer is *the same*, *the same but for …* (printed with both numbers) or *not comparable because …* (refused).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pytest_bfcl.dataset.inputs import changed_parts
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.fingerprint import RULES_VERSION, SPLITS, Fingerprint, ModelFingerprint
from pytest_bfcl.runs.snapshots import REST, WEB
from pytest_bfcl.settings import STEP_LIMIT


class Purpose(Enum):
    """The purpose for which two numbers appear together, and so which facts must be equal."""

    PARTS = "parts of one run"
    """Resume a run: everything but the entries."""
    SHARDS = "shards of one whole"
    """Merge runs: everything but the shard."""
    REPEATS = "runs of one model"
    """Compare runs of one model on the same test: only the server may differ."""
    MODELS = "models on one test"
    """Compare or rank: the test; the settings of each model are printed."""
    PUBLISHED = "a published leaderboard"
    """A published table: official data, official rules, whole categories."""


ENTRIES = "entries"
TEST = "test"
MODEL = "model"
SERVER = "server"
ORIGIN = "origin"
"""The subject of a difference: entries, the rest of the test, settings of the model, the server, or the run's origin
(release, profile, repeats; always printed, never refused)."""

_REFUSED: Mapping[Purpose, frozenset[str]] = {
    Purpose.PARTS: frozenset((TEST, MODEL, SERVER)),  # which entries a part has is its own
    Purpose.SHARDS: frozenset((TEST, MODEL, SERVER, ENTRIES)),
    Purpose.REPEATS: frozenset((TEST, MODEL, ENTRIES)),
    Purpose.MODELS: frozenset((TEST, ENTRIES)),
    Purpose.PUBLISHED: frozenset((TEST, ENTRIES)),
}


LISTED = 4
"""Lines of a message for differences."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs between two measurements; ``effect``: its possible effect on the number."""

    kind: str
    text: str
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.effect})" if self.effect else self.text


@dataclass(frozen=True, slots=True)
class Comparability:
    """The answer for two measurements, with ``refused`` and ``noted`` differences."""

    refused: tuple[Difference, ...] = ()
    noted: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.refused and not self.noted

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.refused:
            return f"not comparable because of {'; '.join(map(str, self.refused))}"
        return f"the same but for {'; '.join(map(str, self.noted))}" if self.noted else "the same measurement"

    def listed(self) -> str:
        """The refused differences, one a line; a message has at most five lines, so the fourth names the rest."""
        whole = self.refused if len(self.refused) <= LISTED else self.refused[: LISTED - 1]
        rest = ", ".join(each.text.partition(":")[0] for each in self.refused[len(whole) :])
        return "\n".join(f"  {each}" for each in [*whole, *([f"also: {rest}"] if rest else [])])


def comparability(
    one: Fingerprint, other: Fingerprint, purpose: Purpose, *, accept: Container[str] = ()
) -> Comparability:
    """Whether numbers of two runs may be compared; ``accept``: kinds of differences that the user accepts
    (``--shared``)."""
    refused = _REFUSED[purpose]
    parts = purpose in (Purpose.PARTS, Purpose.SHARDS)
    found = list(_differences(one, other, parts=parts))
    if purpose is Purpose.SHARDS:
        found += _shard_differences(one, other)
    if parts:  # nothing is compared: what a difference does to numbers does not matter
        found = [replace(each, effect="") for each in found]
    return Comparability(
        tuple(each for each in found if each.kind in refused and each.kind not in accept),
        tuple(each for each in found if not (each.kind in refused and each.kind not in accept)),
    )


def published_comparability(run: Fingerprint, version: str = "") -> Comparability:
    """Whether a run's numbers may be shown with a published leaderboard of this data version; empty: unknown.

    A leaderboard is a measurement, too: whole categories of the official data, official rules, 20 steps, and each model
    with the settings of the reference's command line. It has none of our releases, and the models' makers run its
    servers.
    """
    like_board = replace(
        run, dataset="official", dataset_version=version or run.dataset_version.partition("+")[0], rules="official",
        rules_version=RULES_VERSION, models=tuple(map(_as_reference, run.models)), selection={}, profile="",
        conditions={
            name: value for name, value in run.conditions.items() if name not in ("transforms", *SPLITS)
        } | {"step_limit": STEP_LIMIT, "repeat": 1},
    )  # fmt: skip
    found = list(_differences(like_board, run, parts=False))
    found = [each for each in found if not each.text.startswith("models:")]
    prompts = [each.model for each in run.models if each.prompt_sha256 is not None]
    if prompts:
        found.append(Difference(TEST, f"own system prompt of {', '.join(prompts)}", _EFFECTS["system prompt"]))
    refused = tuple(each for each in found if each.kind in _REFUSED[Purpose.PUBLISHED])
    return Comparability(refused, tuple(each for each in found if each not in refused))


def _as_reference(model: ModelFingerprint) -> ModelFingerprint:
    """A model with the settings of the reference's command line; a model without temperature has none there either."""
    parameters = {"temperature": TEMPERATURE} if "temperature" in model.parameters else {}
    return replace(
        model, parameters=parameters, prompt_sha256=None, reasoning="reference", decoder=None, template=None,
        think="auto",
    )  # fmt: skip


TEMPERATURE = 0.001
"""The temperature of the reference's command line."""


_EFFECTS = {
    "data set": "other questions and answers",
    "data version": "other questions and answers",
    "data SHA-256": "other questions and answers",
    "rules": "another judgement of the same answers",
    "rules version": "another judgement of the same answers",
    "step limit": "fewer steps end more conversations early",
    "simulators": "tools may answer differently",
    "search": "searches may find other pages",
    "REST": "services may answer differently",
    "transforms": "the same entries in other words",
    "entries": "easier or harder questions",
    "split": "easier or harder questions",
    "trained on": "the model may know the answers",
    "mode": "native calls and calls in text are two abilities",
    "system prompt": "other instructions",
    "decoder": "calls in texts are read differently",
    "template": "another prompt",
    "thoughts": "texts are read differently",
    "reasoning": "another history",
    "API": "another way through the server",
    "base URL": "another server",
    "repeat": "more answers to the same questions",
    "release": "another release may have judged otherwise",
    "profile": "its options are compared one by one",
}
"""Dimension → the possible effect of a difference on the number."""


def _difference(kind: str, what: str, mine: object, theirs: object, effect: str = "") -> Iterator[Difference]:
    if mine != theirs:
        said = [("none" if each in (None, "", {}) else str(each)) for each in (mine, theirs)]
        said = [each[:12] if _DIGEST.fullmatch(each) else each for each in said]
        yield Difference(kind, f"{what}: {said[0]} → {said[1]}", effect or _EFFECTS.get(what, ""))


def _differences(one: Fingerprint, other: Fingerprint, *, parts: bool) -> Iterator[Difference]:
    for what, fact in _TEST.items():
        yield from _difference(TEST, what, fact(one), fact(other))
    for name in sorted({*one.files, *other.files}):
        yield from _difference(TEST, f"data file {name}", *(each.files.get(name, "")[:12] for each in (one, other)))
    for condition, kind in (("templates", "template"), ("own_simulators", "simulator")):
        mine, theirs = (dict(each.conditions.get(condition) or {}) for each in (one, other))
        for name in changed_parts(mine, theirs):
            yield from _difference(TEST, f"{kind} {name}", mine.get(name), theirs.get(name))
    yield from _provider_differences(one, other)
    put, others = (dict(each.conditions.get("transforms") or {}) for each in (one, other))
    for name in sorted(put.keys() & others.keys()):
        yield from _difference(TEST, f"words of {name}", put[name], others[name])
    for name in SPLITS:
        kind = TEST if parts else ENTRIES if name == "split" else MODEL
        facts = (_split_text(each.conditions.get(name)) for each in (one, other))
        yield from _difference(kind, name.replace("_", " "), *facts)
    yield from _server_differences(one, other, "served")
    if parts:
        yield from _difference(TEST, "transforms", ", ".join(sorted(put)), ", ".join(sorted(others)))
        # A server may move between two runs that are compared, not within one.
        yield from _server_differences(one, other, "mcp")
    else:
        yield from _difference(ENTRIES, "entries", entries_text(one), entries_text(other))
        yield from _difference(ORIGIN, "transforms", ", ".join(sorted(put)), ", ".join(sorted(others)))
        for name in ("repeat", "release", "profile"):
            yield from _difference(ORIGIN, name, _ORIGIN[name](one), _ORIGIN[name](other))
    yield from _model_differences(one.models, other.models, parts=parts)


def _server_differences(one: Fingerprint, other: Fingerprint, condition: str) -> Iterator[Difference]:
    """MCP servers that both runs used: their places (``mcp``), or what answered there (``served``)."""
    mine, theirs = (dict(each.conditions.get(condition) or {}) for each in (one, other))
    for name in sorted(mine.keys() & theirs.keys()):
        for part in changed_parts(mine[name], theirs[name]):
            kind = SERVER if part == "name and version" else TEST  # the same tools of another release: printed
            what = f"MCP server {name}, {part}"
            yield from _difference(kind, what, mine[name].get(part), theirs[name].get(part), _EFFECTS["simulators"])


_DIGEST = re.compile("[0-9a-f]{64}")
_TEST: Mapping[str, Callable[[Fingerprint], object]] = {
    "data set": lambda run: run.dataset,
    "data version": lambda run: run.dataset_version,
    "data SHA-256": lambda run: run.dataset_sha256[:12],
    "rules": lambda run: run.rules,
    "rules version": lambda run: run.rules_version,
    "step limit": lambda run: run.conditions.get("step_limit"),
    "simulators": lambda run: run.conditions.get("simulators"),
}


_ORIGIN: Mapping[str, Callable[[Fingerprint], object]] = {
    "repeat": lambda run: run.conditions.get("repeat") or 1,
    "release": lambda run: run.plugin_version,
    "profile": lambda run: run.profile,
}


def _shard_differences(one: Fingerprint, other: Fingerprint) -> Iterator[Difference]:
    """The selection without the shard; lists in one order."""

    def whole(run: Fingerprint) -> Fields:
        facts = {**run.selection, **{name: run.conditions.get(name) for name in ("repeat", "seed")}}
        shards = facts.pop("shard", None) or ()
        parts = [shards] if isinstance(shards, str) else shards
        return {**facts, "shards": sorted({str(part).partition("/")[2] for part in parts})}

    mine, theirs = whole(one), whole(other)
    for name in sorted({*mine, *theirs}):
        yield from _difference(ENTRIES, name.replace("_", " "), _members(mine.get(name)), _members(theirs.get(name)))


def _members(value: object) -> object:
    """A fact of a selection in one line: of thousands of ids a few, and the digest of all."""
    if not isinstance(value, list | tuple):
        return value
    members = sorted(map(str, value))
    text = ", ".join(members[:SHOWN])
    digest = hashlib.sha256(chr(10).join(members).encode()).hexdigest()[:8]
    return text if len(members) <= SHOWN else f"{text} … ({len(members)} in all, {digest})"


SHOWN = 5
"""Members of a list in a message."""


def entries_text(run: Fingerprint) -> str:
    """The selected entries of each category in words; ``all`` without a selection."""
    chosen, found = run.selection, []
    if sample := chosen.get("sample"):
        found.append(f"sample of {sample}, seed {run.conditions.get('seed', 0)}")
    if shard := chosen.get("shard"):
        found.append(f"shard {shard}")
    if ids := chosen.get("ids"):
        listed = sorted(map(str, ids)) if isinstance(ids, list) else [str(ids)]
        found.append(f"{len(listed)} ids ({hashlib.sha256(chr(10).join(listed).encode()).hexdigest()[:8]})")
    if chosen.get("last_failed"):
        found.append("entries that had failed")
    return ", ".join(found) or "all"


def _split_text(facts: Any) -> str:
    if not isinstance(facts, Mapping):
        return ""
    return f"{facts.get('part')} part of {facts.get('name')} ({str(facts.get('sha256'))[:8]})"


def _provider_differences(one: Fingerprint, other: Fingerprint) -> Iterator[Difference]:
    """Differences in the services that both runs reached: by recordings, else by request."""
    for option, name, said in (("search", WEB, "search"), ("rest", REST, "REST")):
        mine, theirs = one.provider(option), other.provider(option)
        if not (one.uses(name) and other.uses(name)) or (mine == theirs and not mine.startswith("replay")):
            continue
        kept, others = one.archives.get(name), other.archives.get(name)
        if kept and others:
            yield from _difference(TEST, f"recorded {name}", kept[:12], others[:12], _EFFECTS[said])
        else:
            asked = (str(each.conditions.get(option) or "auto") for each in (one, other))
            yield from _difference(TEST, said, *asked)


_ASKED = {
    "API": (MODEL, "api"), "reasoning": (MODEL, "reasoning"), "decoder": (MODEL, "decoder"),
    "thoughts": (MODEL, "think"), "template": (MODEL, "template"), "system prompt": (MODEL, "prompt_sha256"),
    "base URL": (SERVER, "base_url"),
}  # fmt: skip
"""The settings of a model in words: the kind of difference, the fingerprint's field."""


def _model_differences(
    mine: Sequence[ModelFingerprint], theirs: Sequence[ModelFingerprint], *, parts: bool
) -> Iterator[Difference]:
    known, others = ({each.model: each for each in models} for models in (mine, theirs))
    if parts:
        yield from _difference(MODEL, "models", ", ".join(sorted(known)), ", ".join(sorted(others)))
    pairs: list[tuple[str, ModelFingerprint, ModelFingerprint]] = [
        (f" of {name}", known[name], others[name]) for name in sorted(known.keys() & others.keys())
    ]
    if not pairs and not parts and len(known) == len(others) == 1:
        pairs = [("", next(iter(known.values())), next(iter(others.values())))]
    for whose, a, b in pairs:
        yield from _difference(MODEL, f"mode{whose}", a.mode, b.mode, _EFFECTS["mode"])
        yield from _parameters(whose, a.parameters, b.parameters)
        for what, (kind, field) in _ASKED.items():
            if field != "api" or (a.api is not None and b.api is not None):
                yield from _difference(kind, f"{what}{whose}", getattr(a, field), getattr(b, field), _EFFECTS[what])


def _parameters(whose: str, mine: Fields, theirs: Fields) -> Iterator[Difference]:
    for name in sorted({*mine, *theirs}):
        yield from _difference(MODEL, f"{name}{whose}", mine.get(name), theirs.get(name), "other answers")
