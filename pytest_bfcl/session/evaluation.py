"""Runs without pytest: the functions `run`, `arun` and `dry_run` over `pytest_bfcl.session`, which the plugin also
uses.

A run holds conversations, judges them, writes lines, summarises and checks its gates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.collector import fewer_collections
from pytest_bfcl.dataset.categories import resolve_categories
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.selection.selection import Selection, entries_to_run
from pytest_bfcl.selection.sharding import read_shard, stratified_sample
from pytest_bfcl.selection.splits import check_data, is_in
from pytest_bfcl.session.closing import DryRun, RunInterrupted, RunResult
from pytest_bfcl.session.earlier import judged_record
from pytest_bfcl.session.whole_run import WholeRun
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, EntryRef
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.scoring.gating import GateOptions
    from pytest_bfcl.session.feeders import Place

__all__ = [
    "DryRun",
    "RunInterrupted",
    "RunResult",
    "arun",
    "dry_run",
    "judged_record",
    "open_data",
    "run",
    "score_lines",
]


def run(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: object = None,
    progress: Callable[[ResultLine], None] | None = None,
    cluster: Place | str | None = None,
    ids: Iterable[str] | None = None,
    sample: int | None = None,
    shard: str | tuple[int, int] | None = None,
    gates: GateOptions | None = None,
    model_info: Fields | None = None,
    said: Callable[[str], None] | None = None,
) -> RunResult:
    """Run a model over entries and judge it; `arun` does the same inside an event loop.

    Ctrl-C stops it, keeps all results, and raises `RunInterrupted` with the result.
    """
    __tracebackhide__ = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("an event loop is running here (a notebook, an async function): await pytest_bfcl.arun(...)")
    with fewer_collections():  # for the time of this call, which is all that the thread does
        try:
            selection = _selection(categories, ids, sample, shard)
            whole = _whole_run(entries, model, settings, out, selection, gates, model_info)
            whole.open_runner(search, cluster)
            try:
                return asyncio.run(whole.carry_out(progress, said))
            except KeyboardInterrupt:
                if whole.result is None:
                    raise
                raise RunInterrupted(whole.result) from None
        except UsageError as error:
            raise error.with_traceback(None) from None  # the caller's line counts, not ours


async def arun(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: object = None,
    progress: Callable[[ResultLine], None] | None = None,
    cluster: Place | str | None = None,
    ids: Iterable[str] | None = None,
    sample: int | None = None,
    shard: str | tuple[int, int] | None = None,
    gates: GateOptions | None = None,
    model_info: Fields | None = None,
    said: Callable[[str], None] | None = None,
) -> RunResult:
    """Hold conversations, judge them, store the lines and summarise.

    Args:
        entries: A choice of data (``auto``, ``bundled``, ``official``, a path), a `DataSet`, or `Entry` objects.
        model: A spec (``openai:gpt-4o@fc``), an adapter, or an async function ``(request) -> Reply | text``; the models
            of a list run concurrently.
        out: Run directory; an existing one is resumed, and answered requests are not sent again. ``None`` keeps the run
            in memory.
        settings: How to run; defaults are those of the command line.
        categories: Category and group names; default: the data's scoring categories.
        search: Provider of the web tools; default: by the settings and the data. Without one, entries that need it are
            skipped with the reason.
        progress: Called with every new record.
        cluster: Other machines for the conversations: `pytest_bfcl.cluster.Cluster`, or the address of a Ray cluster
            (``auto``, ``local``, ``HOST:PORT``). Default: in this process.
        ids: Only these entries. Raises `UsageError` for one that the data does not have.
        sample: This number of entries in all, each category in proportion, drawn by the settings' seed.
        shard: The I-th of N parts (``"1/4"``) of all that: parts of equal options make the whole (`pytest-bfcl merge`).
        gates: Conditions of the run (`pytest_bfcl.scoring.gating.GateOptions`); ``summary["gate"]`` is the verdict.
        model_info: Content of a model information file: names, links, prices.
        said: Receives messages before the first request: the estimated cost, the start of engines
            (``Settings(serve="")``).

    Provider errors become records with outcome ``error``. Raises `UsageError` for wrong arguments.
    """
    selection = _selection(categories, ids, sample, shard)
    whole = _whole_run(entries, model, settings, out, selection, gates, model_info)
    whole.open_runner(search, cluster)
    return await whole.carry_out(progress, said)


def dry_run(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
    sample: int | None = None,
    shard: str | tuple[int, int] | None = None,
    gates: GateOptions | None = None,
    model_info: Fields | None = None,
    precision: float | None = None,
) -> DryRun:
    """Expected requests and cost of `run` with the same arguments, from the data; nothing is sent or written.

    ``precision``: adds the entries of each category that this precision (percentage points) needs. Raises `UsageError`.
    """
    selection = _selection(categories, ids, sample, shard)
    return _whole_run(entries, model, settings, out, selection, gates, model_info).dry_run(precision)


def _selection(
    categories: Iterable[str] | None, ids: Iterable[str] | None, sample: int | None, shard: str | Sequence[int] | None
) -> Selection:
    try:
        part = shard if shard is None else read_shard(shard if isinstance(shard, str) else "{}/{}".format(*shard))
    except (ValueError, IndexError) as error:
        raise UsageError(f"the shard {shard!r} is not valid: {error}") from None
    names, wanted = (None if given is None else list(given) for given in (categories, ids))
    return Selection(names, wanted, sample, part)


def _whole_run(
    entries: object,
    model: object,
    settings: Settings | None,
    out: Path | str | None,
    selection: Selection,
    gates: GateOptions | None,
    model_info: Fields | None,
) -> WholeRun:
    from pytest_bfcl.scoring.gating import GateOptions, Gates
    from pytest_bfcl.session.serving import name_models

    settings = settings or Settings()
    asked = Gates(gates or GateOptions(), rules=settings.rules, max_errors_pct=settings.max_errors_pct)
    if entries == "auto":
        asked.refuse_guessed_data()
    data, chosen = _chosen(entries, selection, settings)
    models = list(model) if isinstance(model, list | tuple) else [model]
    for place, each in enumerate(models):
        if isinstance(each, str):  # some models only their server can name
            (models[place],), settings = name_models([each], settings)
    path = Path(out) if out is not None else None
    return WholeRun(data, chosen, models, settings, selection=selection, gates=asked, out=path, model_info=model_info)


def _chosen(entries: Any, selection: Selection, settings: Settings) -> tuple[DataSet, Sequence[EntryRef | Entry]]:
    """The data set and its selected entries, before a shard is taken."""
    from pytest_bfcl.dataset.loading import DataSet

    if isinstance(entries, str | Path):
        entries = open_data(entries)
    part = None if settings.split is None else frozenset(settings.split["ids"])
    if not isinstance(entries, DataSet):
        return _of_entries(list(entries), selection, part, settings.seed)
    for split in (settings.split, settings.trained_on):
        if split is not None:
            check_data(split, entries)
    refs = entries_to_run(entries, selection, part=part, seed=settings.seed)
    if not settings.transforms:
        return entries, refs
    entries.rewordings = settings.rewordings
    return entries, [each for ref in refs for each in entries.variants(ref, settings.transforms)]


def _of_entries(
    given: list[Entry], selection: Selection, part: frozenset[str] | None, seed: int
) -> tuple[DataSet, list[Entry]]:
    names = None if selection.categories is None else resolve_categories(selection.categories)
    kept = [
        entry
        for entry in given
        if (names is None or entry.category in names)
        and (part is None or is_in(part, entry.id))
        and (selection.ids is None or entry.id in selection.ids)
    ]
    if selection.sample is not None:
        sample = stratified_sample((entry.id for entry in kept), selection.sample, seed)
        kept = [entry for entry in kept if entry.id in sample]
    # Entries do not know their data set: its texts matter, so official entries need the official set.
    return open_data("official" if any(entry.official for entry in kept) else "bundled"), kept
