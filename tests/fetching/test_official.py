"""Fetching: hashes, what is unpacked, atomicity, offline use, and what users are told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching import official
from pytest_bfcl.fetching.official import VERSION, fetch, fetched_folder, read_manifest

from .distribution import write_folder, write_wheel


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_packages: None) -> Path:
    """An empty cache, and nowhere to download from."""
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


UNPACKED = {
    "manifest.json", "texts.json", "format_texts.json", "data/BFCL_v4_simple_python.json",
    "data/possible_answer/BFCL_v4_simple_python.json",
}  # fmt: skip


def test_the_real_wheel_is_verified(cache: Path, official_wheel: Path) -> None:
    folder = fetch(official_wheel)
    manifest = read_manifest(folder)
    assert folder == cache / "official" / VERSION
    assert (manifest.version, manifest.verified) == (VERSION, True)
    assert manifest.wheel_sha256 == official.WHEEL_SHA256
    assert manifest.data_sha256 == official.DATA_SHA256
    assert not [name for name in files(folder) if name.endswith((".py", ".md"))]
    dataset = open_dataset("official")
    assert (dataset.name, dataset.official, dataset.sha256) == ("official", True, official.DATA_SHA256)


def test_a_tampered_real_wheel_is_refused(cache: Path, official_wheel: Path, tmp_path: Path) -> None:
    tampered = tmp_path / "tampered.whl"
    content = bytearray(official_wheel.read_bytes())
    content[len(content) // 2] ^= 1
    tampered.write_bytes(content)
    with pytest.raises(UsageError, match=r"is not the wheel of bfcl-eval.*SHA-256"):
        fetch(tampered)
    assert fetched_folder() is None
    assert files(cache) <= {"official/.lock"}


def test_an_unknown_wheel_never_stands_for_the_official_set(cache: Path, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "own.whl")
    with pytest.raises(UsageError, match="--allow-unknown"):
        fetch(wheel)
    folder = fetch(wheel, allow_unknown=True)
    assert files(folder) == UNPACKED
    manifest = read_manifest(folder)
    assert (manifest.version, manifest.verified) == (f"{VERSION}+unverified", False)
    assert (manifest.source, manifest.fetched_at[-6:]) == ("own.whl", "+00:00")
    assert fetched_folder() is None
    dataset = open_dataset(folder)
    assert (dataset.name, dataset.version, dataset.official) == (folder.name, f"{VERSION}+unverified", False)
    assert dataset.sha256 == manifest.data_sha256
    assert dataset.entry("simple_python_0").possible_answer == [{"bell.ring": {"times": [2]}}]
    assert dataset.texts.additional_functions_fc == "More."


def test_folders_in_every_shape(cache: Path, tmp_path: Path) -> None:
    unpacked = write_folder(tmp_path / "unpacked")
    checkout = write_folder(tmp_path / "repo" / "berkeley-function-call-leaderboard").parent
    for source in (unpacked, unpacked / "bfcl_eval", unpacked / "bfcl_eval" / "data", checkout):
        folder = fetch(source, allow_unknown=True, force=True)
        assert files(folder) == UNPACKED
    with pytest.raises(UsageError, match=r"the data files in .* are not those of bfcl-eval"):
        fetch(unpacked, force=True)
    assert len([path for path in (cache / "official").iterdir() if path.is_dir()]) == 1


def test_the_real_checkout_is_verified_by_its_data(cache: Path, official_wheel: Path, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(official_wheel) as archive:
        archive.extractall(tmp_path / "checkout")
    assert read_manifest(fetch(tmp_path / "checkout")).verified
    prompts = tmp_path / "checkout" / "bfcl_eval" / "constants" / "default_prompts.py"
    prompts.write_text(prompts.read_text(encoding="utf-8").replace("You are", "You were"), encoding="utf-8")
    with pytest.raises(UsageError, match="the texts in"):
        fetch(tmp_path / "checkout", force=True)


@pytest.fixture
def pinned(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our small wheel, taken for the known one."""
    wheel = write_wheel(tmp_path / "own.whl")
    manifest = read_manifest(fetch(wheel, allow_unknown=True))
    monkeypatch.setattr(official, "WHEEL_SHA256", manifest.wheel_sha256)
    monkeypatch.setattr(official, "DATA_SHA256", manifest.data_sha256)
    monkeypatch.setattr(official, "TEXTS_SHA256", manifest.texts_sha256)
    return wheel


