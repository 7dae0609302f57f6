"""The first page of a report: title, notices, cards, tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_bfcl.checkers.corrected import CORRECTED_RULES
from pytest_bfcl.checkers.reasons import remedy_of, rule_of
from pytest_bfcl.explaining.headlines import ids_text
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.reporting import rendering, scores
from pytest_bfcl.reporting.listing import Alike, Listing
from pytest_bfcl.reporting.rendering import documentation_of
from pytest_bfcl.reporting.sources import Questions, Section
from pytest_bfcl.reporting.tables import Table

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory

Summary = Fields
SERVER_PAGE = "wire.html"
"""The results of the server checks in this run's folder."""
MAX_REASONS = 40
MAX_TEXT = 400
MAX_ERRORS = 12
"""Kinds of errors that are shown separately; the list of entries has all."""


def content(
    summary: Summary,
    run: RunDirectory,
    found: Questions,
    listing: Listing,
    sections: Iterable[Section | str],
) -> Parsed:
    """The values of the template ``index.html.jinja``; of ``sections`` with one anchor the last one is shown."""
    shown = {each if isinstance(each, str) else each.anchor: each for each in sections}
    unread = [each for each in shown.values() if isinstance(each, str)]
    left_out = [f"{text}." for text in run.left_out.sentences()]
    models: Mapping[str, Summary] = summary["models"]
    facts = summary["fingerprint"]
    table = scores.matrix(models, facts) if len(models) > 1 else []
    return {
        "run": {
            "title": title(summary),
            "short": run.fingerprint.short(),
            "when": _when(facts),
            "notices": [*notices(summary), *found.notices, *left_out, *unread],
            "cards": cards(models, summary.get("machine_cost_usd")),
            "server_page": SERVER_PAGE if (run.path / SERVER_PAGE).is_file() else "",
        },
        "gate": {"verdict": "none", "checks": [], **(summary.get("gate") or {})},
        "models": list(models),
        "details": [_details(name, model, len(models), listing, facts) for name, model in models.items()],
        "matrix": scores.matrix_table(table, list(models), notes=True),
        "leading": [row for row in table if row.kind != "category"] or table,
        "spent": _spent(models),
        "has": {
            "latency": listing.has_latency,
            "cost": listing.has_cost,
            "corrected": listing.has_differing,
            "pages": listing.pages,
        },
        "failures": listing.failures,
        "failed": listing.failed,
        "sections": [each for each in shown.values() if not isinstance(each, str)],
        "documentation": documentation_of("reasons.md"),
    }


def title(summary: Summary) -> str:
    """The measured models, data and rules."""
    models = list(summary["models"])
    data = (summary["fingerprint"].get("dataset") or {}).get("name") or "unknown"
    named = {"official": "the official BFCL data", "bundled": "the bundled data"}.get(data, f"the data “{data}”")
    who = models[0] if len(models) == 1 else f"{len(models)} models" if models else "No model"
    return f"{who} on {named}"


def notices(summary: Summary) -> list[str]:
    """Warnings that a reader needs before the numbers."""
    fingerprint = summary["fingerprint"]
    data = (fingerprint.get("dataset") or {}).get("name")
    found = []
    if data != "official":
        which = "the bundled entries of pytest-bfcl" if data == "bundled" else f"the entries of “{data}”"
        found.append(f"These are not BFCL scores: {which} were asked, not the official data set.")
    for name, model in (summary.get("models") or {}).items():
        if model["overall"]["value"] is None and (why := model["overall"].get("why")) and data == "official":
            whose = f" for {name}" if len(summary["models"]) > 1 else ""
            found.append(f"No overall score is claimed{whose}: {why}.")
    if any(model.get("prompt_sha256") for model in fingerprint.get("models") or ()):
        found.append("A user's own system prompt was used: these numbers are not comparable with others.")
    found += [
        f"{model['model']}: replies were read as {model['read_as']}."
        for model in fingerprint.get("models") or () if model.get("read_as")
    ]  # fmt: skip
    models = summary.get("models") or {}  # the leaderboard has a fingerprint only
    if unreviewed := max((model.get("unreviewed") or 0 for model in models.values()), default=0):
        found.append(f'{unreviewed} of the entries were made by a program and read by nobody ("reviewed": false).')
    for name, model in models.items():
        if trained := model.get("trained_on"):
            count = f"{trained['entries']} of the {trained['of']} entries"
            found.append(f"{name} was trained on {count}: these numbers do not say what it can do elsewhere.")
        found += (f"{name}: {remark}." for remark in model.get("remarks") or ())
    state = str(fingerprint.get("state") or "")
    if state.startswith("stopped"):
        found.append(f"The run ended early ({state.partition(':')[2] or 'stopped'}): the numbers cover what was done.")
    elif state == "running":
        found.append("The run was still going on, or was killed, when this was written.")
    if (fingerprint.get("selection") or {}).get("last_failed"):
        found.append("Only entries that had failed before were run again (--lf): the shares below are no scores.")
    if fingerprint.get("rules") == "corrected":
        found.append("The headline outcomes of this run are by the corrected rules.")
    return found


