"""A JSON file that cannot be read is one sentence with the file, at every door that takes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bfcl.extensions.own.sources import functions_in_json
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.official import read_manifest
from pytest_bfcl.fetching.texts import FILE, FormatTexts, Texts
from pytest_bfcl.spread_json import json_file

DOORS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "json_file": ("any.json", json_file),
    "tools": ("tools.json", functions_in_json),
    "manifest": ("manifest.json", lambda path: read_manifest(path.parent)),
    "texts": ("texts.json", Texts.load),
    "texts of templates": (FILE, lambda path: FormatTexts.beside(path.parent)),
}
DAMAGE = {
    "cut": (b'{"a": [1, 2', "not JSON"),
    "nested too deeply": (b'{"a":' * 100_000, "nested too deeply"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "too many digits": (b'{"a": ' + b"1" * 5_000 + b"}", "too many digits"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("door", DOORS)
def test_a_damaged_file_is_one_sentence(door: str, damage: str, tmp_path: Path) -> None:
    name, read = DOORS[door]
    content, why = DAMAGE[damage]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=why) as told:
        read(tmp_path / name)
    assert str(tmp_path) in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_a_mark_of_byte_order_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert json_file(tmp_path / "a.json") == {"a": 1}


def test_a_missing_file_is_named_with_the_advice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.json: No such file or directory; fetch it"):
        json_file(tmp_path / "none.json", "fetch it")
