"""Opens a data set by a word or a path: the fetched official one, verified, the bundled one, or own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.dataset.layouts import BundledLayout, FileLayout, FilesLayout, Layout, OfficialLayout, category_files
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.verified import NAME, verification
from pytest_bfcl.failures import UsageError, close_names, did_you_mean
from pytest_bfcl.fetching import official
from pytest_bfcl.fetching.texts import Texts, data_digest, digest

NOT_FETCHED = (
    "the official data is not here (run pytest-bfcl fetch): these are our own bundled entries, "
    "their scores are not BFCL scores"
)
"""The note if ``auto`` selected the bundled set."""


def open_dataset(choice: str | Path = "auto", documents: Callable[[str], list[FunctionDoc]] | None = None) -> DataSet:
    """Open ``auto`` (fetched official set, else the bundled one), ``bundled``, ``official``, ``verified`` or a path.

    A path is a directory in the official or bundled layout, or one ``.jsonl`` of own entries. ``documents`` gives tool
    documents of classes without a file. Raises `UsageError` with the remedy.
    """
    text = str(choice)
    if text in ("auto", "official", NAME):
        fetched = official.fetched_folder()
        if fetched is not None:
            return _open_fetched(fetched, documents, verified=text == NAME)
        if text in ("official", NAME):
            raise UsageError("the official BFCL data is not here yet; run `pytest-bfcl fetch` once (about 2 MB)")
        text = "bundled"
    if text == "bundled":
        return _open_bundled(documents)
    return _open_path(Path(text).expanduser(), documents)


def open_files(paths: Sequence[Path], documents: Callable[[str], list[FunctionDoc]] | None = None) -> DataSet:
    """Several ``.jsonl`` of own entries as one set; one file alone is opened like by `open_dataset`.

    Raises `UsageError` if an id is in two of them, because results are stored by id.
    """
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    if len(unique) == 1:
        return open_dataset(unique[0], documents)
    if missing := next((path for path in unique if not path.is_file()), None):
        raise UsageError(f"no data at {missing}: name .jsonl files")
    layout = FilesLayout(tuple(map(FileLayout, unique)))
    if clash := layout.clash():
        raise UsageError(f"{clash}: results are stored by id, so change one of the two")
    stems = sorted(path.stem for path in unique)  # the order of arguments changes nothing
    name = "+".join(stems) if len(stems) <= 3 else f"{stems[0]}+{len(stems) - 1} more"
    return DataSet(layout, name=name, version="", texts=Texts.own(), documents=documents)


def _open_fetched(
    folder: Path, documents: Callable[[str], list[FunctionDoc]] | None, *, verified: bool = False
) -> DataSet:
    manifest = official.read_manifest(folder)
    reviewed = verification(manifest.version)
    mark = f"+verified.{reviewed.sha256[:8]}" if verified else ""
    return DataSet(
        OfficialLayout(folder / "data", trusted=True),
        name=NAME if verified else "official",
        version=manifest.version + mark,
        texts=official.with_later_texts(Texts.load(folder / "texts.json"), folder / "data"),
        sha256=digest([manifest.data_sha256, reviewed.sha256]) if verified else manifest.data_sha256,
        official=True,
        documents=documents,
        verification=reviewed,
    )


def bundled_root() -> Path | None:
    """The folder of the bundled data: inside an installed package, else next to it in a checkout; ``None`` if
    missing."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_bundled", package.parent / "data"):
        if folder.is_dir() and any(folder.glob("*.jsonl")):
            return folder
    return None


def _open_bundled(documents: Callable[[str], list[FunctionDoc]] | None) -> DataSet:
    root = bundled_root()
    if root is None:
        raise UsageError("the bundled data is missing from this installation; run `pytest-bfcl fetch` or reinstall")
    layout = BundledLayout(root, trusted=True)
    return DataSet(layout, name="bundled", version=_package_version(), texts=Texts.own(), documents=documents)


def _package_version() -> str:
    """The bundled data has the version of its package."""
    try:
        return version("pytest-bfcl")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unreleased"


