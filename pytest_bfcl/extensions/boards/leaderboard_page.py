"""Many runs in one page of tables, and the six leaderboard files.

Runs of different data or rules are not ranked together. Models are ranked if their scores cover the same categories:
each set of categories has its own table. Models without a claimed score (stopped, too many errors, no part of the
overall) are listed unranked with the reason. The reference's arithmetic (missing is zero) is available on request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.official_csv import official_value, write_csvs
from pytest_bfcl.extensions.boards.published import PublishedBoard, Shown
from pytest_bfcl.extensions.boards.ranking import Pair, Ranking, published_values, ranking
from pytest_bfcl.extensions.boards.standings import Contestant, Infos, contestants, with_distinct_names
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.rendering import percent, relative_link, seconds, signed, span, usd
from pytest_bfcl.reporting.scores import formula_text, group_formula
from pytest_bfcl.reporting.tables import Cell, Table
from pytest_bfcl.runs.comparability import ENTRIES, Purpose, comparability
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import IncompleteError, staged
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import CategoryScore
from pytest_bfcl.scoring.model_info import mean, percentile95
from pytest_bfcl.scoring.statistics import Share, Tally, interval, spread_of
from pytest_bfcl.scoring.tally import VERDICTS

COLUMNS = ("non_live", "live", "multi_turn", "web_search", "memory", "irrelevance")
TEMPLATE = "leaderboard.html.jinja"


@dataclass(frozen=True, slots=True)
class Place:
    """One line of the board; scores are fractions, ``groups`` in the order of `COLUMNS`.

    ``ranks`` is the 95 % interval of the rank.
    """

    contestant: Contestant
    score: float | None
    interval: tuple[float, float] | None
    corrected: float | None
    groups: tuple[float | None, ...]
    notes: tuple[str, ...]
    rank: int | None = None
    ranks: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """What the board calls the model."""
        return self.contestant.info.name


@dataclass(frozen=True, slots=True)
class Board:
    """Models with a score over the same categories, best first; ``basis`` describes the score in words."""

    title: str
    basis: str
    places: tuple[Place, ...]
    ranking: Ranking | None = None


def write_leaderboard(
    runs: Sequence[Path | RunDirectory],
    out: Path,
    *,
    official: bool = False,
    infos: Infos | None = None,
    allow_missing: bool = False,
    shared: bool = False,
    board: PublishedBoard | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> list[Path]:
    """Write ``index.html`` and the six CSV files into ``out``; returns the paths, the page first.

    ``board`` is a published table to show with it. ``tell`` receives the ranking in words, line by line. ``official``
    uses the reference's arithmetic: errors are answers, missing categories count as zero. Raises `UsageError` without
    runs, or for runs of different tests; `IncompleteError` for damaged or missing lines unless ``allow_missing``.
    """
    opened = [run if isinstance(run, RunDirectory) else RunDirectory.open(run) for run in runs]
    if not opened:
        raise UsageError("name at least one run directory")
    notes = comparable_notes(opened, shared=shared)
    gaps = [gap for run in opened for gap in run.gaps()]
    if gaps and not allow_missing:
        raise IncompleteError(gaps)
    only = _shared_ids(opened) if shared else None
    found = [each for run in opened for each in contestants(run, infos or {}, official=official, only=only)]
    if only is not None:
        notes.append(f"ranked over the {len(only)} entries that every run has a verdict on")
    for note in notes:
        tell(note)
    found = with_distinct_names(found)
    made = boards(found, official=official)
    beside = beside_board(board, found).checked() if board else None
    for each in made:
        for line in ranking_lines(each):
            tell(line)
    for line in beside.lines() if beside else ():
        tell(line)
    with staged(out) as place:
        place.mkdir()
        files = write_csvs([each.row for each in found], place, official=official)
        reports = {run.path: run.path / "index.html" for run in opened}
        links = {run: relative_link(report, out) for run, report in reports.items() if report.is_file()}
        values = board_values(made, opened[0], lambda run: links.get(run, ""), [path.name for path in files])
        values["notices"] = [*values["notices"], *notes]
        values["published"] = published_values(beside) if beside else None
        rendering.write_page(place / "index.html", rendering.render(TEMPLATE, TEMPLATES, **values))
    return [out / "index.html", *(out / path.name for path in files)]


def beside_board(board: PublishedBoard, found: Sequence[Contestant]) -> Shown:
    """The models of these runs next to a published table."""
    return board.beside(
        (each.run.fingerprint,
         {each.info.name: {name: known.official for name, known in each.tally.categories.items()}})
        for each in found
    )  # fmt: skip


def comparable_notes(runs: Sequence[RunDirectory], *, shared: bool = False) -> list[str]:
    """Notes for readers of the ranking. Raises `UsageError` if runs cannot be ranked.

    ``shared``: runs of other entries are ranked over their common entries.
    """
    first, notes = runs[0], []
    for run in runs[1:]:
        found = comparability(first.fingerprint, run.fingerprint, Purpose.MODELS, accept={ENTRIES} if shared else ())
        if found.refused:
            entries = all(each.kind == ENTRIES for each in found.refused)
            advice = "\n--shared ranks the entries that all have" if entries else ""
            raise UsageError(
                f"{first.path} and {run.path} measured different things and cannot be ranked\n{found.listed()}{advice}"
            )
        if found.noted:
            notes.append(f"{first.path.name} and {run.path.name}: {found.sentence}")
    return notes


def _shared_ids(runs: Sequence[RunDirectory]) -> frozenset[str]:
    """Entries with a verdict of every model of every run. Raises `UsageError` without any."""
    judged: dict[tuple[Path, str], set[str]] = {}
    for run in runs:
        for record in run.records():
            if record.get("outcome") in VERDICTS:
                judged.setdefault((run.path, str(record.get("model"))), set()).add(str(record["id"]))
    shared = frozenset(set.intersection(*judged.values())) if judged else frozenset()
    if not shared:
        raise UsageError("these runs share no judged entry: nothing can be ranked")
    return shared


NEEDED = tuple(dict.fromkeys(aggregate.categories_in(aggregate.OVERALL)))


def boards(found: Sequence[Contestant], *, official: bool = False) -> list[Board]:
    """A table for each set of categories, the largest first, then the unranked models."""
    formula = formula_text(aggregate.OVERALL)
    if official:
        shared = [name for name in NEEDED if all(name in each.headline for each in found)]
        basis = f"Overall with the reference's arithmetic (missing counts as zero): {formula}"
        return [Board("Ranking", basis, _ranked(found, shared, official=True))]
    groups: dict[tuple[str, ...], list[Contestant]] = {}
    unranked = []
    for each in found:
        had = tuple(name for name in NEEDED if name in each.headline)
        if why := _why_unranked(each, had):
            unranked.append((each, why))
        else:
            groups.setdefault(had, []).append(each)
    made = []
    for had, group in sorted(groups.items(), key=lambda item: -len(item[0])):
        title, whose = "Ranking", "all runs have"
        if len(groups) > 1:
            title, whose = f"{len(had)} of {len(NEEDED)} categories", "these have"
        basis = f"Overall: {formula}"
        if len(had) < len(NEEDED):
            told = f"Partial score over the {len(had)} of {len(NEEDED)} categories {whose}, weights rescaled"
            basis = f"{told} ({', '.join(had)}); Overall would be {formula}"
        made.append(_trusted(Board(title, basis, _ranked(group, had)), group))
    if unranked:
        alone = [replace(_place(each, ()), score=None, notes=(why, *_notes(each))) for each, why in unranked]
        basis = "No score is claimed for these, so they have no rank; what is missing stands below the name."
        made.append(Board("Not ranked", basis, tuple(sorted(alone, key=lambda place: place.name))))
    return made


def _trusted(board: Board, group: Sequence[Contestant]) -> Board:
    """The board with the intervals of ranks and the deciding entries between neighbours."""
    if len(group) < 2:
        return board
    found = ranking({each.info.name: each.verdicts for each in group}, [place.name for place in board.places])
    places = tuple(replace(place, ranks=found.ranks.get(place.name)) for place in board.places)
    return replace(board, places=places, ranking=found)


DECIDING = 8
"""Deciding entries that are named between two neighbours."""


def ranking_lines(board: Board) -> Iterable[str]:
    """The ranking in words: ranks with their intervals, ties, deciding entries."""
    if board.ranking is None:
        return
    for place in board.places:
        low, high = place.ranks or (place.rank, place.rank)
        span = f" (95 %: {low} to {high})" if low != high else ""
        yield f"{place.rank}. {place.name} {100 * (place.score or 0):.2f}{span}"
    yield from map(pair_line, board.ranking.neighbours)


def pair_line(pair: Pair) -> str:
    """Two neighbours in one sentence: the difference, whether it is a tie, and the entries that decide."""
    low, high = (100 * bound for bound in pair.interval95)
    told = f"{signed(pair.difference)} points ({low:+.2f} to {high:+.2f})"
    verdict = "a tie, within the noise" if pair.tie else "told apart"
    ids = [*pair.only_first[: DECIDING // 2], *pair.only_second[: DECIDING // 2]]
    named = (
        f": {', '.join(ids)}{', …' if len(pair.only_first) + len(pair.only_second) > len(ids) else ''}" if ids else ""
    )
    counts = f"{len(pair.only_first)} entries only the first passes, {len(pair.only_second)} only the second"
    return f"{pair.first} and {pair.second}: {told}, {verdict}; {counts}{named}"


def _why_unranked(each: Contestant, had: Sequence[str]) -> str:
    """Why a model's score is not claimed; else empty."""
    if not had:
        ran = ", ".join(each.headline) or "nothing"
        return f"none of the overall's categories was run (it has {ran})"
    if each.row.unclaimed:
        return each.row.unclaimed
    return each.tally.trained_mark if each.tally.trained_on else ""


