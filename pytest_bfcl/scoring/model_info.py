"""What the leaderboard says about a model besides numbers (``--bfcl-model-info FILE``).

TOML, one table per model spec under ``models``; a spec without mode stands for both modes::

    [models."openai:gpt-4o@fc"]
    name = "GPT-4o (FC)"
    link = "https://…"
    organisation = "OpenAI"
    licence = "Proprietary"
    input_price = 2.5       # USD per million tokens
    output_price = 10.0
    gpu_hour = 23.92        # USD per hour of the server, for models without a price
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model's display name, link, organisation, licence; prices in USD per million tokens and per server hour.

    ``gpu_hour`` ``None``: the reference's price of a server, where a cost must be guessed at all.
    """

    name: str
    link: str = ""
    organisation: str = ""
    licence: str = ""
    input_price: float | None = None
    output_price: float | None = None
    gpu_hour: float | None = None


_NUMBERS = ("input_price", "output_price", "gpu_hour")


def parse_model_info(values: Mapping[str, Any], source: str = "model info") -> dict[str, ModelInfo]:
    """Model spec → information, from the parsed file. Raises `UsageError` naming the field that is wrong."""
    models = values.get("models", {})
    if not isinstance(models, Mapping) or (values and not models):
        raise UsageError(f'{source}: write one table per model, for instance [models."openai:gpt-4o@fc"]')
    return {spec: _info(spec, table, f"{source}: {spec}") for spec, table in models.items()}


def _info(spec: str, table: Any, where: str) -> ModelInfo:
    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: not a table")
    known = {field.name for field in fields(ModelInfo)}
    unknown = sorted(set(table) - known)
    if unknown:
        raise UsageError(f"{where}: unknown field {unknown[0]!r}; known: {', '.join(sorted(known))}")
    for name, value in table.items():
        wanted: Any = (int, float) if name in _NUMBERS else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(f"{where}: {name} must be a {'number' if name in _NUMBERS else 'text'}, not {value!r}")
    return ModelInfo(**{"name": spec, **table})


def find_info(infos: Mapping[str, ModelInfo], model: str) -> ModelInfo | None:
    """The information on a model by its spec, else by its spec without mode; the mode is then added to the name."""
    if model in infos:
        return infos[model]
    base, _, mode = model.rpartition("@")
    found = infos.get(base)
    if found is None or mode not in _MODES:
        return None
    return replace(found, name=f"{found.name} ({_MODES[mode]})")


_MODES = {"fc": "FC", "prompt": "Prompt"}


def read_model_info(path: Path) -> dict[str, ModelInfo]:
    """`parse_model_info` of a TOML file. Raises `UsageError` when it cannot be read."""
    import tomllib

    try:
        return parse_model_info(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