def test_a_second_call_does_nothing(cache: Path, pinned: Path) -> None:
    folder = fetch(pinned)
    before = (folder / "manifest.json").stat().st_mtime_ns
    assert fetch() == folder == cache / "official" / VERSION  # no network needed
    assert (folder / "manifest.json").stat().st_mtime_ns == before
    for force in (False, True):
        with pytest.raises(UsageError, match="nothing at"):
            fetch("/nowhere", force=force)
    assert fetched_folder() == folder  # the failed attempt left it alone
    assert fetch(pinned, force=True) == folder
    assert (folder / "manifest.json").stat().st_mtime_ns != before


def test_many_at_once_unpack_once(cache: Path, pinned: Path) -> None:
    results: list[Path] = []
    threads = [threading.Thread(target=lambda: results.append(fetch(pinned))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [cache / "official" / VERSION] * 8
    assert files(results[0]) == UNPACKED
    assert not [path for path in (cache / "official").iterdir() if path.name.startswith(".fetch")]


def test_without_pip_and_uv(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "_has_pip", lambda: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="neither pip nor uv"):
        fetch()


def test_uv_is_used_when_pip_is_missing(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = write_folder(tmp_path / "prepared")
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\nfor w in "$@"; do [ "$p" = --target ] && cp -r {prepared} "$w"; p=$w; done\n')
    uv.chmod(0o755)
    monkeypatch.setattr(official, "_has_pip", lambda: False)
    monkeypatch.setenv("PATH", f"{uv.parent}:/usr/bin:/bin")
    assert files(fetch(allow_unknown=True)) == UNPACKED


@pytest.mark.parametrize(
    "name",
    [
        "bfcl_eval/data/../../../escaped.json",
        "/bfcl_eval/data/escaped.json",
        "bfcl_eval/data/..\\..\\escaped.json",
        "bfcl_eval/data/C:escaped.json",
        "bfcl_eval/../escaped.json",
    ],
)
def test_members_cannot_leave_the_folder(cache: Path, tmp_path: Path, name: str) -> None:
    folder = fetch(write_wheel(tmp_path / "slip.whl", {name: "{}"}), allow_unknown=True)
    assert files(folder) == UNPACKED
    assert not list(tmp_path.rglob("*escaped*"))


def test_bombs_are_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "_MEMBER_LIMIT", 10_000)
    wheel = write_wheel(tmp_path / "bomb.whl", {"bfcl_eval/data/BFCL_v4_big.json": "0" * 20_000})
    with pytest.raises(UsageError, match="more than the right file can have"):
        fetch(wheel, allow_unknown=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"not a zip"), "is no archive that can be read: File is not a zip file"),
        (lambda path: write_wheel(path, without="bfcl_eval/utils.py"), r"lacks bfcl_eval/utils\.py"),
        (lambda path: path.mkdir(), "holds no bfcl_eval/data folder"),
        (lambda path: None, "nothing at"),
    ],
)
def test_sources_that_are_not_the_benchmark(cache: Path, tmp_path: Path, make: object, message: str) -> None:
    make(tmp_path / "source.whl")  # type: ignore[operator]
    with pytest.raises(UsageError, match=message):
        fetch(tmp_path / "source.whl", allow_unknown=True)
    assert fetched_folder() is None


def test_a_damaged_cache_tells_what_to_do(cache: Path, pinned: Path) -> None:
    (fetch(pinned) / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="fetch --force"):
        open_dataset("official")


def test_an_unpacked_distribution_is_opened_in_place(tmp_path: Path) -> None:
    dataset = open_dataset(write_folder(tmp_path / "mine"))
    assert (dataset.name, dataset.official) == ("mine", False)
    assert dataset.texts.additional_functions_fc == "More."  # read from the modules beside the data
    assert [ref.id for ref in dataset.index("simple_python")] == ["simple_python_0"]
