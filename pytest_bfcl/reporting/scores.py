"""The score tables of a report: rows and their order, from a model's part of ``summary.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.rendering import percent, points, seconds, span
from pytest_bfcl.reporting.tables import Cell, Table
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import Mean, Pooled, Term, Weighted
from pytest_bfcl.scoring.score_record import ScoreRecord, headline_record, records_by_name, score_records

Summary = Fields

SECTIONS = ("non_live", "live", "multi_turn", "web_search", "memory", "format_sensitivity", "retired", "own")
ACROSS = ("agentic", "irrelevance")
UNREVIEWED = '{} of the entries were made by a program, and nobody has read them ("reviewed": false)'
PARTIAL = "Partial overall"
"""Name of the row for an incomplete overall score."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One line of a score table: a ``kind`` of category, group or overall; ``note`` is the formula, or the reason for
    no score. Figures are those of the score's record; ``of``: entries of the data set, if not all were judged.
    """

    name: str
    kind: str
    note: str
    accuracy: float | None
    interval: Sequence[float] | None
    corrected: float | None
    without_known_issues: float | None
    known_issues: int = 0
    passed: int | None = None
    judged: int | None = None
    errors: int = 0
    skipped: int = 0
    verified: float | None = None
    of: int | None = None

    @property
    def delta(self) -> float | None:
        """Corrected minus official."""
        return None if self.accuracy is None or self.corrected is None else self.corrected - self.accuracy


HEAD = (
    "category", "correct", "official", "95 % interval", "corrected", "difference", "excluding known issues",
    "verified data", "errors", "skipped",
)  # fmt: skip


def score_table(rows: Sequence[ScoreRow], *, notes: bool = False) -> Table:
    """The table of one model's scores; ``notes``: with formulas, and the reasons for no score."""
    return Table(HEAD, [_cells(row, notes) for row in rows], kinds=[row.kind for row in rows])


def _cells(row: ScoreRow, notes: bool) -> tuple[str | Cell, ...]:
    delta = row.delta or 0.0
    same = row.without_known_issues == row.accuracy and not row.known_issues
    known = [f"({row.known_issues})"] if row.known_issues else []
    return (
        Cell(row.name, below=[row.note] if notes and row.note else []),
        Cell(f"{row.passed} / {row.judged}", below=[f"of {row.of:,}"] if row.of else []) if row.judged else "",
        "not run" if row.judged == 0 and row.accuracy is None else percent(row.accuracy),
        span(row.interval),
        percent(row.corrected),
        Cell(f"{100 * delta:+.1f}", mark="up" if delta > 0 else "down") if abs(delta) > 0.0004 else "",
        "" if same or row.without_known_issues is None else Cell(percent(row.without_known_issues), beside=known),
        percent(row.verified),
        str(row.errors or ""),
        str(row.skipped or ""),
    )


def matrix_table(rows: Sequence[MatrixRow], names: Sequence[str], *, notes: bool = False) -> Table:
    """The table of several models; the best score of a row is marked. ``notes``: with formulas."""
    cells = [
        [Cell(row.name, below=[row.note] if notes and row.note else []), *(_of_model(row, each) for each in row.cells)]
        for row in rows
    ]
    return Table(["category", *names], cells, kinds=[row.kind for row in rows])


def _of_model(row: MatrixRow, cell: ScoreRow | None) -> str | Cell:
    if cell is None or cell.accuracy is None:
        return "–" if row.kind == "overall" else "not run"
    facts = [
        span(cell.interval),
        "" if cell.corrected is None else f"corrected {points(cell.corrected)}",
        "" if cell.verified is None else f"verified {points(cell.verified)}",
        f"{cell.judged:,} of {cell.of:,}" if cell.of else "",
        f"{cell.errors} errors" if cell.errors else "",
    ]
    best = "best" if cell.accuracy == row.best else ""
    return Cell(percent(cell.accuracy), cell.accuracy, below=[" · ".join(filter(None, facts))], mark=best)


def sections(models: Mapping[str, Summary]) -> dict[str, list[str]]:
    """Group → its categories that any model has, in table order; unknown categories under ``other``."""
    present = dict.fromkeys(name for model in models.values() for name in model["categories"])
    found = {
        group: [name for name, row in CATEGORIES.items() if row.group == group and name in present]
        for group in SECTIONS
    }
    found["other"] = [name for name in present if name not in CATEGORIES]
    return {group: names for group, names in found.items() if names}


def score_rows(model: Summary, fingerprint: Fields) -> list[ScoreRow]:
    """Every section's group line and categories, then groups across sections, then overall."""
    rows: list[ScoreRow] = []
    known = records_by_name(model, fingerprint)
    for group, names in sections({"": model}).items():
        if len(names) > 1 and group in model["groups"]:
            rows.append(_row(group, "group", group_formula(group), model["groups"][group], known.get(group)))
        rows += [_row(name, "category", "", model["categories"][name], known.get(name)) for name in names]
    for group in ACROSS:
        score = model["groups"].get(group)
        if score is not None and score["accuracy"] is not None and len(_members(group, model)) > 1:
            name = group + aggregate.ROW_OF_A_GROUP if group in CATEGORIES else group
            rows.append(_row(name, "group", group_formula(group), score, known.get(group)))
    return [*rows, *_overall(model)]