def _when(fingerprint: Summary) -> str:
    times = [str(fingerprint[name]) for name in ("started_at", "ended_at") if fingerprint.get(name)]
    return " – ".join(time.replace("T", " ").replace("Z", " UTC") for time in times)


Card = tuple[str, str, str]
"""Label, value and note of a figure at the top."""


def cards(models: Mapping[str, Summary], machine_cost: float | None = None) -> list[Card]:
    """The few figures at the top."""
    only = next(iter(models.values())) if len(models) == 1 else None
    made = list(_overall_card(only["overall"])) if only else []
    counts = {name: _sum(models, name) for name in ("passed", "failed", "errors", "skipped")}
    judged = counts["passed"] + counts["failed"]
    share = rendering.percent(counts["passed"] / judged) if judged else "–"
    made.append(("passed", f"{counts['passed']:,}", f"of {judged:,} judged ({share})"))
    made.append(("failed", f"{counts['failed']:,}", "the model's mistakes"))
    made.append(("errors", f"{counts['errors']:,}", "not counted"))
    if counts["skipped"]:
        made.append(("skipped", f"{counts['skipped']:,}", "not run"))
    costs = [model["cost_usd"] for model in models.values() if model["cost_usd"] is not None]
    if costs:
        each = only.get("cost_per_1000_usd") if only else None
        note = f"{rendering.usd(each)} for 1,000 requests" if each is not None else "of the whole run"
        made.append(("cost", rendering.usd(sum(costs)), note))
    if machine_cost is not None:
        made.append(("machine", rendering.usd(machine_cost), "at its hourly price"))
    if only and only["latency"]["mean"] is not None:
        mean, p95 = (rendering.seconds(only["latency"][name]) for name in ("mean", "p95"))
        made.append(("latency", mean, f"mean of a request; 95 % within {p95}"))
    return made


def _overall_card(overall: Summary) -> Iterator[Card]:
    """Overall, or what there is of it; nothing if neither is claimed (the table of scores says why)."""
    partial = overall.get("partial") or {}
    claimed = overall if overall["value"] is not None else partial
    pair = claimed.get("interval95")
    if claimed.get("value") is None or not pair:
        return
    note = f"95 %: {rendering.points(pair[0])} – {rendering.points(pair[1])}"
    if claimed is partial:
        note = f"{partial['categories']} of {partial['of']} categories; {note}"
    yield "Partial overall" if claimed is partial else "Overall", rendering.percent(claimed["value"]), note


def _sum(models: Mapping[str, Summary], name: str) -> int:
    return sum(score[name] for model in models.values() for score in model["categories"].values())


def _details(name: str, model: Summary, models: int, listing: Listing, fingerprint: Fields) -> Parsed:
    """One model's tables."""
    rows = scores.score_rows(model, fingerprint)
    reasons = [(name, rule_of(name, {}), remedy_of(name), count) for name, count in model["reasons"].items()]
    return {
        "name": name,
        "filter": f"&model={quote(model['model'])}" if models > 1 else "",
        "scores": scores.score_table(rows, notes=True),
        "brief": scores.brief(rows),
        "known": any(score.get("known_issues") for score in model["categories"].values()),
        "tags": list(model["failure_counts"].items()),
        "reasons": reasons[:MAX_REASONS],
        "lost_calls": scores.lost_calls(model),
        "errors": [_error(each) for each in listing.errors(str(model["model"]))[:MAX_ERRORS]],
        "corrected": [
            (rule, CORRECTED_RULES.get(rule, ""), count) for rule, count in (model.get("corrected_rules") or {}).items()
        ],
        "extras": list(_extras(model)),
        "failing": bool(model["failure_counts"] or model["reasons"] or model.get("corrected_rules")),
    }


def _spent(models: Mapping[str, Summary]) -> Table:
    """Money, time and tokens of each model that has some."""
    rows = [_spent_cells(name, model) for name, model in models.items()]
    shown = [list(row.values()) for row in rows if any(text != "–" for text in list(row.values())[1:])]
    return Table(list(rows[0]) if rows else [], shown)


def _spent_cells(name: str, model: Summary) -> dict[str, str]:
    latency, tokens = model["latency"], model["tokens"]
    unpriced = f" ({model['unpriced']} entries without a price)" if model.get("unpriced") else ""
    reasoning = f" ({rendering.thousands(tokens['reasoning'])} reasoning)" if tokens.get("reasoning") else ""
    return {
        "model": name,
        "cost": "–" if model["cost_usd"] is None else rendering.usd(model["cost_usd"]) + unpriced,
        "cost of 1,000 requests": rendering.usd(model.get("cost_per_1000_usd")),
        "latency": rendering.seconds(latency["mean"]),
        "standard deviation": rendering.seconds(latency["std"]),
        "95th percentile": rendering.seconds(latency["p95"]),
        "tokens in": rendering.thousands(tokens["input"] or None),
        "tokens out": rendering.thousands(tokens["output"] or None) + reasoning,
    }