def _ranked(found: Sequence[Contestant], shared: Sequence[str], *, official: bool = False) -> tuple[Place, ...]:
    """The lines of a board over some categories, best first."""
    places = [_place(each, shared, official=official) for each in found]
    places.sort(key=lambda place: (place.score is None, -(place.score or 0.0), place.name))
    return tuple(replace(place, rank=number) for number, place in enumerate(places, 1))


def _place(each: Contestant, shared: Sequence[str], *, official: bool = False) -> Place:
    headline = each.headline
    scores = _scores({name: headline[name] for name in shared})
    corrected = {name: each.tally.categories[name].corrected for name in shared}
    value = aggregate.value(aggregate.OVERALL, scores)
    if official:
        value = official_value(aggregate.OVERALL, each.row.scores)
    return Place(
        each,
        value,
        None if official or value is None else _interval(value, headline, scores),
        aggregate.value(aggregate.OVERALL, _scores(corrected)),
        tuple(_group(name, each, official=official) for name in COLUMNS),
        tuple(_notes(each)),
    )


def _scores(tallies: Mapping[str, Tally | Share]) -> dict[str, CategoryScore]:
    return {
        name: CategoryScore(tally.accuracy, tally.total)
        for name, tally in tallies.items()
        if tally.accuracy is not None
    }


