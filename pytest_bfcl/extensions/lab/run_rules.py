"""Findings from many runs: no run passes an entry, runs agree on another answer, better models pass it less.

Models of one family count once: everything is counted by families (`family_of`), never by runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.lab.rules import Defect, ItemFit, fit_items
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.runs.lines import DamagedLine

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.lines import LeftOut

_SNAPSHOT = re.compile(r"[_@:-]snapshots?[_-].*$", re.IGNORECASE)
_MODE = re.compile(r"@(?:fc|prompt)$")
_VENDOR = re.compile(r"^.*(?:/|--)")
_PART = re.compile(r"(?<![a-z])(?!(?:meta|open)-)[a-z]+", re.IGNORECASE)
_VERSIONED = re.compile(r"[A-Za-z][A-Za-z-]*-?\d")


def family_of(model: str) -> str:
    """The family of a model's name: the word before its version, in lower case.

    ``openai:gpt-4o@fc``, ``gpt-4.1`` and ``gpt-oss-120b`` are ``gpt``, ``Qwen_Qwen3-8B-FC`` and ``Qwen--Qwen3-32B``
    ``qwen``, ``Salesforce_Llama-xLAM-2-8b-fc-r`` ``llama``. In doubt two families are joined.
    """
    name = _MODE.sub("", model)
    name = _SNAPSHOT.sub("", name)
    name = _VENDOR.sub("", name.partition(":")[2] or name)
    parts = [part for part in name.split("_") if _PART.match(part)] or [name]
    chosen = next((part for part in reversed(parts) if _VERSIONED.search(part)), parts[-1])
    found = _PART.search(chosen)
    return (found[0] if found else chosen).lower()


FEWEST = 2
"""Number of attempts from which "never" is significant."""
FEWEST_FAMILIES = 3
"""Number of independent families from which their agreement is significant."""
AGREEMENT = 0.8
"""Share of all families with one wrong answer from which they agree."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One model's attempt at an entry: whether it passed, the reason, its calls; ``model`` is its name."""

    passed: bool
    reason: str | None
    calls: Any
    model: str = ""


@dataclass(frozen=True, slots=True)
class Attempts:
    """One run's attempts by entry id."""

    label: str
    by_id: Mapping[str, Sequence[Attempt]]

    def family(self, attempt: Attempt) -> str:
        """The family of an attempt's model; a run without a model's name is a separate family."""
        return family_of(attempt.model) if attempt.model else self.label


def families_of(runs: Sequence[Attempts]) -> set[str]:
    """The families with attempts."""
    return {run.family(attempt) for run in runs for tried in run.by_id.values() for attempt in tried}


def too_few(runs: Sequence[Attempts]) -> str | None:
    """Why these runs prove nothing about an entry, or ``None``."""
    families = sorted(families_of(runs))
    if not families or len(families) >= FEWEST_FAMILIES:
        return None
    of = f"{len(runs)} run{'s' if len(runs) > 1 else ''} of {_families(len(families))} of models"
    return (
        f"{of} ({', '.join(families)}) prove nothing about an entry: what they all fail may be their own mistake; "
        f"at least {FEWEST_FAMILIES} families are needed"
    )


