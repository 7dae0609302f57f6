"""Lines of ``results.jsonl``: judged conversations, errors, skipped entries; the same for plugin and library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pytest_bfcl.checkers.json_calls import call_form
from pytest_bfcl.checkers.judge import judge, judge_both
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.explaining.facts import facts_of
from pytest_bfcl.models.prices import conversation_cost
from pytest_bfcl.runs import results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.failures import BenchmarkError, Verdict
    from pytest_bfcl.json_types import Fields, Parsed
    from pytest_bfcl.models import Model
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Transcript


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
