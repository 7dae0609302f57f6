"""What a run measured, so that only numbers of equal measurements are compared.

Stored as ``run.json``; every printed score carries `Fingerprint.short`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.inputs import Parts, server_inputs
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.redaction import public_parameters
from pytest_bfcl.runs.snapshots import REST, WEB, replayed_digest
from pytest_bfcl.runs.summary_types import ModelFacts, RunFacts
from pytest_bfcl.settings import STEP_LIMIT, Settings, SplitPart

RULES_VERSION = "2026.3.23+2"
"""Version of the reference whose verdicts ``official`` gives, and of the corrected rules."""


def utc_now() -> str:
    """The present moment as UTC ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def plugin_version() -> str:
    """The installed version of this package; ``unknown`` in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pytest-bfcl")
    except PackageNotFoundError:
        return "unknown"


def clean_url(url: str | None) -> str | None:
    """A base URL without user, password, query and fragment."""
    if not url:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def template_fingerprint(template: str | None) -> str | None:
    """A family's name, or the name of a file or folder with the digest of its template and tokens."""
    from pathlib import Path

    from pytest_bfcl.formats.table import FORMATS

    if template is None or template == "auto" or template in FORMATS:
        return template
    path = Path(template).expanduser()
    api = entry_points.require("apis", "completions", "the API completions, whose prompts are rendered here,")
    return f"{path.name}:{api.digest(path)[:16]}"


