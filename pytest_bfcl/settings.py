"""The settings of a run: one frozen value that travels to workers and into the fingerprint.

Defaults are the contract's (docs/contracts.md, "Defaults").
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from pytest_bfcl.json_types import Fields, Parsed

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Mode

Rules = Literal["official", "corrected"]


APIS = ("chat", "responses", "completions", "anthropic")
"""The wire formats of our own adapter."""

DIRECT_PROVIDERS = ("openai", "anthropic", "vllm", "sglang", "llamacpp", "transformers", "lmstudio", "ollama")
"""Providers that our own adapter serves; only it has a choice of APIs."""

FIRST_PACED = 32
MOST_PACED = 256
"""Requests in flight of a model that finds its own number: at the start, and at most without a given limit."""

Level = Literal["none", "index", "full"]
LEVELS: tuple[Level, ...] = ("none", "index", "full")
"""How much of a report is written: nothing, ``index.html``, or also a page for every entry."""
MOST_PAGES = 20_000
"""Results above which a report has pages of failed entries only: each takes 20 KB and a millisecond."""


def level_for(asked: str | None, results: int) -> Level:
    """How much of a report is written for this number of results, unless ``asked`` decides."""
    return next((level for level in LEVELS if level == asked), "index" if results > MOST_PAGES else "full")


THINK = ("auto", "strip", "keep")
REASONING_POLICIES = ("reference", "keep", "drop")


_OURS = frozenset(("model", "messages", "input", "prompt", "tools", "functions", "stream", "system"))
_OURS_OF_HEADERS = frozenset(("content-type", "content-length", "transfer-encoding", "host", "connection"))


def check_parameter(name: str) -> None:
    """Raise `ValueError` for a name that is no request field, or one that the run itself sets."""
    if not name or not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise ValueError(f"{name!r} is no name of a field")
    if name in _OURS:
        whys = {"stream": " (--bfcl-stream)", "tools": ": an entry's functions are judged, free-form tools cannot be"}
        raise ValueError(f"{name} is the run's own to set{whys.get(name, '')}")


def check_header(name: str, value: str) -> None:
    """Raise `ValueError` for an impossible header, or one that the client sets itself; never shows the value."""
    if not name or not all(c.isalnum() or c in "-_" for c in name) or not name.isascii():
        raise ValueError(f"{name!r} is no name of a header")
    if name.lower() in _OURS_OF_HEADERS:
        raise ValueError(f"the header {name} is the client's own to set")
    if not value.isprintable():
        raise ValueError(f"the value of the header {name} has a line break or a control character inside")


class SplitPart(TypedDict):
    """One part of a split (`pytest_bfcl.selection.splits`): the file's name and digest, and its data set."""

    name: str
    sha256: str
    part: str
    data: dict[str, str]
    ids: list[str]


