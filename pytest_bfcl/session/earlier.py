"""The lines of ``results.jsonl``: judged conversations, errors, skipped entries; the same for plugin and library.

Those of a run's earlier parts, and the trials that remain, are read once and sent to workers as plain values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pytest_bfcl.checkers.json_calls import call_form
from pytest_bfcl.checkers.judge import judge, judge_both
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.explaining.facts import facts_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.prices import conversation_cost
from pytest_bfcl.runs import results
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.transcript import SERVED_BY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.failures import BenchmarkError, Verdict
    from pytest_bfcl.json_types import Fields, Parsed
    from pytest_bfcl.models import Model
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.trial import Trial, TrialKey
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Mode, Transcript


class DoneKey(NamedTuple):
    """An entry of an earlier part: ``model`` without its mode, unless the run has the model in both modes."""

    entry_id: str
    model: str
    repeat: int


@dataclass(frozen=True)
class EarlierParts:
    """The earlier parts of a run; a new run has none.

    ``settled`` have a verdict, ``errored`` a line that is an error. ``modes``: model without mode → the mode the run
    settled on (``auto`` is decided once). ``twice``: models that are in the run in both modes.
    """

    fingerprint: Fingerprint | None = None
    settled: frozenset[DoneKey] = frozenset()
    errored: frozenset[DoneKey] = frozenset()
    modes: Mapping[str, Mode] = field(default_factory=dict)
    twice: frozenset[str] = frozenset()
    served: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name of an MCP server in entries → its facts in the last line (`ServerFacts.summary`)."""

    @classmethod
    def read(cls, path: Path | None, note: Callable[[str], None] | None = None) -> EarlierParts:
        """The earlier parts at ``path``; none if there is no run. ``note`` receives damaged lines."""
        from pytest_bfcl.runs.directory import RunDirectory, is_run
        from pytest_bfcl.runs.results import is_settled, record_key

        if path is None or not is_run(path):
            return cls()
        run = RunDirectory.open(path)
        models = run.fingerprint.models
        bases = Counter(base_of(model.model) for model in models)
        modes = {base_of(model.model): cast("Mode", model.mode) for model in models}
        twice = frozenset(base for base, count in bases.items() if count > 1)
        settled: set[DoneKey] = set()
        errored: set[DoneKey] = set()
        served: dict[str, dict[str, str]] = {}
        tell = note or (lambda text: None)
        for record in run.records(lambda line: tell(f"damaged line: {line}; its entry runs again")):
            model, _, entry_id, repeat = record_key(record)
            if is_settled(record):
                settled.add(done_key(entry_id, model, repeat, twice))
                served |= server_facts(record.get("extra", {}).get(SERVED_BY))
            elif record.get("outcome") == "error":
                errored.add(done_key(entry_id, model, repeat, twice))
        return cls(run.fingerprint, frozenset(settled), frozenset(errored), modes, twice, served)

    @property
    def settled_ids(self) -> set[str]:
        """The entries that have a verdict for at least one model."""
        return {key.entry_id for key in self.settled}

    def is_settled(self, trial: Trial) -> bool:
        """Whether a trial already has its verdict."""
        return bool(self.settled) and self._key(trial, trial.entry_id) in self.settled

    def needs_stage(self, question: Trial, stage_id: str) -> bool:
        """Whether a write stage must run for a question: it has no verdict yet, and the question will run or the stage
        ended in an error.
        """
        stage = self._key(question, stage_id)
        return stage not in self.settled and (not self.is_settled(question) or stage in self.errored)

    def is_settled_line(self, line: Fields) -> bool:
        """Whether a line of the journal belongs to an entry with a verdict."""
        key = done_key(str(line.get("id")), str(line.get("model")), line.get("repeat") or 1, self.twice)
        return key in self.settled

    def refuse_other(self, now: Fingerprint, path: Path) -> None:
        """Raise `UsageError` with the differences if the run measured something else."""
        if self.fingerprint is None:
            return
        found = comparability(self.fingerprint, now, Purpose.PARTS)
        if found.refused:
            raise UsageError(f"cannot continue {path}: it measured something else\n{found.listed()}")

    def to_dict(self) -> Parsed:
        """Plain values for a worker."""
        return {
            "settled": [list(key) for key in self.settled],
            "errored": [list(key) for key in self.errored],
            "modes": dict(self.modes),
            "twice": sorted(self.twice),
            "served": {name: dict(facts) for name, facts in self.served.items()},
        }

    @classmethod
    def from_dict(cls, values: Fields) -> EarlierParts:
        """The inverse of `to_dict`, without the fingerprint."""
        settled, errored = _keys(values["settled"]), _keys(values["errored"])
        return cls(None, settled, errored, dict(values["modes"]), frozenset(values["twice"]), values["served"])

    def _key(self, trial: Trial, entry_id: str) -> DoneKey:
        return done_key(entry_id, trial.contender.identity.model, trial.repeat, self.twice)


def server_facts(told: object) -> dict[str, dict[str, str]]:
    """Name of an MCP server → its facts (`ServerFacts.summary`), from the lines' ``extra.served_by``."""
    if not isinstance(told, dict):
        return {}
    return {str(told.get("server")): {str(name): str(fact) for name, fact in told.items() if name != "server"}}