def _error(kind: Alike) -> Parsed:
    """One kind of error: the number of entries, and the message."""
    detail, count = kind.record.get("detail") or {}, len(kind.rows)
    return {
        "entries": f"{count:,} {'entry' if count == 1 else 'entries'}",
        "reason": str(kind.record.get("reason")),
        "text": cut(clean(str(detail.get("error") or "")), MAX_TEXT),
        "advice": cut(clean(str(detail.get("advice") or "")), MAX_TEXT),
        "ids": ids_text(kind.ids, count),
    }


def _extras(model: Summary) -> Iterator[tuple[str, Table]]:
    """Breakdowns and other figures: title and table."""
    percent, span = rendering.percent, rendering.span
    rows: list[tuple[str, ...]] = [
        (name, percent(value), f"{passed} / {judged}", members)
        for name, value, passed, judged, members in scores.abilities(model)
    ]
    if len(rows) > 1:
        columns = ("", "mean of its categories", "correct", "categories")
        yield "abilities (which categories test what; in no score)", Table(columns, rows)
    for kind, cells in (model.get("breakdown") or {}).items():
        rows = [
            (name, f"{cell['passed']} / {cell['total']}", percent(cell["accuracy"]), span(cell.get("interval95")))
            for name, cell in cells.items()
        ]
        about = " of the functions (in no score)" if kind == "domain" else ""
        columns = ("", "correct", "accuracy", "95 % interval")
        yield f"by {kind.replace('_', ' ')}{about}", Table(columns, rows)
    calls = model.get("hallucination") or {}
    if calls.get("turns"):
        rows = [(name, percent(share)) for name, share in calls["categories"].items()]
        rows.append((f"all ({calls['with_call']} of {calls['turns']} turns)", percent(calls["share"])))
        yield "calls where none was due", Table(("", "share of turns"), rows)
    if model.get("multi_turn"):
        yield _conversations(model["multi_turn"])
    repeats = model.get("repeats")
    if repeats:
        rows = [(f"pass@1 over {repeats['entries']} entries asked {repeats['k']} times", percent(repeats["pass_at_1"]))]
        rows += [
            ("passing every time", percent(repeats["pass_pow_k"])),
            ("at least once", percent(repeats["pass_at_k"])),
        ]
        rows.append(("not always the same outcome", percent(repeats["flip_rate"])))
        yield "repeats", Table(("", "share"), rows)
    formats = model.get("format_sensitivity")
    if formats:
        rows = [
            (name, f"{cell['passed']} / {cell['total']}", percent(cell["accuracy"]))
            for name, cell in formats["configurations"].items()
        ]
        delta = formats["max_delta"]
        head = f"format sensitivity: largest difference {delta}, standard deviation {formats['standard_deviation']}"
        yield head, Table(("format", "correct", "accuracy"), rows)
    if robust := model.get("robustness"):
        yield _robustness(robust)
    stages = model.get("write_stages")
    if stages:
        rows = [(name, str(count)) for name, count in stages.items()]
        yield "write stages of the memory (not scored)", Table(("outcome", "conversations"), rows)


def _robustness(cells: Summary) -> tuple[str, Table]:
    """How far the score falls if the same entries are rephrased."""
    rows = []
    for name, cell in cells.items():
        low, high = cell["interval95"] or (0.0, 0.0)
        drop = "–" if cell["difference"] is None else f"{100 * cell['difference']:+.1f}"
        span = "–" if cell["difference"] is None else f"{100 * low:+.1f} to {100 * high:+.1f}"
        both = (rendering.percent(cell["accuracy"]), rendering.percent(cell["transformed"]))
        rows.append((name, str(cell["pairs"]), *both, drop, span, f"{cell['regressed']} / {cell['improved']}"))
    head = ("", "entries", "as they are", "rephrased", "points", "95 % interval", "lost / won")
    return "the same entries, rephrased (paired; in no score)", Table(head, rows)


def _conversations(turns: Summary) -> tuple[str, Table]:
    """Figures of multi-turn entries outside the scores: ``multi_turn`` of a model's summary."""
    rows = []
    for name, cell in turns.items():
        ratio = cell["calls_per_ground_truth_call"]
        quiet = f"{cell['quiet_turns_with_calls']} / {cell['quiet_turns']}" if cell["quiet_turns"] else "–"
        right = f"{rendering.percent(cell['turn_credit'])} ({cell['right_turns']} / {cell['turns']})"
        rows.append((name, right, str(cell["steps"]), "–" if ratio is None else f"{ratio:.2f}", quiet))
    head = (
        "",
        "turns right on their own",
        "steps",
        "calls for each call of the ground truth",
        "quiet turns with a call",
    )
    return "inside multi-turn conversations (in no score)", Table(head, rows)