STEP_LIMIT = 20
"""Executed steps a turn may have; one more is executed and ends the conversation (multi_turn spec §2.1)."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; ``None`` when unknown."""

    input: float | None = None
    output: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run except data and model.

    Times in seconds. ``temperature`` and ``max_tokens`` may be ``None``: then the provider decides.
    ``mode`` ``auto`` means native calls, with a run-wide switch to prompting if the endpoint refuses tools.
    """

    mode: Mode | Literal["auto"] = "auto"
    concurrency: int = 32
    """Requests in flight; with ``paced`` the maximum."""
    paced: bool = False
    """Whether each model finds its own number of requests in flight (`pytest_bfcl.endpoints.pacing`)."""
    timeout_s: float = 120.0
    request_limit_s: float = 600.0
    grace_s: float = 2.0
    wire_schemas: int = 40
    """Number of schemas that the wire checks generate."""
    """How long pending replies may take to arrive after Ctrl-C or SIGTERM."""
    retries: int = 5
    retry_limit_s: float = 300.0
    temperature: float | None = 0.001
    max_tokens: int | None = None
    parameters: Fields = field(default_factory=dict)
    """Further fields of every request; ``None`` leaves a field out."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers of every request; their values are secrets."""
    api: str | None = None
    """One of `APIS`; ``None``: the provider's own (`api_for`)."""
    stream: bool = False
    reasoning: str = "reference"
    """How a reply's reasoning is used in later requests, one of `REASONING_POLICIES`."""
    decoder: str | None = None
    """The format of calls in texts: a decoder's name, ``auto`` (by the model's name), ``None`` (native calls)."""
    think: Literal["auto", "strip", "keep"] = "auto"
    """How thoughts inside texts are treated: as by the family's handler, removed, or kept."""
    template: str | None = None
    """A family's name, ``auto``, a file or a folder. Prompts are rendered here, and `api` is ``completions``."""
    models: Mapping[str, Fields] = field(default_factory=dict)
    """Model spec → settings that differ for it; a spec without mode means both modes."""
    seed: int = 0
    base_url: str | None = None
    system_prompt: str | None = None
    repeat: int = 1
    rules: Rules = "official"
    search: str = "auto"
    """``auto``, ``local``, ``serpapi``, ``record``, ``replay`` or ``replay:RUN`` (see `pytest_bfcl.providers`)."""
    rest: str = "auto"
    """``auto``, ``local``, ``live``, ``record``, ``replay`` or ``replay:PATH``: who answers calls of retired
    categories."""
    mcp: Mapping[str, str] = field(default_factory=dict)
    """Name of a user's MCP server in entries → its command or URL, which may hold secrets."""
    mcp_setup: Mapping[str, str] = field(default_factory=dict)
    mcp_teardown: Mapping[str, str] = field(default_factory=dict)
    """Name of such a server → the commands before and after every trial on it."""
    agent_workers: int = 8
    """Processes that run ``agent:`` factories; 0 runs them in this process."""
    simulators: Literal["own", "reference"] = "own"
    step_limit: int = STEP_LIMIT
    max_errors_pct: float = 2.0
    budget_usd: float | None = None
    price: Price = field(default_factory=Price)
    gpu_hour_usd: float | None = None
    names: Literal["auto", "dots", "underscores"] = "auto"
    """How native names are spelled in replayed lines without this information; ``auto``: by the evidence of the calls.
    """
    transforms: tuple[str, ...] = ()
    """How entries are rephrased, in addition to the original (`pytest_bfcl.dataset.transforms`)."""
    rewordings: Mapping[str, Mapping[str, list[list[Parsed]]]] = field(default_factory=dict)
    """Name of a transform that is a file of own words → entry id → question."""
    split: SplitPart | None = None
    """The entries of the data to run; ``None``: all."""
    trained_on: SplitPart | None = None
    """The entries the models under test were trained on: their lines are marked, and no overall score is claimed."""
    sinks: tuple[str, ...] = ()
    """Sinks that follow the run (`pytest_bfcl.session.sinks`)."""
    board: str | None = None
    """A published ``data_overall.csv`` whose rows are shown with the run's models."""
    profile: str = ""
    """The profile whose options were taken, in words (`pytest_bfcl.run_options.profiles.profile_text`)."""
    serve: str | None = None
    """The arguments of the engines that the run starts (may be empty); ``None``: it starts none."""
    served: Mapping[str, str] = field(default_factory=dict)
    """Spec without mode → base URL of the server that was started or found; not part of the fingerprint."""

    @property
    def first_concurrency(self) -> int:
        """Requests in flight of a model while its server's limit is unknown."""
        return min(self.concurrency, FIRST_PACED) if self.paced else self.concurrency

    def shared_by(self, processes: int) -> Settings:
        """The settings for each of several processes: they share one limit of requests in flight."""
        return replace(self, concurrency=-(-self.concurrency // processes)) if self.paced else self

    def for_model(self, spec: str) -> Settings:
        """These settings for one model; its own parameters and headers are added to the run's."""
        if not self.models:
            return self
        found = self.models.get(spec)
        if found is None:
            base, at, mode = spec.rpartition("@")
            found = self.models.get(base) if at and mode in ("fc", "prompt") else None
        if not found:
            return self
        changed: Parsed = dict(found)
        for name in ("parameters", "headers"):
            if name in found:
                changed[name] = {**getattr(self, name), **found[name]}
        return replace(self, **changed)

    def api_for(self, provider: str) -> str | None:
        """The API of a provider's models; ``None`` where that is not our adapter's to choose.

        Models at OpenAI's own address are asked through Responses, as their rows on the leaderboard are.
        """
        if provider not in DIRECT_PROVIDERS:
            return None
        if self.api is not None or provider == "anthropic":
            return self.api or "anthropic"
        if self.template is not None:
            return "completions"
        own = provider == "openai" and not (self.base_url or os.environ.get("OPENAI_BASE_URL"))
        return "responses" if own else "chat"

    def sent_parameters(self) -> Parsed:
        """The further fields of a request, besides messages and tools; ``None`` keeps a field out."""
        sent: Parsed = {}
        if self.temperature is not None:
            sent["temperature"] = self.temperature
        if self.max_tokens is not None:
            sent["max_tokens"] = self.max_tokens
        return sent | dict(self.parameters)

    def to_dict(self) -> Parsed:
        """A JSON-able copy (what xdist and ssh workers receive)."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Parsed) -> Settings:
        """The inverse of `to_dict`; unknown keys are ignored so that older workers accept newer settings."""
        known = {f.name for f in fields(cls)}
        kept = {k: v for k, v in values.items() if k in known}
        kept["transforms"] = tuple(kept.get("transforms") or ())
        if isinstance(kept.get("price"), dict):
            kept["price"] = Price(**kept["price"])
        return cls(**kept)
