"""A static site of runs: all pages as files, with tens of thousands of entries packed into dozens of files. A part
is a script with data, because a page opened from disk may load only scripts. Pages repeat each other, mostly those of
one entry in several runs, at a distance beyond deflate's window. So texts are cut into pieces, each piece is stored
once, and a page is a list of pieces. Parts are sorted by name with numbers by value, so that ``unpack.js`` finds a part
by its first name.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from pytest_bfcl.extensions.view import frame
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.overview_pages import OverviewPages
from pytest_bfcl.extensions.view.pages import Pages
from pytest_bfcl.extensions.view.runs import ListedRun
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.reporting.packing import packed
from pytest_bfcl.reporting.rendering import model_suffix, safe_id
from pytest_bfcl.runs.directory import is_run
from pytest_bfcl.runs.lines import staged
from pytest_bfcl.runs.paths import write_here

ENTRIES_A_PART = 200
_DIGITS = re.compile(r"[0-9]+")
_SEAM = re.compile(r"(?<=\n)|(?=<(?:a|dd|div|dt|h2|p|pre|section|span|td|tr)[ >])")
"""Where pages are cut: after a line's end, and before elements that often differ or repeat as a whole."""


def place_of(name: str) -> str:
    """The sort key of names: numbers count by value. ``unpack.js`` sorts equally."""
    return _DIGITS.sub(lambda found: found.group().zfill(9), name)


def in_parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in order, a fixed number in each part."""
    ordered = sorted(names, key=place_of)
    for start in range(0, len(ordered), ENTRIES_A_PART):
        yield ordered[start : start + ENTRIES_A_PART]


@dataclass
class Part:
    """Packed entries: pages by ``run/page``, side-by-side pages by ``beside/entry``; each has its title and its
    pieces.
    """

    pages: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    _pieces: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, title: str, body: str) -> None:
        """A page of an entry."""
        self.pages[name] = title, self._cut(body)

    def _cut(self, text: str) -> list[int]:
        """A text as runs of pieces: the first one's number, the length of the run, and so on."""
        stretches: list[int] = []
        behind = -1
        for piece in _SEAM.split(text):
            number = self._pieces.setdefault(piece, len(self._pieces))
            if number == behind:
                stretches[-1] += 1
            else:
                stretches += (number, 1)
            behind = number + 1
        return stretches

    def script(self, number: int) -> bytes:
        """The part as a file."""
        content = {"pieces": list(self._pieces), "pages": self.pages}
        return f'bfclPart({number},"{packed(content)}");\n'.encode()


ROWS_A_PAGE = 2_500
ALL_PAIRS = 6
"""Number of runs up to which every two are compared; of more, each with the one before it."""
MARK = "site.json"
"""The file that marks a folder as our site, which may be overwritten."""


class SiteLinks(Links):
    """Addresses of pages in a static site: entries are on one page that unpacks them."""

    static = True
    up_from_entry = ""
    up_from_beside = ""

    def live(self, name: str) -> str:
        """A site has no live pages."""
        return ""

    def entry(self, name: str, page: str, against: str = "") -> str:
        """An entry of a run, unpacked by ``entry.html``."""
        return f"entry.html#{quote(name)}/{quote(page)}"

    def beside(self, entry_id: str, runs: Iterable[str] = ()) -> str:
        """An entry in all runs."""
        return f"entry.html#beside/{quote(safe_id(entry_id))}"

    def entries_from_run(self, name: str) -> str:
        """The prefix of entries' page names in links of the run's page."""
        return f"../../entry.html#{quote(name)}/"

    def run_from_entry(self, name: str) -> str:
        """The run's page, seen from an entry's."""
        return self.run(name)

    def choice(self, page: str, number: int, **values: str) -> str:
        """One of several pages of a kind: the first has the plain name."""
        return f"{page}.html" if number == 0 else f"{page}-{number + 1}.html"


def write_site(store: Store, out: Path, progress: Callable[[str], None] = lambda text: None) -> Path:
    """Write the site of all runs of a store into a folder; returns its ``index.html``.

    An earlier site in the folder is replaced; a folder with anything else is refused with `UsageError`.
    """
    with staged(_emptied(out)) as beside:
        _Writer(store, beside, progress).write()
    return out / "index.html"


