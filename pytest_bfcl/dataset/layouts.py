"""The files of a category in three layouts: the official one, our bundled one, a single file.

Official layout: data spec §1 and §10. Bundled layout: ``<category>.jsonl`` with answers inline, ``memory.jsonl`` and
``memory_prereq/<scenario>.jsonl``, ``web_search.jsonl``, ``format_sensitivity.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_bfcl.dataset.categories import CATEGORIES, category_of
from pytest_bfcl.dataset.index import DataProblem, Row, Scan, scan
from pytest_bfcl.failures import instead_of

SCENARIOS = ("student", "customer", "finance", "healthcare", "notetaker")
"""Memory scenarios in the loader's order (data spec §6, point 2)."""

DOCUMENT_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
    "WebSearchAPI": "web_search",
    "MemoryAPI_kv": "memory_kv",
    "MemoryAPI_vector": "memory_vector",
    "MemoryAPI_rec_sum": "memory_rec_sum",
}
"""Class → module name of its document file (data spec §6, point 4)."""


KNOWN_REQUESTS = "api_status_check_ground_truth_rest.json"
"""The requests whose responses the retired REST entries expect (data spec §10)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a category: its path, its answer file, and how raw ids are renamed (data spec §6)."""

    category: str
    path: Path
    answers: Path | None = None
    rename: tuple[str, str] | None = None
    id_prefix: str | None = None
    calls: Path | None = None
    """The requests of the recorded responses (retired REST entries), line by line."""

    def entry_id(self, raw: str) -> str:
        """The expanded id of a raw one."""
        return raw.replace(*self.rename, 1) if self.rename else raw


class Layout:
    """The files below ``root``; ``trusted``: their hash is known, and lines need no check. ``own``: a user's entries,
    which are checked before use. Files in the official layout are used unchanged, because official scores contain the
    official data's defects.
    """

    selection = ""
    """Name of the format-sensitivity id file."""
    as_it_is = False

    def __init__(self, root: Path, trusted: bool = False) -> None:
        self.root = root
        self.trusted = trusted
        self.own = not (trusted or self.as_it_is)

    def parts(self, category: str) -> list[Part]:
        """The files of a category in order; empty if the layout has none."""
        raise NotImplementedError

    def scan(self, part: Part) -> Scan:
        """The rows of one part that belong to its category."""
        return scan(part.path, check=not self.trusted, id_prefix=part.id_prefix)

    def document_file(self, class_name: str) -> Path | None:
        """The document file of a stateful class, if this data has one."""
        return None

    def selection_file(self) -> Path | None:
        """The format-sensitivity id file, if there is one."""
        path = self.root / self.selection
        return path if self.selection and path.is_file() else None

    def find_category(self, entry_id: str) -> str | None:
        """The category in which to search an id, or ``None`` if there is no such category."""
        category = category_of(entry_id)
        return category if category in CATEGORIES else None


def _shared(category: str) -> tuple[str, tuple[str, str] | None]:
    """File name of a category and the renaming of its ids: memory and web search share one file each."""
    row = CATEGORIES[category]
    if row.group == "memory":
        return "memory", ("memory", category)
    if row.group == "web_search":
        return "web_search", ("web_search", category)
    return category, None


def category_files() -> frozenset[str]:
    """The file names in a folder of our own layout."""
    return frozenset(f"{_shared(name)[0]}.jsonl" for name, row in CATEGORIES.items() if row.group != "memory_prereq")


def _prereq_rename(category: str) -> tuple[str, str]:
    return "memory", category.removesuffix("_prereq")


class OfficialLayout(Layout):
    """The data folder of the bfcl-eval distribution."""

    selection = "BFCL_v4_format_sensitivity.json"
    as_it_is = True

    def parts(self, category: str) -> list[Part]:
        """See `Layout`; write stages come last scenario first (data spec §6, point 2)."""
        row = CATEGORIES[category]
        if row.group == "memory_prereq":
            folder = self.root / "memory_prereq_conversation"
            paths = [folder / f"memory_{scenario}.json" for scenario in reversed(SCENARIOS)]
            return [Part(category, p, None, _prereq_rename(category)) for p in paths if p.is_file()]
        name, rename = _shared(category)
        questions, answers = self.root, self.root / "possible_answer"
        if row.group == "retired":
            questions, answers = (self.root / "unused_datasets" / kind for kind in ("question", "possible_answer"))
        path, answer_path = questions / f"BFCL_v4_{name}.json", answers / f"BFCL_v4_{name}.json"
        if not path.is_file() or category == "format_sensitivity":
            return []
        prefix = category if row.checker == "chat" else None
        known = self.root / "unused_datasets" / "executable_eval_sanity_check" / KNOWN_REQUESTS
        calls = known if row.checker == "rest" and known.is_file() else None
        return [Part(category, path, answer_path if answer_path.is_file() else None, rename, prefix, calls)]

    def document_file(self, class_name: str) -> Path | None:
        """See `Layout`."""
        module = DOCUMENT_FILES.get(class_name)
        path = self.root / "multi_turn_func_doc" / f"{module}.json"
        return path if module and path.is_file() else None