@dataclass(frozen=True, slots=True)
class ModelFingerprint:
    """One model under test with its settings.

    ``model`` is the canonical spec that keys results. ``parameters`` are the sent ones (temperature, max_tokens, the
    user's own). ``prompt_sha256`` is the hash of a user's system prompt that replaces ours (such runs are not
    comparable). ``api``, ``reasoning`` and ``stream`` are those of `Settings`, ``headers`` are names only.
    """

    model: str
    mode: str
    parameters: Fields = field(default_factory=dict)
    base_url: str | None = None
    prompt_sha256: str | None = None
    api: str | None = None
    reasoning: str = "reference"
    stream: bool = False
    headers: tuple[str, ...] = ()
    decoder: str | None = None
    think: str = "auto"
    template: str | None = None
    read_as: str = ""
    """What the calls of stored replies proved about mode and names that their lines did not give."""

    def to_dict(self) -> ModelFacts:
        """As in ``run.json``: headers by name only, rare settings only where they are not the usual ones."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        found: Parsed = {name: value for name, (value, usual) in values.items() if name not in _RARE or value != usual}
        if self.headers:
            found["headers"] = dict.fromkeys(self.headers, "[hidden]")
        return cast(ModelFacts, found | {"parameters": dict(self.parameters)})

    @classmethod
    def from_dict(cls, values: Fields) -> ModelFingerprint:
        """The inverse of `to_dict`; missing fields are as usual."""
        known = {each.name: values[each.name] for each in fields(cls) if values.get(each.name) not in (None, "")}
        return cls(**{"model": "", "mode": "", **known, "headers": tuple(values.get("headers") or ())})

    @classmethod
    def of(cls, model: str, mode: str, settings: Settings) -> ModelFingerprint:
        """The fingerprint of a model with these settings."""
        settings = settings.for_model(model)
        prompt = settings.system_prompt
        return cls(
            model,
            mode,
            public_parameters(settings.sent_parameters()),
            clean_url(settings.base_url),
            hashlib.sha256(prompt.encode()).hexdigest() if prompt else None,
            settings.api_for(model.partition(":")[0]),
            settings.reasoning,
            settings.stream,
            tuple(sorted(settings.headers)),
            settings.decoder,
            settings.think,
            template_fingerprint(settings.template),
        )


_RARE = ("headers", "decoder", "think", "template", "read_as")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Data, models, rules, selection and state of one run.

    ``files`` are the digests of several files of own entries, by name. ``selection`` and ``conditions`` are JSON-able:
    the selection (categories, ids, sample, shard) and other settings that change outcomes (repeat, seed, step limit,
    search, REST, simulators). ``state`` is ``running``, ``finished`` or ``stopped:<why>``. ``counted`` are the result
    lines of the last summary, model → category → lines: with fewer in the file, some are gone. ``left_out``: damaged
    lines at that time. ``planned``: entries of this part of the run and of earlier ones; 0 if unknown. ``archives``:
    digests of the recordings (``web``, ``rest``) that the run made or used.
    """

    dataset: str = ""
    dataset_version: str = ""
    dataset_sha256: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    models: tuple[ModelFingerprint, ...] = ()
    rules: str = "official"
    rules_version: str = RULES_VERSION
    plugin_version: str = field(default_factory=plugin_version)
    selection: Fields = field(default_factory=dict)
    conditions: Fields = field(default_factory=dict)
    started_at: str = field(default_factory=utc_now)
    ended_at: str | None = None
    state: str = "running"
    counted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: int = 0
    planned: int = 0
    archives: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    """The profile of the run's options, in words. The other fields have its values and are compared."""

    @classmethod
    def of(
        cls,
        dataset: Any,
        models: Iterable[tuple[str, str]],
        settings: Settings,
        selection: Fields,
        read_as: Mapping[str, str],
    ) -> Fingerprint:
        """The fingerprint of a run about to start.

        ``dataset`` has ``name``, ``version``, ``sha256``; ``models`` are pairs of spec and mode, ``read_as`` what
        stored replies proved, by spec.
        """
        return cls(
            dataset=str(dataset.name),
            dataset_version=str(dataset.version),
            dataset_sha256=str(dataset.sha256),
            files=dict(getattr(dataset, "file_digests", {})),
            models=tuple(
                replace(ModelFingerprint.of(spec, mode, settings), read_as=read_as.get(spec, ""))
                for spec, mode in models
            ),
            rules=settings.rules,
            selection=dict(selection),
            archives=_replayed(settings),
            profile=settings.profile,
            conditions={
                "repeat": settings.repeat,
                "seed": settings.seed,
                "step_limit": settings.step_limit,
                "search": settings.search,
                "rest": settings.rest,
                "simulators": settings.simulators,
                **({"mcp": _servers(settings)} if settings.mcp else {}),
                **({"own_simulators": found} if (found := _own_simulators(dataset)) else {}),
                **({"templates": dict(dataset.templates)} if getattr(dataset, "templates", None) else {}),
                **({} if settings.serve is None else {"serve": settings.serve}),
                **({"transforms": _transforms(settings)} if settings.transforms else {}),
                **({} if settings.names == "auto" else {"names": settings.names}),
                **_splits(settings),
            },
        )

    def to_dict(self) -> RunFacts:
        """As in ``run.json``."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        told: Parsed = {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
        names = {"dataset": "name", "dataset_version": "version", "dataset_sha256": "sha256", "files": "files"}
        data = {known: value for name, known in names.items() if (value := told.pop(name)) != {}}
        told["models"] = [model.to_dict() for model in self.models]
        if not self.profile:
            del told["profile"]
        return cast(RunFacts, {"dataset": data, **told, "short": self.short()})

    @classmethod
    def from_dict(cls, values: Fields) -> Fingerprint:
        """The inverse of `to_dict`; missing fields become empty."""
        data = values.get("dataset") or {}
        texts = ("rules_version", "plugin_version", "started_at", "state", "profile")
        plain: dict[str, Any] = {name: str(values.get(name) or "") for name in texts}
        plain |= {name: values.get(name) or {} for name in ("selection", "conditions", "counted", "archives")}
        plain |= {name: values.get(name) or 0 for name in ("left_out", "planned")}
        return cls(
            str(data.get("name", "")),
            str(data.get("version", "")),
            str(data.get("sha256", "")),
            files=dict(data.get("files") or {}),
            models=tuple(ModelFingerprint.from_dict(model) for model in values.get("models") or ()),
            rules=str(values.get("rules", "official")),
            ended_at=values.get("ended_at"),
            **plain,
        )

    @property
    def comparable(self) -> bool:
        """False if a user's own system prompt replaced the benchmark's."""
        return all(model.prompt_sha256 is None for model in self.models)

    def short(self) -> str:
        """One line for users: data and hash, models and parameters, rules, version."""
        data = f"{self.dataset or '?'} {self.dataset_version}".strip()
        models = ", ".join(map(_with_temperature, self.models)) or "no model"
        parts = [f"{data} ({self.dataset_sha256[:8] or 'no hash'})", models, f"{self.rules} rules {self.rules_version}"]
        if not self.comparable:
            parts.append("own system prompt: not comparable")
        if self.conditions.get("step_limit", STEP_LIMIT) != STEP_LIMIT:
            parts.append(f"{self.conditions['step_limit']} steps a turn: not comparable")
        parts += self.splits()
        parts += [f"profile {self.profile}"] if self.profile else []
        parts.append(f"pytest-bfcl {self.plugin_version}")
        return " · ".join(parts)

    def splits(self) -> list[str]:
        """The split's part that was run, and the split that the models were trained on, in words."""
        taken, trained = (self.conditions.get(name) for name in SPLITS)
        found = [f"{taken.get('part')} part of {_split_name(taken)}"] if isinstance(taken, dict) else []
        if isinstance(trained, dict):
            found.append(f"trained on {trained.get('entries')} entries of {_split_name(trained)}")
        return found

    def ended(self, state: str) -> Fingerprint:
        """A copy with the run's end time and state."""
        return replace(self, state=state, ended_at=utc_now())

    def uses(self, name: str) -> bool:
        """Whether the run used the recordings under ``name``; true while that is unknown."""
        if self.archives.get(name) or not self.counted:
            return True
        if self.dataset == "official":
            return False  # what the real web said is always recorded
        rows = [
            CATEGORIES[category] for counts in self.counted.values() for category in counts if category in CATEGORIES
        ]
        return any(row.group == "web_search" if name == WEB else row.checker == "rest" for row in rows)

    def provider(self, option: str) -> str:
        """Who answers: ``local``, ``live`` or the recording."""
        choice = str(self.conditions.get(option) or "auto")
        if choice in ("auto", "record"):
            return "live" if self.dataset == "official" else "local"
        return "live" if choice == "serpapi" else choice