def _emptied(out: Path) -> Path:
    if is_run(out):
        raise UsageError(f"{out} is a run directory: the site would replace its report; name another folder")
    if out.exists() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UsageError(f"{out} holds other files: name an empty folder, or one with an earlier site")
    for name in ("run", "compare", "audit", "assets", "data"):
        if (out / name).is_symlink():
            raise UsageError(f"{out / name} is a link: it is not written through; remove it first")
        shutil.rmtree(out / name, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    return out


class _Writer:
    """Writes one site."""

    def __init__(self, store: Store, out: Path, progress: Callable[[str], None]) -> None:
        self.store = store
        self.out = out
        self.progress = progress
        self.links = SiteLinks()
        self.pages = Pages(store, self.links)
        self.overviews = OverviewPages(store, self.links)

    def write(self) -> None:
        """Everything, the first page last, so that an unfinished site has none."""
        self._write(MARK, json.dumps({"made": "pytest-bfcl view site"}).encode())
        for name, text in frame.assets().items():
            self._write(f"assets/{name}", text.encode())
        runs = [summary.run for summary in self.store.summaries()[0]]
        for number, listed in enumerate(runs):
            self.progress(f"run {number + 1} of {len(runs)}: {listed.path.name}")
            self._write(f"run/{listed.name}/index.html", self.pages.run(listed))
            for place, page in self.pages.plain_lists(listed, ROWS_A_PAGE):
                self._write(place, page)
            if self.overviews.has_wire(listed):
                self._write(f"run/{listed.name}/wire.html", self.overviews.wire(listed))
        self._comparisons(runs)
        for place, page in self.overviews.all_pages():
            self._write(place, page)
        firsts = self._parts(runs)
        self._write("entry.html", self.pages.unpacking({"parts": firsts, "suffixes": self._suffixes(runs)}))
        self._write("index.html", self.pages.runs())

    def _comparisons(self, runs: Sequence[ListedRun]) -> None:
        summaries, _ = self.store.summaries()
        ordered = sorted((summary for summary in summaries if summary.models), key=lambda summary: summary.started)
        pairs = list(self.store.pairs(summaries))
        if len(ordered) <= ALL_PAIRS:
            pairs = [(a, b) for n, a in enumerate(ordered) for b in ordered[n + 1 :] if a.data == b.data]
        for number, (before, after) in enumerate(pairs):
            self.progress(f"comparison {number + 1} of {len(pairs)}: {before.label} against {after.label}")
            place = f"compare/{before.name}/{after.name}.html"
            try:
                page = self.pages.compare(before.run, after.run)
            except (UsageError, BenchmarkError) as error:
                page = self.pages.problem("These two cannot be compared", str(error), place)
            self._write(place, page)
        self._write("compare/index.html", self.pages.choose(pairs))

    # Entries.

    def _suffixes(self, runs: Sequence[ListedRun]) -> dict[str, list[str]]:
        """The distinct names of a run's models, for the script that unpacks their pages."""
        return {
            listed.name: [model_suffix(model, opened.models) for model in opened.index.models()]
            for listed in runs
            for opened in [self.store.open(listed)]
        }

    def _parts(self, runs: Sequence[ListedRun]) -> list[str]:
        """Write all parts; returns the first name of each."""
        opened = {listed.name: self.store.open(listed) for listed in runs}
        ids: dict[str, str] = {}
        rows: dict[str, list[tuple[ListedRun, str]]] = defaultdict(list)
        for listed in runs:
            for page, row in opened[listed.name].rows.items():
                name = safe_id(row.id)
                ids[name] = row.id
                rows[name].append((listed, page))
        parts = list(in_parts(list(ids)))
        for number, names in enumerate(parts):
            self.progress(f"entries: part {number + 1} of {len(parts)}")
            part = Part()
            for name in names:
                for listed, page in rows[name]:
                    title, body = self.pages.entry_parts(listed, page, opened=opened[listed.name])
                    part.add(f"{listed.name}/{page}", title, str(body))
                if len(runs) > 1 or len(rows[name]) > 1:
                    title, body = self.pages.beside_part(ids[name])
                    part.add(f"beside/{name}", title, str(body))
            self._write(f"data/{number}.js", part.script(number))
        return [names[0] for names in parts]

    def _write(self, place: str, content: bytes) -> None:
        path = self.out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_here(path, content)
