"""Puts the official data of the bfcl-eval distribution into the user's cache: data and texts, never code.

The wheel is downloaded with pip (or installed into a temporary folder with uv), checked against its SHA-256, and the
JSON files are unpacked into ``<cache>/official/<version>/data``, with ``texts.json`` and ``manifest.json``. It unpacks
into a temporary folder and renames that, so a cache folder is either missing or complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from pytest_bfcl.confined.zips import zip_archive
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import FILE as FORMAT_TEXTS
from pytest_bfcl.fetching.texts import (
    TABLE,
    FormatTexts,
    Texts,
    are_all_in,
    data_digest,
    extract_format_texts,
    format_sources,
    table_digest,
)
from pytest_bfcl.fetching.texts_extraction import SOURCES, extract_from_folder, extract_texts, with_later
from pytest_bfcl.json_types import Fields
from pytest_bfcl.spread_json import json_file

DISTRIBUTION = "bfcl-eval"
VERSION = "2026.3.23"
WHEEL_SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
DATA_SHA256 = "522db7b2e1ed9b7593177fcf2e3f2de85cb3a694dfa361407c763249a33ebcae"
"""`data_digest` of the data folder inside that wheel."""
TEXTS_SHA256 = "a2b4a323e0898aa323f37e7b7100ec90af6fb146558129b1e5e83fc58ffacddf"
"""`Texts.sha256` of the texts extracted from that wheel."""

_MEMBER_LIMIT = 64 * 2**20
_TOTAL_LIMIT = 256 * 2**20
_DOWNLOAD_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content and source of a cache folder; ``verified`` means that every hash is the pinned one."""

    version: str
    verified: bool
    data_sha256: str
    texts_sha256: str
    source: str
    wheel_sha256: str | None = None
    fetched_at: str = ""


def cache_root() -> Path:
    """The cache folder: ``PYTEST_BFCL_CACHE``, else the user's cache folder of the platform."""
    named = os.environ.get("PYTEST_BFCL_CACHE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("pytest-bfcl", appauthor=False)


def fetched_folder() -> Path | None:
    """The cache folder of the official set; ``None`` unless it has the data and all texts of this version."""
    folder = cache_root() / "official" / VERSION
    if not (folder / "manifest.json").is_file():
        return None
    return folder if read_manifest(folder).texts_sha256 == TEXTS_SHA256 and are_all_in(folder) else None


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a cache folder. Raises `UsageError` if it cannot be read."""
    try:
        values = json_file(folder / "manifest.json")
        return Manifest(**{key: values[key] for key in Manifest.__dataclass_fields__ if key in values})
    except (UsageError, TypeError) as error:
        raise UsageError(f"the cache in {folder} is damaged ({error}); run `pytest-bfcl fetch --force`") from error


def is_intact(folder: Path) -> bool:
    """Whether the data and texts in a cache folder still have their manifest's hashes (reads about 10 MB)."""
    manifest = read_manifest(folder)
    texts = Texts.load(folder / "texts.json")
    return (data_digest(folder / "data"), texts.sha256) == (manifest.data_sha256, manifest.texts_sha256)


def fetch(
    source: str | Path | None = None, *, version: str = VERSION, force: bool = False, allow_unknown: bool = False
) -> Path:
    """Put the official data into the cache and return its folder; does nothing if it is there already.

    ``source``: a wheel, or a folder with an unpacked distribution or a checkout; ``None`` downloads. ``allow_unknown``
    accepts data with other hashes than the pinned ones. It goes to its own folder (open it by its path) and never
    counts as the official set. Raises `UsageError` without network, for wrong hashes, and for other sources than the
    benchmark.
    """
    if source is not None:
        _refuse_missing(Path(source).expanduser())
    wanted = version == VERSION and not (allow_unknown and source is not None) and not force
    if wanted and (present := fetched_folder()) is not None:
        return present
    if version != VERSION and not allow_unknown:
        raise UsageError(f"version {version} is not known to this release (it knows {VERSION}); add --allow-unknown")
    from filelock import FileLock

    home = cache_root() / "official"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(home / ".lock"):
        if wanted and (present := fetched_folder()) is not None:  # another process was faster
            return present
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home) as temporary:
            staging = Path(temporary) / "staging"
            manifest = _stage(source, version, staging, Path(temporary), allow_unknown)
            _write_json(staging / "manifest.json", asdict(manifest))
            name = VERSION if manifest.verified else f"unverified-{version}-{manifest.data_sha256[:12]}"
            return _install(staging, home / name)