def _interval(value: float, headline: Mapping[str, Tally], scores: Mapping[str, CategoryScore]) -> tuple[float, float]:
    weights = aggregate.category_weights(aggregate.OVERALL, {name: score.total for name, score in scores.items()})
    return interval(value, spread_of(weights, headline))


def _group(name: str, each: Contestant, *, official: bool) -> float | None:
    term = aggregate.formula(name)
    if official:
        return official_value(term, each.row.scores)
    if name == "irrelevance":  # of what was run: models of one table were run on the same
        return aggregate.value(term, each.row.scores)
    return None if aggregate.missing(term, each.row.scores) else aggregate.value(term, each.row.scores)


def _notes(each: Contestant) -> Iterable[str]:
    state, _, why = each.run.fingerprint.state.partition(":")
    if state == "stopped":
        yield f"stopped early ({why})"
    elif state == "running":
        yield "not finished"
    if not each.run.fingerprint.comparable:
        yield "own system prompt"
    if each.tally.trained_on:
        yield each.tally.trained_mark
    total = sum(found.attempted for found in each.tally.categories.values())
    if each.errors and each.errors * 50 > total:
        yield f"{each.errors} of {total} entries ended in an error"


def board_values(
    made: Sequence[Board], first: RunDirectory, report: Callable[[Path], str], files: Sequence[str] = ()
) -> Parsed:
    """The values of `TEMPLATE`; ``first`` is one of the runs, which all measured the same.

    ``report`` gives the link to a run's own report, or an empty text.
    """
    from pytest_bfcl.reporting import overview

    fingerprint = first.fingerprint.to_dict()
    places = [place for board in made for place in board.places]
    data = f"{fingerprint['dataset']['name']} {fingerprint['dataset']['version']}".strip()
    formulas = {name: group_formula(name) for name in COLUMNS}
    return {
        "title": f"Leaderboard: {len(places)} models on {data}",
        "rules": f"{fingerprint['rules']} rules {fingerprint['rules_version']}",
        "sha256": fingerprint["dataset"]["sha256"],
        "notices": overview.notices({"fingerprint": {"dataset": fingerprint["dataset"]}}),
        "titles": TITLES | {name.replace("_", " "): formula for name, formula in formulas.items()},
        "boards": [(each, Table(HEAD, [_cells(place, report) for place in each.places], TEXTS)) for each in made],
        "trust": {board.title: list(ranking_lines(board)) for board in made},
        "formulas": {
            name: formula for number, (name, formula) in enumerate(formulas.items())
            if any(place.groups[number] is not None for place in places)
        },
        "published": None,
        "files": files,
    }  # fmt: skip


