"""How a run is carried out: one frozen value that travels to workers and into the fingerprint.

Defaults are the contract's (docs/contracts.md, "Defaults").
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from pytest_bfcl.transcript import Mode

Rules = Literal["official", "corrected"]


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; ``None`` when unknown."""

    input: float | None = None
    output: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything about a run that is not the data and not the model.

    Times in seconds. ``temperature`` and ``max_tokens`` may be ``None``: then the provider decides.
    ``mode`` ``auto`` means native calls, with a run-wide switch to prompting if the endpoint refuses tools.
    """

    mode: Mode | Literal["auto"] = "auto"
    concurrency: int = 32
    timeout_s: float = 120.0
    request_limit_s: float = 600.0
    retries: int = 5
    retry_limit_s: float = 300.0
    temperature: float | None = 0.001
    max_tokens: int | None = None
    seed: int = 0
    base_url: str | None = None
    system_prompt: str | None = None
    repeat: int = 1
    rules: Rules = "official"
    search: str = "auto"
    """``auto``, ``local``, ``serpapi``, ``record``, ``replay`` or ``replay:RUN`` (see `pytest_bfcl.providers`)."""
    rest: str = "auto"
    """``auto``, ``local``, ``live``, ``record``, ``replay`` or ``replay:PATH``: what retired categories ask."""
    simulators: Literal["own", "reference"] = "own"
    step_limit: int = 20
    max_errors_pct: float = 2.0
    budget_usd: float | None = None
    price: Price = field(default_factory=Price)
    gpu_hour_usd: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy (what xdist and ssh workers receive)."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """The inverse of `to_dict`; unknown keys are ignored so that older workers accept newer settings."""
        known = {f.name for f in fields(cls)}
        kept = {k: v for k, v in values.items() if k in known}
        if isinstance(kept.get("price"), dict):
            kept["price"] = Price(**kept["price"])
        return cls(**kept)
