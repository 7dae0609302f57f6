"""The gates of a run: their options, checks before the run where possible, and one verdict after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import UsageError, of_option
from pytest_bfcl.models import parse_spec
from pytest_bfcl.runs.directory import same_results
from pytest_bfcl.runs.lines import IncompleteError
from pytest_bfcl.scoring.comparison import compare_measurements, comparison_notes, gap_notes, pair_models
from pytest_bfcl.scoring.expectations import Expectations
from pytest_bfcl.scoring.gate_scope import everything
from pytest_bfcl.scoring.gates import GateCheck, extent_of, gate_checks, gate_summary, parse_gate, unreachable
from pytest_bfcl.scoring.measurements import Judged, Key, Measurement, open_measurement
from pytest_bfcl.scoring.noninferiority import Margin, noninferior, parse_margin, too_few
from pytest_bfcl.scoring.summary import full_sizes, is_rerun

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.summary_types import GateSummary, Summary
    from pytest_bfcl.scoring.comparison import Comparison

NO_ENTRY = (
    "a gate is asked for, and no entry was collected that it could judge: leave the paths out, or name "
    "bfcl/CATEGORY.jsonl beside them"
)
UNJUDGED = "dry run: no gate is judged"
SHOWN = 10
"""Entries listed below a missed gate; summary.json has all."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """The conditions that a run has to meet.

    Args:
        fail_under: ``GROUP=PCT``: the least accuracy of the group in percent.
        baseline: The run, result lines or official score folder (``PATH#MODEL``) that this run must not be worse than.
        baseline_margin: Accepted loss against it, in percentage points.
        noninferior: ``[GROUP=]PTS`` or ``[GROUP=]PCT%``: a larger loss must be ruled out.
        verify: Runs of the same model on other servers that this one must equal (docs/verify.md).
        expected: Content of a file of expected failures (`pytest_bfcl.scoring.expectations.read_expected`).
        allow_missing: Missing entries are left out of a group's mean; gaps of the baseline are accepted.
        min_entries: Least number of measured entries for every gate, or all of its group.
        max_errors: Allowed errors in percent of the entries; ``None``: the setting of the run, reported only next to
            other gates.
    """

    fail_under: Sequence[str] = ()
    baseline: Path | str | None = None
    baseline_margin: float = 0.0
    noninferior: Sequence[str] = ()
    verify: Sequence[Path | str] = ()
    expected: Any = None
    allow_missing: bool = False
    min_entries: int | None = None
    max_errors: float | None = None

    @property
    def wants_verdict(self) -> bool:
        """Whether any gate is set."""
        return self.decides or self.min_entries is not None or self.max_errors is not None

    @property
    def decides(self) -> bool:
        """Whether a gate decides which failures matter: then it sets the exit code, not each entry.

        The limits of errors and entries only decide whether a run counts.
        """
        return bool(self.fail_under) or self.knows_data

    @property
    def knows_data(self) -> bool:
        """Whether a baseline, a reference or a file of expected failures fixes the data set."""
        return self.baseline is not None or self.expected is not None or bool(self.verify)


class OthersGate(Protocol):
    """The gate that an entry point ``gates`` makes of ``(texts, fingerprint, data, directory, out)`` before the run.
    ``texts`` are the option's values (``--bfcl-NAME``), relative to ``directory``; ``out`` is the run's folder. It
    raises `UsageError` for invalid values. ``notes``: differences between the run and those it is compared with.
    """

    notes: Sequence[str]

    def unreachable(self, ids: Collection[str]) -> str | None:
        """Why a run over these entries cannot meet it even without a difference; else ``None``."""

    def checks(self, summary: Summary, records: Iterable[Fields]) -> Iterable[GateCheck]:
        """The checks over a finished run."""


class Gates:
    """Thresholds, a baseline, expected failures, the allowed errors.

    Raises `UsageError` for invalid values; `check_conditions` before the run, `evaluate` after it.
    """

    def __init__(
        self,
        options: GateOptions,
        *,
        rules: str = "official",
        max_errors_pct: float = 2.0,
    ) -> None:
        self.options = options
        self.thresholds = [parse_gate(text) for text in options.fail_under]
        if options.noninferior and not options.baseline:
            raise UsageError("--bfcl-noninferior needs --bfcl-baseline RUN: what the model must not be worse than")
        self.margins = list(map(_margin, options.noninferior))
        self.expectations = Expectations(options.expected)
        self.baseline: Measurement | None = None
        self.verify: OthersGate | None = None
        self._rules = rules
        self._max_errors_pct = max_errors_pct if options.max_errors is None else options.max_errors

    # -- before the run ------------------------------------------------------------------------------------------

    def check_conditions(
        self,
        run: Fingerprint,
        data: DataSet,
        models: Sequence[str],
        directory: Path = Path(),
        out: Path | None = None,
    ) -> None:
        """Refuse a baseline or a file of expected failures for another test or other models. ``models`` are the specs
        of this run, ``out`` its folder; the baseline's path is relative to ``directory``. A run is no baseline of
        itself. Raises `UsageError`.
        """
        if self.options.baseline:
            self._refuse_itself(directory, models, out)
            self.baseline = self._open_baseline(run, data, models, directory)
        if self.options.verify:
            point = entry_points.find("gates", "verify")
            if point is None:
                raise UsageError("--bfcl-verify: no installed package offers this gate")
            make = entry_points.load(point, "gate")
            with of_option("verify"):
                self.verify = make(list(map(str, self.options.verify)), run, data, directory, out)
        self.expectations.check_conditions(run)

    def refuse_guessed_data(self) -> None:
        """Raise `UsageError` if only ``auto`` selects the data."""
        if self.thresholds and not self.options.knows_data:
            raise UsageError("a gate needs to know its data: add --bfcl-data official, bundled or a path")

    def refuse_unreachable(
        self,
        entries: Mapping[str, str],
        data: DataSet,
        skip_reason: Callable[[str], str | None] = lambda category: None,
        *,
        others: bool = False,
    ) -> None:
        """Stop before the first request if no answers of the selected entries could meet a gate.

        ``entries``: id → category of the whole run, earlier parts included; ``skip_reason`` says why a category cannot
        be measured; ``others``: other tests would run instead. Raises `UsageError`.
        """
        if not self.options.wants_verdict:
            return
        judged = Counter(category for category in entries.values() if CATEGORIES[category].checker != "none")
        if not judged:
            if others or self.options.decides or self.options.min_entries:
                raise UsageError(NO_ENTRY)
            return  # the session's own code says that there was nothing
        skipped = {name: reason for name in judged if (reason := skip_reason(name)) is not None}
        if len(skipped) == len(judged):
            raise UsageError(
                f"the gate would measure nothing, because every entry would be skipped: {next(iter(skipped.values()))}"
            )
        measurable = sum(count for name, count in judged.items() if name not in skipped)
        if measurable < (self.options.min_entries or 0):
            raise UsageError(
                f"--bfcl-fail-under n={self.options.min_entries} cannot be met, nothing was sent: "
                f"{measurable} entries are selected"
            )
        told = unreachable(
            self.thresholds,
            judged,
            official=data.official,
            full=full_sizes(data) or (),
            allow_missing=self.options.allow_missing,
            skipped=skipped,
        )
        if told:
            listed = "\n".join(f"  {text}" for text in told[:4])
            raise UsageError(f"--bfcl-fail-under cannot be met, nothing was sent:\n{listed}")
        self._refuse_too_few({name for name, category in entries.items() if category not in skipped})

    def _refuse_too_few(self, ids: Collection[str]) -> None:
        """Refuse a margin that these entries could not show for an unchanged model: the baseline against itself."""
        if self.baseline is not None:
            whole = self.baseline.read

            def read(rules: str) -> dict[str, dict[Key, Judged]]:
                found = {model: dict(judged) for model, judged in whole(rules).items()}
                return {model: {key: each[key] for key in each if key[0] in ids} for model, each in found.items()}

            kept = replace(self.baseline, read=read)
            found = compare_measurements(kept, kept, self._rules, allow_missing=True)
            if not any(each.rows for each in found):
                raise UsageError(
                    f"--bfcl-baseline {self.options.baseline} has a verdict on none of the {len(ids):,} entries"
                )
            for margin in self.margins:
                if told := next(filter(None, (too_few(each, margin) for each in found)), None):
                    raise UsageError(f"--bfcl-noninferior {margin} cannot be met, nothing was sent: {told}")
        if self.verify is not None and (told := self.verify.unreachable(ids)):
            raise UsageError(f"--bfcl-verify cannot be met, nothing was sent: {told}")

    def _refuse_itself(self, directory: Path, models: Sequence[str], out: Path | None) -> None:
        """Refuse a baseline that is this run, a copy of it, or the run whose answers are replayed."""
        baseline = directory / str(self.options.baseline).partition("#")[0]
        replayed = [directory / parse_spec(text).name for text in models if text.startswith("replay:")]
        for place in [*([out] if out is not None else []), *replayed]:
            if same_results(place, baseline):
                raise UsageError(
                    f"--bfcl-baseline {self.options.baseline} is the run itself, which cannot be worse than it is: "
                    "name an earlier run"
                )

    def _open_baseline(self, run: Fingerprint, data: DataSet, models: Sequence[str], directory: Path) -> Measurement:
        """The baseline. Refused if it measured something else, or other models."""
        named = f"--bfcl-baseline {self.options.baseline}"
        try:
            measurement = open_measurement(str(directory / str(self.options.baseline)), data)
            comparison_notes(measurement, Measurement("this run", lambda rules: {}, run))
            gap_notes((measurement,), self.options.allow_missing, allow="--bfcl-allow-missing")
        except IncompleteError as error:
            raise UsageError(f"{named}: {error.message}") from None
        except UsageError as error:
            raise UsageError(
                f"{named}: {str(error).replace('cannot be compared', 'measured something else')}"
            ) from None
        before = list(measurement.models(self._rules))
        if len(before) != 1 and not pair_models(
            *([parse_spec(each).base for each in side] for side in (before, models))
        ):
            raise UsageError(
                f"{named} has {', '.join(before) or 'no results'}, "
                f"this run {', '.join(models)}: no model in common (RUN#MODEL picks one)"
            )
        return measurement

    # -- after the run -------------------------------------------------------------------------------------------

    def evaluate(
        self, summary: Summary, records: Iterable[Fields], run: Measurement, full: Mapping[str, int] | None = None
    ) -> GateSummary:
        """Every check over the finished run, as in ``summary.json``.

        ``records``: its result lines; ``full``: entries of the whole data set by category.
        """
        if not self.options.wants_verdict:
            return gate_summary(())
        refused = ""
        comparisons: list[Comparison] = []
        try:  # gaps were looked at before the run; what is damaged in its own results was asked again
            if self.baseline is not None:
                comparisons = compare_measurements(self.baseline, run, self._rules, allow_missing=True)
        except UsageError as error:
            refused = str(error)
        if comparisons and is_rerun(summary["fingerprint"]):
            comparisons, refused = [], _RERUN
        checks = [
            *gate_checks(
                summary,
                self.thresholds,
                comparisons=comparisons,
                margin_pct=self.options.baseline_margin,
                max_errors_pct=self._max_errors_pct,
                min_entries=self.options.min_entries,
                allow_missing=self.options.allow_missing,
                full=full,
            ),
            *([GateCheck("baseline", "", False, refused)] if refused else []),
            *(
                noninferior(found, margin, extent_of(summary, found.after, full))
                for found in comparisons
                for margin in self.margins
            ),
        ]
        notes = [note for found in comparisons for note in found.notes]
        if self.verify is not None:
            records = list(records)
            checks += self.verify.checks(summary, records)
            notes += self.verify.notes
        extents = [extent for model in summary["models"] if (extent := extent_of(summary, model, full)) is not None]
        if (expected := self.expectations.check(records, everything(extents))) is not None:
            checks.append(expected)
        return gate_summary(checks, notes)


_RERUN = "only entries that had failed were asked again (--lf): no comparison with the baseline"


def exit_code(gate: GateSummary, options: GateOptions, otherwise: int, troubles: Sequence[str] = ()) -> int:
    """The exit code of a judged run: ``otherwise`` is the code without gates. ``troubles`` are other failures that fail
    the run even if its gates are met.
    """
    if gate["verdict"] == "failed" or troubles:
        return 1
    return 0 if options.decides and gate["verdict"] == "passed" else otherwise


def wrong_entries(summary: Summary) -> int:
    """Entries of a run that failed or ended in an error."""
    scores = (found for model in summary["models"].values() for found in model["categories"].values())
    return sum(found["failed"] + found["errors"] for found in scores)


def gate_lines(
    gate: GateSummary, options: GateOptions, *, unjudged: str, troubles: Sequence[str] = (), wrong: int = 0
) -> Iterator[tuple[str, bool | None]]:
    """The lines about the gates and whether each is good: every check, entries to read, then the verdict.
    ``unjudged`` is the reason for no verdict; ``troubles`` as in `exit_code`; ``wrong``: entries that failed or
    ended in an error.
    """
    checks = gate["checks"]
    if not checks:
        if options.wants_verdict:
            yield f"gates: no verdict: {unjudged}", None
        return
    models = {check["model"] for check in checks if check["model"]}
    for check in checks:
        model = f"{check['model']}: " if len(models) > 1 and check["model"] else ""
        yield f"gate {'met' if check['ok'] else 'MISSED'}: {model}{check['why']}", check["ok"]
        if not check["ok"]:
            entries = check.get("entries") or []
            yield from ((f"    {entry}", None) for entry in entries[:SHOWN])
            if len(entries) > SHOWN:
                yield f"    … and {len(entries) - SHOWN} more in summary.json", None
    yield from ((f"gates: {note}", None) for note in gate.get("notes", ()))
    missed = [check["name"] for check in checks if not check["ok"]]
    if not options.decides and wrong:
        troubles = [*troubles, f"{wrong} {'entry' if wrong == 1 else 'entries'} did not pass, which no gate allows"]
    if missed:
        yield f"gates: FAILED by {', '.join(dict.fromkeys(missed))}", False
    elif troubles:
        yield f"gates: met, but {', '.join(troubles)}", False
    else:
        yield f"gates: PASSED, {len(checks)} of {len(checks)} met", True


def _margin(text: str) -> Margin:
    try:
        return parse_margin(text)
    except ValueError as error:
        raise UsageError(f"--bfcl-noninferior: {text!r} is not valid: {error}") from None
