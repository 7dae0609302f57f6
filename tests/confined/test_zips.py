"""Archives made to hurt: each is one sentence, or its odd members are passed over; nothing is written."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bfcl.confined import zips
from pytest_bfcl.confined.zips import zip_archive
from pytest_bfcl.failures import UsageError

LIMIT = 1_000_000


def unpacked(path: Path, limit: int = LIMIT) -> dict[str, bytes]:
    with zip_archive(path) as archive:
        return {name: b"".join(archive.pieces(name, limit)) for name in archive.sizes}


def made(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_come_as_they_are_in_pieces(tmp_path: Path, method: int) -> None:
    members = {"a/data.json": b"{}", "big.bin": bytes(range(256)) * 1_200, "empty": b""}
    assert unpacked(made(tmp_path / "a.zip", members, method), 10**7) == members


def test_only_plain_regular_members_are_there(tmp_path: Path) -> None:
    odd = ["/etc/passwd", "../up.json", "a/../../up.json", "a\\b.json", "C:x.json", "a//b.json", "\x1b[31m.json",
           ".hidden", "a/.hidden", "x\n::error::y.json", "ünï.json", "n" * 300 + "/"]  # fmt: skip
    path = made(tmp_path / "odd.zip", {**dict.fromkeys(odd, b"no"), "a/good.json": b"yes"})
    link = zipfile.ZipInfo("link.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert unpacked(path) == {"a/good.json": b"yes"}


def encrypted(path: Path) -> None:
    """The flag is in the local and in the central header."""
    raw = bytearray(made(path, {"a.json": b"{}"}).read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)


def of_unknown_method(path: Path) -> None:
    raw = bytearray(made(path, {"a.json": b"{}"}).read_bytes())
    raw[8:10] = raw[raw.index(b"PK\x01\x02") + 10 : raw.index(b"PK\x01\x02") + 12] = struct.pack("<H", 97)
    path.write_bytes(raw)


def damaged(path: Path) -> None:
    raw = bytearray(made(path, {"a.json": b"{}" * 500}).read_bytes())
    raw[45:60] = bytes(15)
    path.write_bytes(raw)


def twice(path: Path) -> None:
    raw = made(path, {"a.json": b"1", "b.json": b"2"}).read_bytes()
    path.write_bytes(raw.replace(b"b.json", b"a.json"))


def bomb(path: Path) -> None:
    made(path, {"a.json": bytes(LIMIT + 1)})


def understated(path: Path) -> None:
    """A bomb that says it is small."""
    raw = bytearray(made(path, {"a.json": bytes(5 * LIMIT)}).read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[22:26] = raw[at + 24 : at + 28] = struct.pack("<I", 10)
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (encrypted, r"a\.json is encrypted"),
        (of_unknown_method, "compression"),
        (damaged, "archive that can be read"),
        (twice, "contains a.json twice"),
        (bomb, "more than the right file can have"),
        (understated, "archive that can be read|more bytes than"),
        (lambda path: path.write_bytes(b"PK\x05\x06" + b"\xff" * 18), "archive that can be read"),
        (lambda path: path.write_text("\x1b[31mno zip"), "not a zip file"),
        (lambda path: path.mkdir(), "no such file"),
        (lambda path: None, "no such file"),
    ],
)
def test_hostile_archives_are_one_sentence(tmp_path: Path, make: Callable[[Path], object], told: str) -> None:
    path = tmp_path / "a.zip"
    make(path)
    with pytest.raises(UsageError, match=told) as caught:
        unpacked(path)
    assert str(caught.value).isprintable()


def test_too_many_members(tmp_path: Path) -> None:
    path = made(tmp_path / "a.zip", dict.fromkeys(map(str, range(zips.MOST_MEMBERS + 1)), b""), zipfile.ZIP_STORED)
    with pytest.raises(UsageError, match="it has 20,001 members"):
        unpacked(path)
