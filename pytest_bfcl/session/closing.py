"""The results of a run at its end: settled modes, the summary, what gates measure. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.session.earlier import base_of
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.scoring.measurements import Measurement
    from pytest_bfcl.scoring.model_info import ModelInfo
    from pytest_bfcl.scoring.summary import Tallies
    from pytest_bfcl.settings import Settings


HELD_RECORDS = 20_000
"""Lines of a run directory that are handed over as a list; more are read from it when they are asked for."""


def settled_models(
    models: Iterable[ModelFingerprint], asked: Collection[tuple[str, str]], settings: Settings
) -> tuple[tuple[ModelFingerprint, ...], list[str]]:
    """The models of a run in the modes that ``auto`` came to, and in words which have changed.

    ``asked``: model and mode of the lines.
    """
    from pytest_bfcl.runs.fingerprint import ModelFingerprint

    seen = {base_of(spec): (spec, mode) for spec, mode in asked}
    settled, notes = [], []
    for model in models:
        found = seen.get(base_of(model.model)) if settings.mode == "auto" else None
        if found is not None and (model.model, model.mode) not in asked:  # m@fc beside m@prompt are two models
            spec, mode = found
            model = ModelFingerprint.of(spec, mode, settings)
            notes.append(f"mode auto came to {mode}: results are {spec}")
        settled.append(model)
    return tuple(settled), notes


def tallies_of(fingerprint: Fingerprint, data: DataSet) -> Tallies:
    """What counts the lines of a run over this data."""
    from pytest_bfcl.dataset.known_issues import known_issues
    from pytest_bfcl.scoring.summary import Tallies

    return Tallies(fingerprint.to_dict(), known_issues(data.version))


def summarised(
    tallies: Tallies,
    fingerprint: Fingerprint,
    data: DataSet,
    sizes: Mapping[str, int],
    settings: Settings,
    infos: Mapping[str, ModelInfo],
) -> Summary:
    """The summary of all lines that were counted; ``sizes``: entries per category that were to be run."""
    from pytest_bfcl.scoring.summary import full_sizes

    return tallies.summary(
        fingerprint.to_dict(),
        sizes=sizes,
        full_sizes=full_sizes(data),
        max_errors_pct=settings.max_errors_pct,
        infos=infos,
    )


def with_facts(summary: Summary, model_info: Fields, settings: Settings, seconds: float) -> Summary:
    """The summary with what was said of models, and what the machine cost for so long."""
    from pytest_bfcl.scoring.model_info import described

    if model_info:
        summary["model_info"] = described(model_info)
    if settings.gpu_hour_usd is not None:
        summary["machine_cost_usd"] = round(seconds / 3600 * settings.gpu_hour_usd, 6)
        for model in summary.get("models", {}).values():
            if model["cost_usd"] is None and (latency := model["latency"]["mean"]) is not None:
                model["cost_per_1000_usd"] = round(1000 * latency / 3600 * settings.gpu_hour_usd, 6)
    return summary


def measurement_of(
    directory: RunDirectory | None, lines: Sequence[ResultLine], fingerprint: Fingerprint, transforms: Sequence[str]
) -> Measurement:
    """What gates compare of a run: its directory, in memory its lines without those of transformed entries."""
    from pytest_bfcl.scoring.measurements import Measurement, by_model, measurement_of_run

    if directory is not None:
        return measurement_of_run(directory)
    plain = [each for each in lines if not is_transformed(each["id"], transforms)]
    return Measurement(
        "this run",
        lambda rules: by_model(plain, rules),
        fingerprint,
        lines=lambda ids: (each for each in plain if each["id"] in ids),
    )


def sizes_by_category(entries: Iterable[tuple[str, str]], transforms: Sequence[str]) -> dict[str, int]:
    """How many entries are scored in each category; ``entries``: id and category."""
    return Counter(
        [
            category
            for entry_id, category in entries
            if CATEGORIES[category].checker != "none" and not (transforms and is_transformed(entry_id, transforms))
        ]
    )


def handed_over(directory: RunDirectory) -> Sequence[ResultLine]:
    """All lines, those of earlier parts included; of a large run each is read when it is asked for."""
    found = list(islice(directory.records(), HELD_RECORDS + 1))
    return found if len(found) <= HELD_RECORDS else directory.stored_records()


_UNUSABLE = f"harness:{HarnessTrouble.DATA}"


def got_an_answer(line: ResultLine) -> bool:
    """Whether anything came back for a line, or nothing was sent: a skipped entry, a line that cannot be used."""
    from pytest_bfcl.scoring.tally import is_answered

    return is_answered(line) or line["outcome"] == "skipped" or line["reason"] == _UNUSABLE