def run_defects(runs: Sequence[Attempts], ids: set[str], *, fewest_families: int = FEWEST_FAMILIES) -> Iterator[Defect]:
    """Entries that no attempt of any run passed, among them those with one common answer, and negative
    discriminations."""
    if len(families_of(runs)) < fewest_families:
        return
    for entry_id in sorted(ids):
        tried = [(run, attempt) for run in runs for attempt in run.by_id.get(entry_id, ())]
        families = {run.family(attempt) for run, attempt in tried}
        if len(tried) < FEWEST or len(families) < fewest_families or any(attempt.passed for _, attempt in tried):
            continue
        reasons = Counter(str(attempt.reason) for _, attempt in tried)
        reason, times = reasons.most_common(1)[0]
        proof = tuple(f"{run.label}: {attempt.reason}: {_text(attempt.calls)[:300]}" for run, attempt in tried)
        message = f"failed in all {len(tried)} attempts of {_families(len(families))}, {times} times by {reason}"
        yield Defect("never_passed", entry_id, message, "", proof)
        answers = _by_answer(tried)
        if answers:
            answer, agreed = max(answers.items(), key=lambda item: (len(item[1]), item[0]))
            if len(agreed) >= max(fewest_families, FEWEST, AGREEMENT * len(families)):
                message = f"{len(agreed)} of {_families(len(families))} gave {answer[:160]}"
                yield Defect("consensus", entry_id, message, "", proof)
    for fit in item_fits(runs):
        if fit.id in ids and fit.is_negative:
            message = f"discrimination {fit.discrimination:.2f} ± {fit.error:.2f}, passed {fit.passed} of {fit.judged}"
            yield Defect("negative_discrimination", fit.id, message)


def item_fits(runs: Sequence[Attempts]) -> list[ItemFit]:
    """Difficulty and discrimination of every entry; empty for too few families or entries.

    An attempt counts for its model within its run; of repeats the first counts.
    """
    outcomes: dict[str, dict[str, bool]] = {}
    family: dict[str, str] = {}
    for number, run in enumerate(runs):
        for entry_id, tried in run.by_id.items():
            for attempt in tried:
                name = f"{number}:{attempt.model}"
                outcomes.setdefault(name, {}).setdefault(entry_id, attempt.passed)
                family[name] = run.family(attempt)
    return fit_items(outcomes, family)


def _by_answer(tried: Sequence[tuple[Attempts, Attempt]]) -> dict[str, set[str]]:
    """Answer → the families with this answer in most attempts."""
    given: dict[str, Counter[str]] = {}
    for run, attempt in tried:
        given.setdefault(run.family(attempt), Counter())[_text(attempt.calls) if attempt.calls else ""] += 1
    found: dict[str, set[str]] = {}
    for family, answers in given.items():
        answer, times = answers.most_common(1)[0]
        if answer and 2 * times > answers.total():
            found.setdefault(answer, set()).add(family)
    return found


def _families(count: int) -> str:
    return f"{count} famil{'y' if count == 1 else 'ies'}"


def _text(calls: Any) -> str:
    return json.dumps(calls, sort_keys=True, ensure_ascii=False, default=str)


def read_attempts(path: Path, dataset: DataSet, left_out: LeftOut) -> Attempts:
    """Every judged attempt of a run; lines without a verdict are judged here. Damaged lines go to ``left_out``. Raises
    `UsageError` without lines.
    """
    from pytest_bfcl.runs.replay_lines import read_replay_lines

    if not path.exists():
        raise UsageError(f"--runs: {path} does not exist: name run directories, results.jsonl or official folders")
    by_id: dict[str, list[Attempt]] = {}
    for number, line in enumerate(read_replay_lines(path, left_out, None, "auto", dataset), 1):
        attempt = _attempt(line, dataset)
        if isinstance(attempt, str):
            left_out(DamagedLine(path, number, attempt))
        elif attempt is not None:
            by_id.setdefault(str(line.get("id")), []).append(attempt)
    return Attempts(str(path), by_id)


def _attempt(line: Fields, dataset: DataSet) -> Attempt | str | None:
    """One line as an attempt; ``None`` for errors and skipped entries, or the reason why it cannot be judged."""
    model = str(line.get("model") or "")
    made = line.get("calls") or line.get("output")
    outcome = line.get("official_outcome") or line.get("outcome")
    if outcome is not None:
        reason = line.get("official_reason") if "official_outcome" in line else line.get("reason")
        return Attempt(outcome == "passed", reason, made, model) if outcome in ("passed", "failed") else None
    (verdict,) = score_lines([line], dataset)
    if not isinstance(verdict.get("valid"), bool):
        return None if "skipped" in verdict else str(verdict.get("error"))
    return Attempt(verdict["valid"], verdict.get("reason"), made, model)