def _replayed(settings: Settings) -> dict[str, str]:
    found = {
        WEB: replayed_digest(settings.search, WEB),
        REST: replayed_digest(settings.rest, REST),
    }
    return {name: digest for name, digest in found.items() if digest is not None}


SPLITS = ("split", "trained_on")
"""Conditions of a split: the part that was run, the split that the models were trained on."""


def _splits(settings: Settings) -> Parsed:
    """Name, digest, part and size of each split."""
    found = {}
    for name in SPLITS:
        part: SplitPart | None = getattr(settings, name)
        if part is not None:
            found[name] = {
                "name": part["name"], "sha256": part["sha256"], "part": part["part"], "entries": len(part["ids"])
            }  # fmt: skip
    return found


def _split_name(facts: Fields) -> str:
    return f"{facts.get('name')} ({str(facts.get('sha256'))[:8]})"


def _servers(settings: Settings) -> dict[str, Parts]:
    """The user's MCP servers by name, as digests of their parts: commands and addresses may hold secrets."""
    return {name: server_inputs(name, settings) for name in sorted(settings.mcp)}


def _own_simulators(dataset: Any) -> dict[str, str]:
    """The user's own simulators by digest of their source; official entries have none."""
    from pytest_bfcl.simulators import source_digests

    return source_digests() if getattr(dataset, "own", False) else {}


def _transforms(settings: Settings) -> dict[str, str]:
    """Name → digest of the words, for a transform from a file; else empty."""
    found = dict.fromkeys(settings.transforms, "")
    for name, questions in settings.rewordings.items():
        found[name] = hashlib.sha256(json.dumps(questions, sort_keys=True).encode()).hexdigest()[:12]
    return found


def _with_temperature(model: ModelFingerprint) -> str:
    found = model.parameters.get("temperature")
    return model.model if found is None else f"{model.model} t={found:g}"