def _open_path(path: Path, documents: Callable[[str], list[FunctionDoc]] | None) -> DataSet:
    if not path.exists():
        kinds = "name auto, bundled, official, a directory or a .jsonl file"
        slashes = str(path).replace("\\", "/")
        if re.match(r"https?:", str(path)):
            raise UsageError("--bfcl-data takes no web address: download the file, then name it")
        turned = f"write {slashes}" if "\\" in str(path) and Path(slashes).exists() else None
        raise UsageError(f"no data at {path}: {turned or _set_hint(path) or _name_hint(path) or kinds}")
    path = path.resolve()
    if path.is_file():
        if path.name == "results.jsonl" and path.with_name("run.json").is_file():
            raise UsageError(f"{path} holds results of a run, not entries; the run's run.json names the data (dataset)")
        layout: Layout = FileLayout(path)
        return DataSet(layout, name=path.stem, version="", texts=Texts.own(), documents=documents)
    for folder in (path, path / "data", path / "bfcl_eval" / "data"):
        if any(folder.glob("BFCL_v4_*.json")):
            return _open_official_path(folder, path.name, documents)
    if (path / "run.json").is_file():
        raise UsageError(f"{path} is a run directory, not data; its run.json names the data (dataset)")
    if found := sorted(each.name for each in path.glob("*.jsonl")):
        if not any(name in category_files() for name in found) and not (path / "memory_prereq").is_dir():
            raise UsageError(
                f"{path} holds {_few(found)}, but files in a data folder are named after their category "
                f"(simple_python.jsonl). To run your own file, name the file: {path / found[0]}"
            )
        layout = BundledLayout(path)
        unused = _unused(path, "*.jsonl", category_files() | {"format_sensitivity.json"})
        return DataSet(layout, name=path.name, version="", texts=Texts.own(), documents=documents, unused=unused)
    raise UsageError(f"{path} holds neither BFCL_v4_*.json files nor <category>.jsonl files")


_LOOKED_AT = 1000
"""Files next to a missing one with similar names."""


def _set_hint(path: Path) -> str:
    """The meaning of a word for the benchmark itself, of a set after a path, or of a category."""
    name = path.name.casefold()
    if name in ("auto", "bundled", "official", NAME):
        return f"the set is named by its word alone, {name}"
    if name in _BENCHMARK or name.startswith(("bfcl_v", "bfcl-v", "berkeley-function")):
        stem = path.name.partition(".")[0].partition("_v")[2].partition("_")[2]
        if stem not in CATEGORIES:
            return "the benchmark's data is called official (`pytest-bfcl fetch` gets it)"
    else:
        stem = path.name.partition(".")[0]
    if (stem in CATEGORIES or stem in GROUPS) and path.suffix in ("", ".json", ".jsonl"):
        return (
            f"{stem} is a category or group: name the set (bundled, official) and select with --bfcl-categories {stem}"
        )
    return ""


_BENCHMARK = frozenset({"bfcl", "v1", "v2", "v3", "v4", "gorilla", "gorilla-llm", "leaderboard", "all"})


def _name_hint(path: Path) -> str:
    """Possible meanings of an unknown name: known sets, files next to it."""
    beside = path.parent if path.parent.is_dir() else Path()
    names = [str(beside / each.name) for each in sorted(beside.glob("*.jsonl"))[:_LOOKED_AT]]
    return did_you_mean(str(path), ["auto", "bundled", "official", "verified", *names])


def _unused(folder: Path, pattern: str, known: frozenset[str]) -> tuple[str, ...]:
    """Files of a folder that belong to no category, each with the names that may be meant."""
    stems = {Path(name).stem: name for name in sorted(known)}
    found = {each.name for each in folder.glob(pattern)} | {f"{stem}.json" for stem in stems}
    told = []
    for name in sorted(name for name in found - known if (folder / name).is_file()):
        close = [Path(name).stem] if Path(name).stem in stems else close_names(Path(name).stem, stems, 2)
        told.append(f"{name} (did you mean {' or '.join(stems[stem] for stem in close)}?)" if close else name)
    return tuple(told)


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _open_official_path(folder: Path, name: str, documents: Callable[[str], list[FunctionDoc]] | None) -> DataSet:
    """A folder in the official layout; it is the official set if its data and texts have known hashes."""
    names = frozenset(f"BFCL_v4_{name}.json" for name in (*CATEGORIES, "memory", "web_search"))
    found = data_digest(folder)
    texts = official.texts_beside(folder)
    known = found == official.DATA_SHA256 and texts is not None and texts.sha256 == official.TEXTS_SHA256
    texts = official.with_later_texts(texts or Texts.own(), folder)
    return DataSet(
        OfficialLayout(folder, trusted=found == official.DATA_SHA256),
        name="official" if known else name,
        version=official.VERSION if known else official.version_beside(folder),
        texts=texts,
        sha256=found,
        official=known,
        documents=documents,
        unused=() if known else _unused(folder, "BFCL_v4_*.json", names),
    )
