"""Official folders as they are handed over: archives of every kind, revisions of git histories; hostile ones."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs import unpacked as unpacking
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.runs.unpacked import is_packed, unpacked

RESULT = "result/m@fc/non_live/BFCL_v4_multiple_result.json"
SCORE = "score/m@fc/non_live/BFCL_v4_multiple_score.json"
FILES = {RESULT: b'{"id": "multiple_0", "result": "x"}\n', SCORE: b'{"accuracy": 1.0}\n'}
OTHERS = {"README.md": b"no", "result/m@fc/run.sh": b"no", ".git/config": b"no", "result/x_result.json.py": b"no"}


def tar(path: Path, files: dict[str, bytes], mode: str = "w:gz", *odd: tarfile.TarInfo) -> Path:
    with tarfile.open(path, mode) as packed:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
        for info in odd:
            packed.addfile(info)
    return path


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def found(path: Path) -> dict[str, bytes]:
    with unpacked(path) as folder:
        return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.zip", zipped),
        ("a.tar", lambda path, files: tar(path, files, "w")),
        ("a.tgz", tar),
        ("a.tar.gz", tar),
        ("a.TAR.BZ2", lambda path, files: tar(path, files, "w:bz2")),
        ("a.tar.xz", lambda path, files: tar(path, files, "w:xz")),
        ("a.tar.gz", lambda path, files: tar(path, {f"./{name}": content for name, content in files.items()})),
    ],
)
def test_results_and_scores_come_out_and_nothing_else(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    path = make(tmp_path / name, OTHERS | FILES)
    assert is_packed(path)
    assert found(path) == FILES
    assert os.listdir(tmp_path) == [name]
    assert [line["id"] for line in read_replay_lines(path)] == ["multiple_0"]


def link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("result/m/BFCL_v4_parallel_result.json")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_bytes(b"no tar"), "no archive that can be read"),
        (lambda path: path.write_bytes(tar(path, FILES).read_bytes()[:-30]), "no archive that can be read"),
        (lambda path: tar(path, OTHERS), "holds no result or score files"),
        (lambda path: tar(path, FILES | {"../up_result.json": b"x"}), r"'\.\./up_result\.json' has a name"),
        (lambda path: tar(path, FILES | {"a/\x1b[31m_score.json": b"x"}), "has a name that is not taken"),
        (lambda path: tar(path, FILES, "w:gz", link(tarfile.SYMTYPE)), None),
        (lambda path: tar(path, FILES, "w:gz", link(tarfile.LNKTYPE)), None),
        (lambda path: tar(path, FILES, "w:gz", link(tarfile.FIFOTYPE)), None),
        (lambda path: tar(path, FILES | {"./" + RESULT: b"again"}), "twice"),
    ],
)
def test_a_hostile_tar_is_one_sentence_or_passed_over(
    tmp_path: Path, make: Callable[[Path], object], told: str | None
) -> None:
    path = tmp_path / "a.tar.gz"
    make(path)
    if told is None:
        assert found(path) == FILES
        return
    with pytest.raises(UsageError, match=told) as caught:
        found(path)
    assert str(caught.value).isprintable()


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "a.tar.gz", FILES)
    monkeypatch.setattr(unpacking, "MOST_BYTES", 25)
    with pytest.raises(UsageError, match="more than the right file can have"):
        found(path)
    size = sum(map(len, FILES.values()))
    monkeypatch.setattr(unpacking, "MOST_BYTES", size - 1)
    with pytest.raises(UsageError, match="more than the right file can have"):
        found(path)
    monkeypatch.setattr(unpacking, "MOST_BYTES", size)
    assert found(path) == FILES
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1_000)
    monkeypatch.setattr(unpacking, "MOST_FILES", 1)
    with pytest.raises(UsageError, match="more than 1 result"):
        found(path)
    monkeypatch.setattr(unpacking, "MOST_FILES", 2)
    assert found(path) == FILES


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    for name, content in (FILES | OTHERS).items():
        if not name.startswith(".git"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    (folder / "result" / "link_result.json").symlink_to(folder / RESULT)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "results")
    git(folder, "rm", "-rq", "result", "score")
    git(folder, "commit", "-qm", "no results")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


def test_a_revision_and_the_newest_commit_with_results(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(repository) == FILES
    assert found(Path(f"{repository}@HEAD~1")) == FILES
    git(repository, "clone", "-q", "--bare", str(repository), "bare.git")
    assert found(repository / "bare.git") == FILES
    (repository / "results.jsonl").touch()
    assert not is_packed(repository), "its working tree has results"
    (repository / "results.jsonl").unlink()
    monkeypatch.chdir(repository)
    assert not is_packed(Path("gone"))
    size = sum(map(len, FILES.values()))
    monkeypatch.setattr(unpacking, "MOST_FILES", len(FILES))
    monkeypatch.setattr(unpacking, "MOST_BYTES", size)
    assert found(repository) == FILES
    monkeypatch.setattr(unpacking, "MOST_BYTES", size - 1)
    with pytest.raises(UsageError, match="GB of results at"):
        found(repository)


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("HEAD", "holds no result or score files"),
        ("nowhere", r"git cannot read \S+: fatal: Needed a single revision"),
        ("--output=x", "is no revision"),
        ("a b", "is no revision"),
    ],
)
def test_a_wrong_revision_is_one_sentence(repository: Path, revision: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        found(Path(f"{repository}@{revision}"))
    git(repository, "init", "-q", "other")
    with pytest.raises(UsageError, match="holds no result or score files"):
        found(repository / "other")


def test_nothing_of_a_repository_is_run(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was_run"
    hook = tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.x.textconv", "gpg.program", "core.editor"):
        git(repository, "config", key, str(hook))
    git(repository, "config", "log.showSignature", "true")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UsageError, match="there is no git here"):
        patch.setattr(shutil, "which", lambda name: None)
        found(repository)
    false = shutil.which("false")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UsageError, match=r"git cannot read \S+: no message"):
        patch.setattr(shutil, "which", lambda name: false)
        found(repository)
    assert found(Path(f"{repository}@HEAD~1")) == found(repository) == FILES
    assert not mark.exists()