def done_key(entry_id: str, model: str, repeat: int, twice: Collection[str]) -> DoneKey:
    """The key of a result in a run with the models ``twice`` in both modes; ``model`` is its name in results."""
    base = base_of(model)
    return DoneKey(entry_id, model if base in twice else base, repeat)


def _keys(listed: Iterable[Iterable[Any]]) -> frozenset[DoneKey]:
    return frozenset(DoneKey(str(entry_id), str(model), int(repeat)) for entry_id, model, repeat in listed)


@lru_cache(maxsize=64)
def base_of(model: str) -> str:
    """A model's name in results, without its mode."""
    from pytest_bfcl.models import parse_spec

    try:
        return parse_spec(model).base
    except UsageError:  # an adapter of the caller's, named freely
        return model


def needed_stages(question: Trial, earlier: EarlierParts) -> list[str]:
    """Ids of the write stages that must run for a memory question, in order; empty for every other entry."""
    return [stage for stage in question.depends_on if earlier.needs_stage(question, stage)]


def plan_trials(trials: Iterable[Trial], earlier: EarlierParts, stage: Callable[[Trial, str], Trial]) -> list[Trial]:
    """The trials without a verdict, each once, each after the write stages it needs.

    ``stage`` makes the trial of a question's write stage.
    """
    chosen = {trial.key: trial for trial in trials}
    planned: dict[TrialKey, Trial] = {}
    for trial in chosen.values():
        for stage_id in needed_stages(trial, earlier) if CATEGORIES[trial.category].backend else ():
            key = trial.key_of(stage_id)
            planned.setdefault(key, chosen.get(key) or stage(trial, stage_id))
        if not (earlier.settled and earlier.is_settled(trial)):  # most runs have settled nothing
            planned[trial.key] = trial
    return list(planned.values())


def judged_record(
    entry: Entry,
    transcript: Transcript,
    *,
    model: Model | None = None,
    rules: str = "official",
    price: Price | None = None,
    worker: str | None = None,
    simulators: Literal["own", "reference"] = "own",
) -> ResultLine:
    """The line of one conversation whose calls are read (`fill_calls`), judged under both rule sets.

    ``model`` is used if the transcript names none; ``rules`` selects the headline outcome; ``price`` gives the cost.
    """
    if model is not None and not transcript.model:
        transcript.model = model.spec
    judgement = judge_both(entry, transcript, simulators=simulators)
    official, corrected = judgement.official, judgement.corrected
    record = results.result_record(
        entry,
        transcript,
        official,
        corrected,
        corrected_rules=judgement.corrected_rules,
        extra=judgement.extra,
        rules=rules,
        cost_usd=conversation_cost(transcript, price) if price is not None else None,
        worker=worker,
    )
    if entry.mcp is not None:
        offered: Sequence[Fields] = _listed(transcript)
    else:
        offered = entry.all_functions if entry.missed_function else entry.function
    if (offered or entry.mcp is None) and (form := call_form(offered, record["output"], entry.language)) is not None:
        record["call_form"] = form
    if record["outcome"] == "failed":
        record["facts"] = facts_of(entry, transcript, corrected if rules == "corrected" else official)
    if "reviewed" in (entry.model_extra or ()) and not entry.is_reviewed:
        record["unreviewed"] = True
    if transcript.other_reading is not None:
        other = judge(entry, transcript.other_reading.of(transcript), rules, simulators=simulators)
        record["other_reading"] = {**transcript.other_reading.fields(), "outcome": other.outcome}
    if entry.verified is not None and (
        verified := _verified_outcome(entry, transcript, judgement.official, simulators)
    ):
        record["verified_outcome"] = verified
    return record


def _listed(transcript: Transcript) -> list[Parsed]:
    """The tools that a server listed, under both executable names; none in a conversation of stored replies."""
    told = transcript.functions
    return [*told, *({**doc, "name": portable_name(str(doc["name"]))} for doc in told)]


def _verified_outcome(
    entry: Entry, transcript: Transcript, official: Verdict, simulators: Literal["own", "reference"]
) -> str | None:
    """The outcome by the corrected answer (`pytest_bfcl.dataset.verified`), or ``excluded``.

    ``None`` for errors, and if the outcome is the same.
    """
    if official.outcome not in ("passed", "failed"):
        return None
    if entry.verified == "excluded":
        return "excluded"
    outcome: str = judge(entry.verified, transcript, simulators=simulators).outcome
    return None if outcome == official.outcome else outcome


def errored_record(trial: Trial, error: BenchmarkError, *, rules: str, worker: str | None = None) -> ResultLine:
    """The line of a trial that ended in an error, with the unfinished conversation."""
    model, mode = trial.contender.identity
    transcript = error.transcript
    cost = conversation_cost(transcript, trial.contender.price) if transcript is not None else None
    return results.error_record(
        trial.entry_id, trial.category, model, mode, error.verdict,
        repeat=trial.repeat, rules=rules, transcript=transcript, cost_usd=cost, worker=worker,
    )  # fmt: skip