def _members(group: str, model: Summary) -> list[str]:
    return [name for name in aggregate.categories_in(aggregate.formula(group)) if name in model["categories"]]


def _row(name: str, kind: str, note: str, score: Summary, record: ScoreRecord | None) -> ScoreRow:
    missing = score.get("missing") or []
    if kind == "group" and missing:
        note = f"partial, without {', '.join(missing)}: {note}"
    return ScoreRow(
        name,
        kind,
        note,
        record.value if record else None,
        record.interval95 if record else None,
        score.get("corrected_accuracy"),
        score.get("accuracy_without_known_issues"),
        score.get("known_issues") or 0,
        record.passed if record else 0,
        record.judged if record else 0,
        record.errors if record else score["errors"],
        score["skipped"],
        score.get("verified_accuracy"),
        max(record.planned, record.full or 0) if record and not record.is_whole else None,
    )


def _overall(model: Summary) -> list[ScoreRow]:
    """The Overall score, its available part if incomplete, and the mean of the third version if defined."""
    rows = []
    overall, older = model["overall"], model.get("overall_v3") or {}
    note = formula_text(aggregate.OVERALL)
    if overall["value"] is None:
        note = f"not claimed: {overall.get('why') or 'categories are missing'}"
    if overall["value"] is not None or overall["missing"] or overall.get("why"):
        corrected, known = model.get("overall_corrected"), model.get("overall_without_known_issues")
        row = _number("Overall", note, overall, corrected, known)
        rows.append(replace(row, verified=model.get("overall_verified")))
    if partial := overall.get("partial"):
        weights = ", ".join(f"{name} {weight:.0f} %" for name, weight in partial["weights"].items())
        note = f"{partial['categories']} of {partial['of']} categories, weights rescaled: {weights}"
        rows.append(_number(PARTIAL, note, partial, None, None))
    if older.get("value") is not None:
        rows.append(_number("Overall as in v3", formula_text(aggregate.OVERALL_V3), older, None, None))
    return rows


def verified_scores(model: Fields) -> Iterator[str]:
    """The effect of the corrected answers: ``category 61.0 % → 63.5 %``, the official accuracy first, then overall."""
    overall = model["overall"]["value"]
    scores = [(name, found["official_accuracy"], found) for name, found in model["categories"].items()]
    for name, official, found in scores:
        if found.get("reviewed") and official is not None:
            yield f"{name} {percent(official)} → {percent(found['verified_accuracy'])}"
    if overall is not None and model.get("overall_verified") is not None:
        yield f"overall {percent(overall)} → {percent(model['overall_verified'])}"


def lost_calls(model: Fields) -> str:
    """How many replies have a call that the server left in the text, and the remedy; empty without any."""
    found: Mapping[str, int] = model.get("lost_calls") or {}
    if not found:
        return ""
    count, formats = sum(found.values()), ", ".join(found)
    held = "1 reply holds a call" if count == 1 else f"{count} replies hold a call"
    return (
        f"{held} in the text ({formats}), where it counts for nothing: start the server with its parser for this "
        f"model's calls, or read the text with --bfcl-decoder {next(iter(found))}"
    )


def caveats(model: Fields, word: Callable[[str], str] = str) -> Iterator[str]:
    """Notes next to the scores: unreviewed entries, known issues, verified data; ``word`` escapes names."""
    if unreviewed := model.get("unreviewed"):
        yield f"unreviewed: {UNREVIEWED.format(unreviewed)}"
    without = [
        f"{word(name)} {percent(found['accuracy_without_known_issues'])}"
        for name, found in model["categories"].items()
        if found.get("known_issues") and found["accuracy"] is not None
    ]
    if without:
        yield f"excluding known issues: {', '.join(without)}"
    if verified := list(verified_scores(model)):
        yield f"on verified data (official answers first): {', '.join(verified)}"


def spent(model: Fields) -> str:
    """Tokens, cost, time in one line; empty if nothing is known."""
    facts = []
    tokens, latency = model["tokens"], model["latency"]
    if tokens["input"] or tokens["output"]:
        reasoning = f" ({tokens['reasoning']:,} of them reasoning)" if tokens.get("reasoning") else ""
        facts.append(f"{tokens['input']:,} tokens in, {tokens['output']:,} out{reasoning}")
    if model["cost_usd"] is not None:
        facts.append(f"cost {model['cost_usd']:.4f} USD")
    if latency["mean"] is not None:
        facts.append(f"latency mean {seconds(latency['mean'])}, p95 {seconds(latency['p95'])}")
    if model.get("first_token"):
        facts.append(f"first token mean {seconds(model['first_token']['mean'])}")
    return "; ".join(facts)


