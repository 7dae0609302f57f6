"""Expected requests and cost of a run, from the data (``--bfcl-dry-run``), and what it skips, in words."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.models.prices import reply_cost
from pytest_bfcl.plain_text import counted
from pytest_bfcl.scoring.aggregate import OVERALL, categories_in
from pytest_bfcl.session.trial import expected_requests
from pytest_bfcl.transcript import Reply

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.session.trial import Trial


CHARACTERS_PER_TOKEN = 4.0
REPLY_TOKENS = 60
LOOKED_AT = 20
"""Entries of a category that are measured; the others are assumed to be alike."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The requests of one model: entries, write stages of memory entries, requests, tokens.

    ``usd`` is ``None`` where no price is known.
    """

    model: str
    entries: int
    calls: float
    input_tokens: float
    output_tokens: float
    usd: float | None
    stages: int

    def __str__(self) -> str:
        money = "no price known (--bfcl-price IN,OUT)" if self.usd is None else f"about {self.usd:.2f} USD"
        stages = f" and {self.stages:,} write stages" if self.stages else ""
        return (
            f"{counted(self.entries, 'entry', 'entries')}{stages} with {self.model}, "
            f"about {counted(round(self.calls), 'request')}, "
            f"{self.input_tokens:,.0f} tokens in, {self.output_tokens:,.0f} out, {money}"
        )


def estimates(trials: Iterable[Trial]) -> list[Estimate]:
    """One for each model, in the order of the trials."""
    return [_estimate(model, categories) for model, categories in _grouped(trials).items()]


def estimate_lines(trials: Sequence[Trial], precision: float | None = None) -> Iterator[str]:
    """Expected calls, tokens and cost of each model, and the entries that a precision in points take."""
    for found in estimates(trials):
        yield f"dry run: {found}; nothing was sent"
    if precision is not None and trials:
        for line in _sizes(next(iter(_grouped(trials).values())), precision):
            yield f"dry run: {line}"


def cost_lines(trials: Iterable[Trial]) -> Iterator[str]:
    """The expected cost of a run, a line for each model with a price."""
    for found in estimates(trial for trial in trials if trial.contender.price is not None):
        if found.usd:
            yield f"estimated: {found}"


def _grouped(trials: Iterable[Trial]) -> dict[str, dict[str, list[Trial]]]:
    """Model → category → its trials."""
    grouped: dict[str, dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        grouped[trial.contender.label][trial.category].append(trial)
    return grouped


def _estimate(model: str, categories: Mapping[str, list[Trial]]) -> Estimate:
    calls = tokens_in = tokens_out = 0.0
    for category, members in categories.items():
        requests = expected_requests(category)
        size = _mean_tokens(members)
        calls += requests * len(members)
        tokens_out += requests * len(members) * REPLY_TOKENS
        said = (requests - 1) * REPLY_TOKENS  # on average half of the steps, of which each is a reply and a result
        tokens_in += len(members) * requests * (size + said)
    price = next(iter(categories.values()))[0].contender.price
    asked = Reply(input_tokens=round(tokens_in), output_tokens=round(tokens_out))
    usd = reply_cost(asked, price) if price is not None else None
    stages = sum(len(members) for category, members in categories.items() if is_write_stage(category))
    entries = sum(map(len, categories.values())) - stages
    return Estimate(model, entries, calls, tokens_in, tokens_out, usd, stages)


def _mean_tokens(members: Sequence[Trial]) -> float:
    """Mean size of the first requests of some entries; a broken entry sends nothing."""
    looked = [size for size in map(_tokens, members[:: max(1, len(members) // LOOKED_AT)]) if size is not None]
    return sum(looked) / len(looked) if looked else 0.0


def _tokens(trial: Trial) -> float | None:
    try:
        entry = trial.load()
    except HarnessError:
        return None
    return len(json.dumps([entry.question[:1], entry.function])) / CHARACTERS_PER_TOKEN


def _sizes(categories: Mapping[str, list[Trial]], precision: float) -> Iterator[str]:
    """Entries of each category that give its score within ``precision`` points; repeats of an entry count once."""
    from pytest_bfcl.scoring.gate_scope import entries_needed, expected_half_width
    from pytest_bfcl.scoring.statistics import cluster_of

    yield f"for ±{precision:g} points (95 %) of what all entries of a category would give:"
    for category, members in categories.items():
        ids = {trial.entry_id for trial in members}
        entries = len(ids)
        needed = entries_needed(precision / 100, entries)
        ability = 100 * expected_half_width(list(Counter(cluster_of(each, category) for each in ids).values()))
        yield f"  {category}: {needed} of {entries} entries; all of them tell the ability behind within ±{ability:.1f}"


MOST_REASONS = 10


def skips_ahead(
    categories: Iterable[str], why: Callable[[str], str | None], data: DataSet, *, part: bool = False
) -> Iterator[str]:
    """Before the first request: which entries will be skipped, and whether the Overall score can be claimed.

    ``categories``: one an entry; ``why``: why a category is skipped, with the command that changes it; ``part``:
    whether other parts run the remaining entries. Only runs on official data can claim Overall.
    """
    counts = Counter(categories)
    reasons: dict[str, list[str]] = {}
    for category in counts:
        if reason := why(category):
            reasons.setdefault(reason, []).append(category)
    needed = set(categories_in(OVERALL))
    whole = data.official and needed <= counts.keys()
    for reason, names in reasons.items():
        lost = " and Overall will not be claimed" if whole and needed.intersection(names) else ""
        entries = counted(sum(counts[name] for name in names), "entry", "entries")
        yield f"{entries} will be skipped{lost} ({', '.join(names)}): {reason}"
    if counts and data.official and not whole and not part:
        chosen = f"{len(needed & counts.keys())} of its {len(needed)} categories are selected"
        yield f"Overall will not be claimed, {chosen}: leave out -m, -k, ids, paths and --bfcl-categories to select all"


def skip_lines(skips: Mapping[str, int]) -> Iterator[str]:
    """Why entries were skipped, most frequent reasons first; a service that is down gives one reason an entry."""
    ranked = sorted(skips.items(), key=lambda item: -item[1])
    for reason, count in ranked[:MOST_REASONS]:
        yield f"{counted(count, 'entry', 'entries')} skipped: {reason}"
    if rest := ranked[MOST_REASONS:]:
        yield f"{sum(count for _, count in rest)} more skipped for {len(rest)} other reasons (-rs lists them)"
