"""One model's part of ``summary.json``: categories, groups, claimed scores or the reasons against, and the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.runs.summary_types import (
    CategorySummary,
    Cell,
    Counts,
    FormatSensitivity,
    GroupSummary,
    Hallucination,
    Interval,
    Latency,
    ModelSummary,
    OverallSummary,
    PartialOverall,
    Repeats,
    Tokens,
)
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import CategoryScore, Term
from pytest_bfcl.scoring.model_info import ModelInfo, Usage, cost_usd, deviation, find_info, mean, percentile95
from pytest_bfcl.scoring.statistics import Share, Tally, category_interval, interval, spread_of
from pytest_bfcl.scoring.tally import CategoryTally, ModelTally

LABEL_V3 = "mean of non-live, live and multi-turn (BFCL v3 style)"
RERUN = "a rerun of entries that failed before (--lf): no score"


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned entries (by category; ``full``: of the whole set), and the scores that may be claimed."""

    planned: Mapping[str, int]
    full: Mapping[str, int]
    official: bool
    max_errors_pct: float
    repeat: int
    state: str
    rerun: bool
    infos: Mapping[str, ModelInfo]


class ModelNumbers:
    """One model's part of the summary."""

    def __init__(self, tally: ModelTally, plan: Plan) -> None:
        self.tally = tally
        self.plan = plan
        self.info = find_info(plan.infos, tally.model)
        self._usages = (tally.usage, tally.write_usage)
        self.categories = {name: tally.categories[name] for name in _ordered(tally.categories)}
        self.headline = {name: found.headline for name, found in self.categories.items() if found.headline.total}
        self._reviewed = any(found.reviewed for found in self.categories.values())  # only lines of the official data
        self._readings = {
            "official_accuracy": "official",
            "corrected_accuracy": "corrected",
            "accuracy_without_known_issues": "without_known_issues",
            **({"verified_accuracy": "verified"} if self._reviewed else {}),
        }

    def to_dict(self) -> ModelSummary:
        """As in ``summary.json``."""
        tally = self.tally
        cost, unpriced, cost_by = self._cost()
        found: ModelSummary = {
            "model": tally.model,
            "mode": tally.mode,
            "categories": {name: self._category(name, found) for name, found in self.categories.items()},
            "groups": self._groups(),
            "overall": self._overall(),
            "overall_corrected": self._claimed(aggregate.OVERALL, "corrected"),
            "overall_without_known_issues": self._claimed(aggregate.OVERALL, "without_known_issues"),
            "overall_v3": {**self._score(aggregate.OVERALL_V3), "label": LABEL_V3},
            "failure_counts": _by_count(tally.tags),
            "reasons": _by_count(tally.reasons),
            "corrected_rules": dict(sorted(tally.corrected_rules.items(), key=lambda item: _rule_order(item[0]))),
            "hallucination": self._hallucination(),
            "multi_turn": {name: self.tally.turns[name].to_dict() for name in _ordered(self.tally.turns)},
            "breakdown": self._breakdown(),
            "repeats": self._repeats(),
            "format_sensitivity": self._format_sensitivity(),
            "write_stages": dict(sorted(tally.write_stages.outcomes.items())),
            "cost_usd": cost,
            "unpriced": unpriced,
            "info": None if self.info is None else asdict(self.info),
            "latency": _latency(tally.usage.latencies),
            "tokens": self._tokens(),
        }
        if (conduct := tally.conduct.to_dict()) is not None:
            found["conduct"] = conduct
        if tally.trained_on:
            found["trained_on"] = {"entries": len(tally.trained_on), "of": tally.entries}
        if self._reviewed:
            found["overall_verified"] = self._claimed(aggregate.OVERALL, "verified")
        if tally.unreviewed:
            found["unreviewed"] = len(tally.unreviewed)
        endings = (f"unknown ending {cut(clean(word), 60)!r}: {count}" for word, count in tally.endings.most_common())
        if remarks := [*tally.remarks.sentences(tally.model), *endings, *tally.served.sentences()]:
            found["remarks"] = remarks
        if tally.lost_calls:
            found["lost_calls"] = _by_count(tally.lost_calls)
        if tally.endings:
            found["endings"] = _by_count(tally.endings)
        if tally.served.others:
            found["other_models"] = _by_count(tally.served.others)
        if tally.served.repeated:
            found["repeated_ids"] = tally.served.repeated
        if cost_by:
            found["cost_by"] = cost_by
        # A provider may report tokens and no seconds.
        requests = max(sum(len(getattr(each, of)) for each in self._usages) for of in ("latencies", "input_tokens"))
        if cost is not None and not unpriced and requests:
            found["cost_per_1000_usd"] = round(1000 * cost / requests, 6)
        if tally.usage.first_tokens:
            found["first_token"] = _latency(tally.usage.first_tokens)
        return found

    def _tokens(self) -> Tokens:
        """Sums, write stages included; reasoning tokens, a part of the output, if a provider reported them."""
        tokens: Tokens = {
            "input": sum(sum(usage.input_tokens) for usage in self._usages),
            "output": sum(sum(usage.output_tokens) for usage in self._usages),
        }
        reasoning = sum(sum(usage.reasoning_tokens) for usage in self._usages)
        if reasoning:
            tokens["reasoning"] = reasoning
        return tokens

    def _cost(self) -> tuple[float | None, int, str]:
        """By tokens, else by latency on a server with a known price (scoring spec §7), write stages included."""
        tally = self.tally
        if tally.priced or self.info is None or self.info.gpu_hour is None:
            return round(tally.cost, 6) if tally.priced else None, tally.unpriced, ""
        usage = Usage()
        for each in self._usages:
            usage.extend(each)
        found = cost_usd(usage, None, None, self.info.gpu_hour)
        return None if found is None else round(found, 6), 0, "gpu_hour"

    # Categories and groups.

    def _category(self, name: str, found: CategoryTally) -> CategorySummary:
        result = {
            **_outcomes([found]),
            "accuracy": found.headline.accuracy,
            "interval95": _pair(category_interval(name, found.headline)),
            **{key: getattr(found, which).accuracy for key, which in self._readings.items()},
            "known_issues": found.known_issues,
        }
        if self._reviewed:
            result["reviewed"] = found.reviewed
        if name in self.plan.planned:
            result["planned"] = self.plan.planned[name]
        return cast(CategorySummary, result)

    def _groups(self) -> dict[str, GroupSummary]:
        names = [*aggregate.FORMULAS, *(name for name in GROUPS if name not in aggregate.FORMULAS)]
        groups = {}
        for name in names:
            term = aggregate.formula(name)
            members = [part for part in aggregate.categories_in(term) if part in self.categories]
            if members:
                groups[name] = self._group(term, members)
        return groups

    def _group(self, term: Term, members: list[str]) -> GroupSummary:
        missing = [name for name in aggregate.missing(term, self.headline) if self._expected(name)]
        value = aggregate.value(term, self._scores("headline"))
        found = {
            **_outcomes([self.categories[name] for name in members]),
            "accuracy": value,
            "interval95": None if value is None else self._interval(term, value),
            **{key: aggregate.value(term, self._scores(which)) for key, which in self._readings.items()},
            "complete": not missing and not self.plan.state.startswith("stopped"),
            "missing": missing,
        }
        return cast(GroupSummary, found)

    def _expected(self, category: str) -> bool:
        """Whether a missing category is a gap: always, except in pooled groups over a data set's own categories."""
        return self.plan.official or category in self.plan.full or not self.plan.full

    def _scores(self, which: str) -> dict[str, CategoryScore]:
        """Accuracies under one reading; sizes are the data set's, so that excluded entries do not change weights."""
        scores = {}
        for name, found in self.categories.items():
            tally: Tally | Share = getattr(found, which)
            if tally.accuracy is not None:
                scores[name] = CategoryScore(tally.accuracy, self.plan.full.get(name) or tally.total)
        return scores

    def _interval(self, term: Term, value: float, population: Mapping[str, int] | None = None) -> Interval:
        sizes = {name: score.total for name, score in self._scores("headline").items()}
        weights = aggregate.category_weights(term, sizes)
        if len(weights) == 1:
            (name,) = weights
            return _pair(category_interval(name, self.headline[name]))
        return _pair(interval(value, spread_of(weights, self.headline, population)))

    # Overall.

    def _score(self, term: Term) -> OverallSummary:
        """A score with all its entries, or the reason why it is not claimed."""
        missing = aggregate.missing(term, self.headline)
        why = self._why_not(missing, term)
        value = None if why else aggregate.value(term, self._scores("headline"))
        result: OverallSummary = {
            "value": value,
            "complete": not why,
            "missing": missing,
            "interval95": None if value is None else self._interval(term, value),
        }
        if why:
            result["why"] = why
        return result

    def _overall(self) -> OverallSummary:
        result = self._score(aggregate.OVERALL)
        value, missing = result["value"], result["missing"]
        if "why" in result:
            result["partial"] = self._partial() if missing and not self._too_many_errors() else None
        if value is not None and self._sampled():
            result["sampled"] = True
            # How far the full set's score may be away, rather than the model's ability on such questions.
            result["interval95_full_set"] = self._interval(aggregate.OVERALL, value, self.plan.full)
        return result

    def _partial(self) -> PartialOverall | None:
        """Overall over the categories that ran, with rescaled weights; ``None`` for other data and without any.
        ``weights``: percent of the present parts of the five, rescaled to 100.
        """
        scores = self._scores("headline")
        value = aggregate.value(aggregate.OVERALL, scores)
        if not self.plan.official or value is None:
            return None
        parts = {
            aggregate.name_of(part): weight
            for weight, part in aggregate.OVERALL.weights
            if aggregate.value(part, scores) is not None
        }
        whole = sum(parts.values())
        counted = set(aggregate.categories_in(aggregate.OVERALL))
        return {
            "value": value,
            "interval95": self._interval(aggregate.OVERALL, value),
            "categories": sum(name in counted for name in self.headline),
            "of": len(counted),
            "weights": {name: 100 * weight / whole for name, weight in parts.items()},
        }

    def _why_not(self, missing: list[str], term: Term) -> str | None:
        if told := self.tally.trained_mark:
            return told
        if self.plan.rerun:
            return RERUN
        if told := self._too_many_errors():
            return told
        if not self.plan.official:
            return "not the official data: these scores are not BFCL scores"
        if missing:
            needed = set(aggregate.categories_in(term))
            return f"{len(set(missing))} of the {len(needed)} categories it counts were not run"
        if self.plan.state.startswith("stopped"):
            return f"the run was {self.plan.state}"
        unfinished = [name for name, found in self.categories.items() if self._unfinished(name, found)]
        if unfinished:
            return f"not finished: {', '.join(unfinished)}"
        return None

    def _too_many_errors(self) -> str:
        """Why no score is claimed at all; empty if there are few enough errors."""
        errors = sum(found.outcomes["error"] for found in self.categories.values())
        attempted = sum(found.attempted for found in self.categories.values())
        if attempted and not self.tally.answered:
            return "no request got an answer"
        if errors * 100 <= self.plan.max_errors_pct * attempted:
            return ""
        return f"{errors} of {attempted} entries ended in an error, more than {self.plan.max_errors_pct:g} %"

    def _unfinished(self, name: str, found: CategoryTally) -> bool:
        return found.attempted < self.plan.planned.get(name, 0) * self.plan.repeat

    def _sampled(self) -> bool:
        return any(len(found.headline.entries) < self.plan.full.get(name, 0) for name, found in self.categories.items())

    def _claimed(self, term: Term, which: str) -> float | None:
        if self._why_not(aggregate.missing(term, self.headline), term):
            return None
        return aggregate.value(term, self._scores(which))

    # The rest.

    def _hallucination(self) -> Hallucination:
        by_category = self.tally.hallucination
        whole = Share()
        for found in by_category.values():
            whole.add(found.passed, found.total)
        return {
            "share": whole.accuracy,
            "turns": whole.total,
            "with_call": whole.passed,
            "categories": {name: by_category[name].accuracy or 0.0 for name in _ordered(by_category)},
        }

    def _breakdown(self) -> dict[str, dict[str, Cell]]:
        return {
            kind: {
                name: {
                    "passed": tally.passed,
                    "total": tally.total,
                    "accuracy": tally.accuracy,
                    "interval95": _pair(category_interval(name, tally)),
                }
                for name, tally in sorted(cells.items())
            }
            for kind, cells in sorted(self.tally.breakdown.items())
        }

    def _repeats(self) -> Repeats | None:
        """Over entries that ran more than once: mean pass rate, share passing every time, share that differed."""
        counts = [count for found in self.headline.values() for count in found.entries.values() if count[1] > 1]
        if not counts:
            return None
        return {
            "entries": len(counts),
            "k": max(total for _, total in counts),
            "pass_at_1": math.fsum(passed / total for passed, total in counts) / len(counts),
            "pass_pow_k": sum(passed == total for passed, total in counts) / len(counts),
            "pass_at_k": sum(passed > 0 for passed, _ in counts) / len(counts),
            "flip_rate": sum(0 < passed < total for passed, total in counts) / len(counts),
        }

    def _format_sensitivity(self) -> FormatSensitivity | None:
        formats = self.tally.formats
        if not formats.counts:
            return None
        return {
            "max_delta": formats.max_delta,
            "standard_deviation": formats.deviation,
            "variance": formats.variance,
            "configurations": {
                name: {"passed": found.passed, "total": found.total, "accuracy": found.accuracy}
                for name, found in sorted(formats.counts.items())
            },
        }


def _outcomes(tallies: Iterable[CategoryTally]) -> Counts:
    outcomes: Counter[str] = Counter()
    for tally in tallies:
        outcomes.update(tally.outcomes)
    return {
        "total": outcomes.total(),
        "passed": outcomes["passed"],
        "failed": outcomes["failed"],
        "errors": outcomes["error"],
        "skipped": outcomes["skipped"],
    }


def _latency(values: list[int | float]) -> Latency:
    """Seconds per model request, rounded to a tenth of a millisecond."""
    return {"mean": _tenth(mean(values)), "std": _tenth(deviation(values)), "p95": _tenth(percentile95(values))}


def _tenth(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def _ordered(names: Iterable[str]) -> list[str]:
    """Category names in table order, unknown ones last."""
    order = {name: position for position, name in enumerate(CATEGORIES)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


def _by_count(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def _rule_order(name: str) -> tuple[int, str]:
    digits = name.removeprefix("C")
    return (int(digits) if digits.isdigit() else 999, name)


def _pair(found: tuple[float, float] | None) -> Interval:
    return None if found is None else [found[0], found[1]]