def _number(name: str, note: str, found: Summary, corrected: float | None, known: float | None) -> ScoreRow:
    return ScoreRow(name, "overall", note, found["value"], found.get("interval95"), corrected, known)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One line of the table of several models: a cell per model, ``None`` if it was not run."""

    name: str
    kind: str
    note: str
    cells: tuple[ScoreRow | None, ...]

    @property
    def best(self) -> float | None:
        """The best accuracy of the line, which is emphasised."""
        found = [cell.accuracy for cell in self.cells if cell is not None and cell.accuracy is not None]
        return max(found) if len(found) > 1 else None


def brief(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """The rows of a first screen: overall, groups, and categories outside them."""
    groups = {row.name for row in rows if row.kind == "group"}
    alone = [row for row in rows if row.kind == "category" and GROUP_OF.get(row.name) not in groups]
    chosen = [row for row in rows if row.judged and (row.kind == "group" or row in alone)]
    return [*(row for row in rows if row.kind == "overall" and row.accuracy is not None), *chosen]


GROUP_OF = {name: row.group for name, row in CATEGORIES.items()}
ABILITIES: Mapping[str, tuple[str, ...]] = {
    "choosing one of several functions": ("multiple", "live_multiple"),
    "filling in one call": ("simple_python", "simple_java", "simple_javascript", "live_simple"),
    "several calls at once": ("parallel", "parallel_multiple", "live_parallel", "live_parallel_multiple"),
    "calls in order, over turns": ("multi_turn_base", "multi_turn_long_context"),
    "abstaining where no function fits": ("irrelevance", "live_irrelevance"),
    "asking back for what is missing": ("multi_turn_miss_param",),
    "waiting for a missing function": ("multi_turn_miss_func",),
    "memory": ("memory_kv", "memory_vector", "memory_rec_sum"),
    "search": ("web_search_base", "web_search_no_snippet"),
}
"""Abilities of a model → the categories that test them (our own table; no score of the benchmark)."""


def abilities(model: Summary) -> Iterator[tuple[str, float, int, int, str]]:
    """Ability, the plain mean of its categories, passed and judged entries, the categories that ran."""
    for name, members in ABILITIES.items():
        had = {each: model["categories"][each] for each in members if each in model["categories"]}
        shares = {each: found["accuracy"] for each, found in had.items() if found["accuracy"] is not None}
        if shares:
            passed = sum(had[each]["passed"] for each in shares)
            judged = passed + sum(had[each]["failed"] for each in shares)
            yield name, sum(shares.values()) / len(shares), passed, judged, ", ".join(shares)


def headline_basis(model: Summary, fingerprint: Fields) -> str:
    """The number of entries behind the first score, if it is not the whole data set; else empty."""
    record = headline_record(score_records(model, fingerprint))
    return record.basis if record is not None and not record.is_whole else ""


def matrix(models: Mapping[str, Summary], fingerprint: Fields) -> list[MatrixRow]:
    """Models side by side, with the rows of `score_rows` that any of them has."""
    tables = [{row.name: row for row in score_rows(model, fingerprint)} for model in models.values()]
    order = [name for group, names in sections(models).items() for name in (group, *names)]
    order += ["agentic", "irrelevance detection", "Overall", PARTIAL, "Overall as in v3"]
    rows = []
    for name in dict.fromkeys(order):
        cells = tuple(table.get(name) for table in tables)
        first = next((cell for cell in cells if cell is not None), None)
        if first is not None:
            notes = {cell.note for cell in cells if cell is not None}
            note = first.note if len(notes) == 1 or name != PARTIAL else "of the categories each model was asked"
            rows.append(MatrixRow(name, first.kind, note, cells))
    return rows


def formula_text(term: Term, *, whole: bool = True) -> str:
    """A formula in words; parts that are groups are named, the outermost is written out."""
    if isinstance(term, str):
        return term
    if not whole and (named := aggregate.name_of(term)):
        return named + aggregate.ROW_OF_A_GROUP if named in CATEGORIES else named
    if isinstance(term, Weighted):
        return " + ".join(f"{weight:g} % {formula_text(part, whole=False)}" for weight, part in term.weights)
    if isinstance(term, Pooled):
        return f"all entries of {', '.join(term.terms)} together" if len(term.terms) > 1 else term.terms[0]
    return _mean(term)


def _mean(term: Mean) -> str:
    if len(term.terms) == 1:
        return formula_text(term.terms[0], whole=False)
    parts = [formula_text(part, whole=False) for part in term.terms]
    return f"mean of {', '.join(f'({part})' if part.startswith('mean of') else part for part in parts)}"


def group_formula(name: str) -> str:
    """The formula of a group; empty for unknown names."""
    if name not in aggregate.FORMULAS and name not in GROUPS:
        return ""
    return formula_text(aggregate.formula(name))