def texts_beside(data: Path) -> Texts | None:
    """The official texts of a data folder: ``texts.json`` next to it, or the modules of an unpacked package."""
    stored = data.parent / "texts.json"
    return Texts.load(stored) if stored.is_file() else extract_from_folder(data.parent)


def with_later_texts(texts: Texts, data: Path) -> Texts:
    """The texts with single sentences from the same folder; missing ones are left out."""
    package = data.parent
    if not texts.sentences:
        return texts
    if (package / "texts.json").is_file():
        later = FormatTexts.beside(package)
    else:
        paths = {path: package / path for path in format_sources() if (package / path).is_file()}
        later = FormatTexts(extract_format_texts({name: p.read_text(encoding="utf-8") for name, p in paths.items()}))
    return replace(texts, sentences=with_later(texts.sentences, later.sentences()))


def version_beside(data: Path) -> str:
    """The version in a manifest next to a data folder, or the empty text."""
    return read_manifest(data.parent).version if (data.parent / "manifest.json").is_file() else ""


def _refuse_missing(origin: Path) -> None:
    if not origin.exists():
        raise UsageError(f"nothing at {origin}: --from takes a bfcl_eval wheel, or an unpacked or checked-out folder")


def _stage(source: str | Path | None, version: str, staging: Path, work: Path, allow_unknown: bool) -> Manifest:
    """Fill the staging folder and check it against the pinned hashes."""
    origin = Path(source).expanduser() if source is not None else download(f"{DISTRIBUTION}=={version}", work, _ADVICE)
    _refuse_missing(origin)
    wheel_sha256 = None
    if origin.is_file():
        wheel_sha256 = hashlib.sha256(origin.read_bytes()).hexdigest()
        if wheel_sha256 != WHEEL_SHA256 and not allow_unknown:
            raise UsageError(
                f"{origin} is not the wheel of {DISTRIBUTION} {VERSION} "
                f"(SHA-256 {wheel_sha256}, expected {WHEEL_SHA256}); "
                "download it again, or add --allow-unknown to use it as it is, marked as unverified"
            )
        texts, format_texts = _unpack(_wheel_members(origin), staging / "data")
    else:
        texts, format_texts = _unpack(_folder_members(origin), staging / "data")
    _write_json(staging / "texts.json", texts.to_values())
    _write_json(staging / FORMAT_TEXTS, format_texts | {TABLE: table_digest()})
    data_sha256, texts_sha256 = data_digest(staging / "data"), texts.sha256
    verified = (data_sha256, texts_sha256) == (DATA_SHA256, TEXTS_SHA256)
    if not verified and not allow_unknown:
        changed = "data files" if data_sha256 != DATA_SHA256 else "texts"
        raise UsageError(
            f"the {changed} in {origin} are not those of {DISTRIBUTION} {VERSION}; "
            "add --allow-unknown to use them as they are, marked as unverified"
        )
    return Manifest(
        version=VERSION if verified else f"{version}+unverified",
        verified=verified,
        data_sha256=data_sha256,
        texts_sha256=texts_sha256,
        source="download" if source is None else origin.name,
        wheel_sha256=wheel_sha256,
        fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _unpack(members: Iterator[tuple[str, bytes]], target: Path) -> tuple[Texts, dict[str, str]]:
    """Write the data files below ``target``; returns the texts and those of templates.

    ``members`` are paths below ``bfcl_eval/``.
    """
    sources: dict[str, str] = {}
    written = 0
    for name, content in members:
        if _is_source(name):
            sources[name] = content.decode("utf-8")
        elif _is_data(name):
            path = target / name.removeprefix("data/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written += 1
    if not written:
        raise UsageError(f"no data files found: this is not the {DISTRIBUTION} distribution")
    return extract_texts(sources), extract_format_texts(sources)


def _is_source(name: str) -> bool:
    return name in SOURCES or name in format_sources()


def _is_data(name: str) -> bool:
    """Whether a member is a data file; names of an archive are already plain."""
    return name.startswith("data/") and name.endswith(".json")


def _wheel_members(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """(path below ``bfcl_eval/``, content) of the wanted members, limited in size."""
    left = _TOTAL_LIMIT
    with zip_archive(wheel) as archive:
        for member in archive.sizes:
            name = member.removeprefix("bfcl_eval/")
            if name != member and (_is_source(name) or _is_data(name)):
                content = b"".join(archive.pieces(member, min(_MEMBER_LIMIT, left)))
                left -= len(content)
                yield name, content


def _folder_members(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The same for an unpacked distribution, a site-packages folder or a checkout."""
    package = _package_folder(folder)
    names = [
        *SOURCES,
        *sorted(format_sources()),
        *(p.relative_to(package).as_posix() for p in sorted((package / "data").rglob("*.json"))),
    ]
    for name in names:
        path = package / name
        if path.is_file() and path.resolve().is_relative_to(package.resolve()):
            if path.stat().st_size > _MEMBER_LIMIT:
                raise UsageError(f"{path} has more than {_MEMBER_LIMIT >> 20} MB: no file of the benchmark")
            yield name, path.read_bytes()


def _package_folder(folder: Path) -> Path:
    nested = ("", "bfcl_eval", "berkeley-function-call-leaderboard/bfcl_eval")
    candidates = [*(folder / name for name in nested), folder.parent]
    for candidate in candidates:
        if any((candidate / "data").glob("BFCL_v4_*.json")):
            return candidate
    raise UsageError(f"{folder} holds no bfcl_eval/data folder: --from takes a wheel, an unpacked wheel or a checkout")


def download(requirement: str, work: Path, advice: str) -> Path:
    """The wheel of a requirement (pip), or its unpacked distribution (uv), in ``work``; dependencies are left out.

    Raises `UsageError` ending in ``advice``.
    """
    target = work / "download"
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet",
           "--disable-pip-version-check", "--dest", str(target), requirement]  # fmt: skip
    uv = shutil.which("uv")
    if _has_pip():
        _run(pip, "pip", advice)
        wheels = sorted(target.glob("*.whl"))
        if not wheels:
            raise UsageError(f"pip downloaded no wheel of {requirement}; {advice}")
        return wheels[0]
    if uv is None:
        raise UsageError(f"neither pip nor uv is available to download {requirement}; {advice}")
    install = [uv, "pip", "install", "--no-deps", "--quiet", "--target", str(target), "--python", sys.executable]
    _run([*install, requirement], "uv", advice)
    return target


_ADVICE = (
    f"get the wheel of {DISTRIBUTION} {VERSION} on a machine with network access "
    f"(`pip download --no-deps {DISTRIBUTION}=={VERSION}`) and run `pytest-bfcl fetch --from WHEEL`"
)


def _has_pip() -> bool:
    return find_spec("pip") is not None


def _run(command: list[str], name: str, advice: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{name} could not download the data: {error}; {advice}") from error
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["no message"]
        raise UsageError(f"{name} could not download the data: {lines[-1].strip()}; {advice}")


def _install(staging: Path, target: Path) -> Path:
    """Rename the staged folder to its final name; an older one of the same version is moved away first."""
    if target.exists():
        old = staging.parent / "old"
        os.replace(target, old)
    os.replace(staging, target)
    return target


def _write_json(path: Path, values: Fields) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8")
