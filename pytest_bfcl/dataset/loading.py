"""The entries of one data set: the bundled one, the fetched official one, or a user's own files.

A `DataSet` indexes ids cheaply and parses a body only on access; the last files stay open.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from pytest_bfcl.dataset import expansion
from pytest_bfcl.dataset.categories import CATEGORIES, Category
from pytest_bfcl.dataset.entry import Entry, EntryRef, FunctionDoc
from pytest_bfcl.dataset.entry_checks import check_entry
from pytest_bfcl.dataset.index import DataProblem, LineFiles, Scan, line_spans, parse_line
from pytest_bfcl.dataset.inputs import template_digest
from pytest_bfcl.dataset.layouts import FilesLayout, Layout, Part
from pytest_bfcl.dataset.transforms import MARK, Rewordings, names_for, split_id, transform
from pytest_bfcl.dataset.verified import NAME, Verification
from pytest_bfcl.failures import HarnessError, UsageError, instead_of
from pytest_bfcl.fetching.texts import Texts, data_digest
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.spread_json import json_file
from pytest_bfcl.troubles import HarnessTrouble


class UnknownEntry(KeyError):
    """No entry has this id in this data set."""

    def __init__(self, entry_id: str, dataset: str) -> None:
        super().__init__(entry_id)
        self.entry_id = entry_id
        self.dataset = dataset

    def __str__(self) -> str:
        return f"no entry {self.entry_id!r} in the {self.dataset} data"


class DataSet:
    """Entries of one set, by category.

    ``name`` is ``bundled``, ``official`` or the stem of a user's path; ``official``: data and texts have the official
    hashes; ``verified``: the reviewed corrections are applied. ``documents`` supplies function documents of classes
    without a file. ``unused`` names files next to the data's that are not read.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        name: str,
        version: str,
        texts: Texts,
        sha256: str | None = None,
        official: bool = False,
        documents: Callable[[str], list[FunctionDoc]] | None = None,
        verification: Verification | None = None,
        unused: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.version = version
        self.texts = texts
        self.official = official
        self.verified = verification is not None and name == NAME
        """Whether this is the official data with the reviewed corrections (`pytest_bfcl.dataset.verified`)."""
        self.own = layout.own
        """Whether these are a user's own entries, each of which `load` checks."""
        self.unused = unused
        self._layout = layout
        self._sha256 = sha256
        self._documents = documents
        self._verification = verification
        self._scans: dict[str, list[tuple[Part, Scan]]] = {}
        self._refs: dict[str, list[EntryRef]] = {}
        self._by_id: dict[str, dict[str, EntryRef]] = {}
        self._answer_spans: dict[Path, list[tuple[int, int]]] = {}
        self._class_documents: dict[str, list[FunctionDoc]] = {}
        self._files = LineFiles()
        self.rewordings: Rewordings = {}
        """Rephrased questions, for transforms from a user's file."""

    def unread(self) -> DataSet:
        """The same set without anything read yet: small to send to another process."""
        fresh = copy.copy(self)
        for name in ("sha256", "file_digests", "templates"):
            fresh.__dict__.pop(name, None)
        fresh._scans, fresh._refs, fresh._by_id = {}, {}, {}
        fresh._answer_spans, fresh._class_documents = {}, {}
        return fresh

    def __repr__(self) -> str:
        return f"<DataSet {self.name} {self.version} {self.root}>"

    @property
    def root(self) -> Path:
        """The folder or file the entries come from."""
        return self._layout.root

    def unused_text(self) -> str:
        """A note about files next to the data's that have no category's name; else empty."""
        if not self.unused:
            return ""
        more = f" and {len(self.unused) - 3} more" if len(self.unused) > 3 else ""
        return f"not used, no category's file is called so: {', '.join(self.unused[:3])}{more} in {self.root}"

    @property
    def site(self) -> Path | None:
        """The folder of the data's own web pages (``web`` next to its files), ``None`` without one."""
        folder = (self.root if self.root.is_dir() else self.root.parent) / "web"
        return folder if any(folder.glob("*.html")) else None

    @cached_property
    def sha256(self) -> str:
        """Digest of the data files (not of the texts), for the run's fingerprint."""
        return self._sha256 or (joint_digest(self.file_digests) if self.paths else data_digest(self.root))

    def sha256_here(self) -> str | None:
        """The present digest of the data files on this host; ``None`` if they are missing."""
        if not all(path.exists() for path in self.paths or (self.root,)):
            return None
        digests = {name: data_digest(path) for name, path in zip(file_names(self.paths), self.paths, strict=True)}
        return joint_digest(digests) if digests else data_digest(self.root)

    def categories(self) -> list[str]:
        """Categories with files in this set, in table order; memory write stages are not listed but can be indexed."""
        return [
            name
            for name, row in CATEGORIES.items()
            if row.group != "memory_prereq"
            and (self._layout.parts(name) or (name == "format_sensitivity" and self._layout.selection_file()))
        ]

    def path_of(self, category: str) -> Path:
        """The (first) file of a category. Raises `UsageError` if the set has none."""
        if category == "format_sensitivity":
            selection = self._layout.selection_file()
            if selection:
                return selection
        parts = self._layout.parts(_known_category(category))
        if not parts:
            have = ", ".join(self.categories()) or "none"
            raise UsageError(f"the {self.name} data ({self.root}) has no category {category!r}; it has: {have}")
        return parts[0].path

    def index(self, category: str) -> list[EntryRef]:
        """References to the category's entries in run order; empty if the set has none.

        Also takes ``memory_<backend>_prereq`` and ``format_sensitivity``. Raises `UsageError` for unknown names.
        """
        if category not in self._refs:
            _known_category(category)
            listed = self._format_refs() if category == "format_sensitivity" else self._plain_refs(category)
            left_out = self._verification.exclusions if self._verification and self.verified else {}
            self._refs[category] = [ref for ref in listed if ref.id not in left_out] if left_out else listed
        return self._refs[category]

    def variants(self, ref: EntryRef, names: Sequence[str]) -> Iterator[EntryRef]:
        """A reference, then one for every selected transform that applies to its entry."""
        yield ref
        for name in names_for(ref.id, ref.category, names, self.rewordings):
            yield ref._replace(id=f"{ref.id}{MARK}{name}", transform=name)

    def problems(self, category: str) -> list[DataProblem]:
        """The problems of the category's files (users' data; trusted data has none)."""
        return [problem for _, scan in self._scan(_known_category(category)) for problem in scan.problems]

    def find(self, entry_id: str) -> EntryRef | None:
        """The reference of an expanded id, or ``None``."""
        base, name = split_id(entry_id)
        if name is not None and (ref := self.find(base)) is not None:
            return ref._replace(id=entry_id, transform=name)
        category = self._layout.find_category(entry_id)
        if category is None:
            return None
        if category not in self._by_id:
            self._by_id[category] = {ref.id: ref for ref in self.index(category)}
        return self._by_id[category].get(entry_id)

    def entry(self, entry_id: str) -> Entry:
        """The entry with this id. Raises `UnknownEntry`."""
        ref = self.find(entry_id)
        if ref is None:
            raise UnknownEntry(entry_id, self.name)
        return self.load(ref)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of a set of several files on the command line, else none."""
        return tuple(file.root for file in self._layout.files) if isinstance(self._layout, FilesLayout) else ()

    @cached_property
    def file_digests(self) -> dict[str, str]:
        """Digest of each of `paths`, by its shortest distinct name."""
        return {name: data_digest(path) for name, path in zip(file_names(self.paths), self.paths, strict=True)}

    @cached_property
    def templates(self) -> dict[str, str]:
        """Digest of every file or folder that own entries copy into their trials, by its path."""
        named: dict[Path, str] = {}
        for ref in self.index("mcp") if self.own else ():
            files: object = None
            with contextlib.suppress(HarnessError):  # a broken line is told of elsewhere
                files = self._object(ref.path, ref.offset, ref.length, partial(str, ref.id)).get("files")
            for each in files.values() if isinstance(files, dict) else ():
                name = each.get("copy") if isinstance(each, dict) else None
                if isinstance(name, str):
                    named[ref.path.parent / name] = name if len(self.paths) < 2 else f"{ref.path.parent.name}/{name}"
        return {name: template_digest(place) for place, name in named.items()}

    def categories_in(self, path: Path) -> list[str]:
        """The categories whose entries a file holds."""
        return [name for name in self.categories() if any(part.path == path for part in self._layout.parts(name))]

    def load(self, ref: EntryRef, *, original: Entry | None = None) -> Entry:
        """Parse and expand one entry; ``original`` is the base of a format-sensitivity entry, if available. Raises
        `HarnessError` (kind ``data``) for an unusable line, and for own entries also if they cannot be judged as
        intended (`check_entry`). The message names file, line and field.
        """
        if ref.transform:
            base = ref._replace(id=split_id(ref.id)[0], transform="")
            return transform(self.load(base), ref.transform, self.rewordings)
        entry = self.unchecked(ref, original)
        if self.own:
            errors = [finding for finding in check_entry(entry) if finding.severity == "error"]
            if errors:
                raise HarnessError(HarnessTrouble.DATA, f"{ref.path.name}:{ref.line}: {ref.id}: {errors[0]}")
        return entry

    def entry_errors(self, ref: EntryRef) -> list[DataProblem]:
        """The problem for which `load` of an own entry raises."""
        return [problem for problem in self.entry_problems(ref) if problem.severity == "error"]

    def entry_problems(self, ref: EntryRef) -> list[DataProblem]:
        """Every problem of one entry, warnings included; `load` of own entries raises for errors."""
        try:
            entry = self.unchecked(ref)
        except (HarnessError, UsageError) as error:
            return [DataProblem(ref.path, ref.line, str(error), ref.id)]
        return [
            DataProblem(ref.path, ref.line, str(finding), ref.id, finding.severity)
            for finding in check_entry(entry, linked=True)
        ]

    def original(self, ref: EntryRef) -> Entry:
        """The original of a format-sensitivity entry. Raises `HarnessError` like `load`."""
        return self.unchecked(self._original(ref))

    def unchecked(self, ref: EntryRef, original: Entry | None = None) -> Entry:
        """`load` without `check_entry` and transforms. Raises `HarnessError` for a line that cannot be read."""
        if ref.variant >= 0:
            original = original or self.original(ref)
            number = int(ref.id.split(":", 1)[0].rpartition("_")[2])
            return expansion.in_format(original, number, expansion.format_configs()[ref.variant])
        category = CATEGORIES[ref.category]
        parts = self._scans.get(ref.category) or self._scan(ref.category)
        part = parts[0][0]
        if part.path is not ref.path:  # paths are compared part by part; a reference nearly always has its part's own
            part = next(part for part, _ in parts if part.path is ref.path or part.path == ref.path)
        source = f"{ref.path.name}:{ref.line}"
        raw = self._object(ref.path, ref.offset, ref.length, lambda: source)
        if part.calls is not None:
            request = self._answer(part.calls, ref.position) or {}
            raw["ground_truth_call"] = request.get("ground_truth")
        answer = self._answer(part.answers, ref.position) if part.answers is not None else None
        if answer is None and part.answers is not None:
            place = f"{part.answers.parent.name}/{part.answers.name}:{ref.position + 1}"
            raise HarnessError(HarnessTrouble.DATA, f"{place}: there is no answer line for this question")
        if self.verified and self._verification:
            raw, answer = self._verification.corrected(ref.id, raw, answer)
        entry = self._expanded(ref, category, raw, answer, source)
        if entry.files:
            entry.folder = ref.path.parent
        if self._verification and not self.verified and ref.id in self._verification:
            entry.verified = self._verified_twin(ref, category, raw, answer, source)
        return entry

    def _expanded(self, ref: EntryRef, category: Category, raw: Parsed, answer: Parsed | None, source: str) -> Entry:
        return expansion.build_entry(
            raw,
            ref.id,
            category,
            texts=self.texts,
            documents=self.documents,
            official=self.official,
            source=source,
            answer=answer,
            depends_on=self._dependencies(ref, raw.get("scenario")) if category.backend else (),
        )

    def _verified_twin(
        self, ref: EntryRef, category: Category, raw: Parsed, answer: Parsed | None, source: str
    ) -> Entry | Literal["excluded"]:
        """The entry with its corrected answer, by which replies to the official question are also judged."""
        assert self._verification is not None
        if ref.id in self._verification.exclusions:
            return "excluded"
        raw, answer = self._verification.corrected(ref.id, raw, answer, answers_only=True)
        return self._expanded(ref, category, raw, answer, source)

    def documents(self, class_name: str) -> list[FunctionDoc]:
        """Function documents of a stateful class. Raises `HarnessError` if it has none. The list is new, the documents
        are shared: an entry copies each, but not its schemas.
        """
        if class_name not in self._class_documents:
            path = self._layout.document_file(class_name)
            if path is not None:
                lines = [self._files.read(path, *span).strip() for span in line_spans(path)]
                self._class_documents[class_name] = json.loads(b"[" + b",".join(lines) + b"]")
            elif self._documents is not None:
                try:
                    self._class_documents[class_name] = json.loads(json.dumps(self._documents(class_name)))
                except UsageError as error:  # nobody knows the class: a defect of this entry, not of the command
                    raise HarnessError(HarnessTrouble.DATA, f"no tool documents for {class_name!r}: {error}") from error
            else:
                raise HarnessError(
                    HarnessTrouble.DATA, f"no tool documents for the class {class_name!r} in {self.root}"
                )
        return list(self._class_documents[class_name])

    def depends_on(self, ref: EntryRef) -> list[str]:
        """Ids of the write stages that must run before an entry, without parsing it; empty for all but memory."""
        return self._dependencies(ref, self._scenario(ref)) if CATEGORIES[ref.category].backend else []

    def turns(self, ref: EntryRef) -> int:
        """The approximate number of turns of an entry, from its bytes (messages in it), without parsing."""
        try:
            return self._files.read(ref.path, ref.offset, ref.length).count(b'"role":')
        except OSError:
            return 1

    def prerequisites(self, category: str, scenario: str) -> list[EntryRef]:
        """The write-stage conversations of a memory category's scenario, in the order they must run."""
        name = f"{category.removesuffix('_prereq')}_prereq"
        return [ref for ref in self.index(name) if self._scenario(ref) == scenario]

    def _scan(self, category: str) -> list[tuple[Part, Scan]]:
        if category not in self._scans:
            parts = self._layout.parts(category)
            try:
                self._scans[category] = [(part, self._layout.scan(part)) for part in parts]
            except OSError as error:
                raise UsageError(f"cannot read the {category} entries: {error}") from error
        return self._scans[category]

    def _plain_refs(self, category: str) -> list[EntryRef]:
        return [
            EntryRef(part.entry_id(row.id), category, part.path, row.offset, row.length, row.position, line=row.line)
            for part, scan in self._scan(category)
            for row in scan.rows
        ]

    def _format_refs(self) -> list[EntryRef]:
        """Every selected entry in every configuration, numbered through (data spec §6.1)."""
        path = self._layout.selection_file()
        if path is None:
            return self._plain_refs("format_sensitivity")
        selection: dict[str, list[str]] = json_file(path)
        originals: list[EntryRef] = []
        for category, ids in selection.items():
            wanted = set(ids)
            originals += [ref for ref in self.index(category) if ref.id in wanted]
        configs = [str(config) for config in expansion.format_configs()]
        refs: list[EntryRef] = []
        for ref in originals:
            for variant, config in enumerate(configs):
                new_id = expansion.format_id(len(refs), config, ref.id)
                refs.append(ref._replace(id=new_id, category="format_sensitivity", variant=variant))
        return refs

    def _original(self, ref: EntryRef) -> EntryRef:
        original = self.find(ref.original_id)
        if original is None:
            raise HarnessError(HarnessTrouble.DATA, f"the original entry of {ref.id} is not in the {self.name} data")
        return original

    def _answer(self, path: Path, position: int) -> Parsed | None:
        """The line at a question's position in a file of answers (data spec §7); ``None`` beyond its end."""
        if path not in self._answer_spans:
            self._answer_spans[path] = line_spans(path)
        spans = self._answer_spans[path]
        if position >= len(spans):
            return None
        return self._object(path, *spans[position], lambda: f"{path.parent.name}/{path.name}:{position + 1}")

    def _object(self, path: Path, offset: int, length: int, source: Callable[[], str]) -> Parsed:
        """The object on one line; ``source`` names the line in a `HarnessError`."""
        try:
            value = parse_line(self._files.read(path, offset, length))
        except (OSError, ValueError, RecursionError) as error:
            raise HarnessError(HarnessTrouble.DATA, f"{source()}: cannot read the entry: {error}") from error
        if not isinstance(value, dict):
            raise HarnessError(HarnessTrouble.DATA, f"{source()}: the line is not a JSON object")
        return value

    def _scenario(self, ref: EntryRef) -> str:
        if ref.path.parent.name in ("memory_prereq", "memory_prereq_conversation"):
            return ref.path.stem.removeprefix("memory_")
        return str(self._object(ref.path, ref.offset, ref.length, lambda: ref.id).get("scenario"))

    def _dependencies(self, ref: EntryRef, scenario: object) -> list[str]:
        """Write stages that must run first: all of the scenario, or the earlier ones of a chain (data spec §6)."""
        chain = [earlier.id for earlier in self.prerequisites(ref.category, str(scenario))]
        return chain[: chain.index(ref.id)] if ref.id in chain else chain


def joint_digest(digests: Mapping[str, str]) -> str:
    """One digest of several files, independent of their order."""
    lines = "".join(f"{name}\0{digest}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def file_names(paths: Sequence[Path]) -> list[str]:
    """Names of files; with their folders if two have the same name."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [path.as_posix() for path in paths]


def _known_category(category: str) -> str:
    if category not in CATEGORIES:
        raise UsageError(f"unknown category {category!r}; {instead_of(category, CATEGORIES)}")
    return category