class BundledLayout(Layout):
    """Our own folder: one ``.jsonl`` a category, answers inline."""

    selection = "format_sensitivity.json"

    def parts(self, category: str) -> list[Part]:
        """See `Layout`; our own scenarios follow the official five in the loader's order."""
        if CATEGORIES[category].group == "memory_prereq":
            found = {path.stem: path for path in sorted((self.root / "memory_prereq").glob("*.jsonl"))}
            order = [*(s for s in SCENARIOS if s in found), *(s for s in found if s not in SCENARIOS)]
            return [Part(category, found[s], None, _prereq_rename(category)) for s in reversed(order)]
        name, rename = _shared(category)
        path = self.root / f"{name}.jsonl"
        return [Part(category, path, None, rename)] if path.is_file() else []


class FileLayout(Layout):
    """One ``.jsonl`` of own entries; a line's category is its field, else part of its id, else ``simple_python``."""

    @cached_property
    def _scan(self) -> tuple[Scan, dict[str, list[Row]]]:
        result = scan(self.root, check=True)
        if not result.rows and not result.problems:
            result.problems.append(DataProblem(self.root, 0, "the file holds no entries"))
        by_category: dict[str, list[Row]] = {}
        for row in result.rows:
            category = row.category or category_of(row.id)
            if category not in CATEGORIES:
                if row.category:
                    message = f"unknown category {row.category!r}; {instead_of(row.category, CATEGORIES)}"
                    result.problems.append(DataProblem(self.root, row.line, message, row.id))
                    continue
                category = "simple_python"
            by_category.setdefault(category, []).append(row)
        return result, by_category

    def parts(self, category: str) -> list[Part]:
        """See `Layout`."""
        present = self._scan[1] or {"simple_python": []}  # a file of broken lines still has its problems to tell
        return [Part(category, self.root)] if category in present else []

    def scan(self, part: Part) -> Scan:
        """See `Layout`; problems of the file are reported with its first category."""
        whole, by_category = self._scan
        first = next(iter(by_category), part.category)
        return Scan(self.root, by_category.get(part.category, []), whole.problems if part.category == first else [])

    def find_category(self, entry_id: str) -> str | None:
        """See `Layout`."""
        return self._category_of_id.get(entry_id)

    @cached_property
    def _category_of_id(self) -> dict[str, str]:
        return {row.id: category for category, rows in self._scan[1].items() for row in rows}

    def lines(self) -> dict[str, int]:
        """Id → number of its line."""
        return {row.id: row.line for rows in self._scan[1].values() for row in rows}


class FilesLayout(Layout):
    """Several files of own entries as one set, in the folder of the first; ids are unique in all (`clash`)."""

    def __init__(self, files: tuple[FileLayout, ...]) -> None:
        super().__init__(files[0].root.parent)
        self.files = files

    def clash(self) -> str | None:
        """The first id in two files, with both places."""
        seen: dict[str, tuple[Path, int]] = {}
        for file in self.files:
            for entry_id, line in file.lines().items():
                path, earlier = seen.setdefault(entry_id, (file.root, line))
                if path != file.root:
                    return f"the id {entry_id!r} stands in {path}:{earlier} and in {file.root}:{line}"
        return None

    def parts(self, category: str) -> list[Part]:
        """See `Layout`."""
        return [part for file in self.files for part in file.parts(category)]

    def scan(self, part: Part) -> Scan:
        """See `Layout`."""
        return next(file for file in self.files if file.root == part.path).scan(part)

    def find_category(self, entry_id: str) -> str | None:
        """See `Layout`."""
        return next((found for file in self.files if (found := file.find_category(entry_id))), None)