HEAD = (
    "rank", "model", "mode", "score", "corrected", *(name.replace("_", " ") for name in COLUMNS), "cost", "latency",
    "format delta", "errors", "organisation", "licence",
)  # fmt: skip
TEXTS = (1, 2, len(HEAD) - 2, len(HEAD) - 1)
TITLES = {
    "rank": "with its 95 % interval",
    "score": "with its 95 % interval",
    "latency": "mean of a request, and the 95th percentile",
    "format delta": "largest difference between prompt formats, percentage points",
}


def _cells(place: Place, report: Callable[[Path], str]) -> tuple[str | Cell, ...]:
    """The line of a model, in the order of `HEAD`; ``report`` gives a link."""
    each, ranks = place.contestant, place.ranks
    there = report(each.run.path)
    info, usage, formats = each.info, each.row.usage, each.row.formats
    latencies = usage.latencies if usage is not None else []
    latency, p95 = mean(latencies), percentile95(latencies)
    link = info.link if info.link.startswith(("https://", "http://")) else ""
    return (
        Cell(
            "–" if place.rank is None else str(place.rank), place.rank,
            [f"{ranks[0]}–{ranks[1]}"] if ranks and ranks[0] != ranks[1] else [],
        ),
        Cell(info.name, href=link, link=("report", there) if there else None, below=place.notes),
        {"fc": "FC"}.get(each.tally.mode, each.tally.mode),
        Cell(percent(place.score, 2), place.score, below=[span(place.interval)] if place.interval else [], mark="best"),
        Cell(percent(place.corrected), place.corrected),
        *(Cell(percent(value), value) for value in place.groups),
        Cell(usd(each.cost), each.cost),
        Cell(seconds(latency), latency, below=[] if p95 is None else [f"p95 {seconds(p95)}"]),
        Cell("–" if formats is None else str(formats.max_delta), formats and formats.max_delta),
        Cell(str(each.errors or ""), each.errors),
        info.organisation,
        info.licence,
    )  # fmt: skip
