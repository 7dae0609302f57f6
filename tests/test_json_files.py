"""A JSON file that cannot be read is one sentence with the file, at every door that takes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bfcl.dataset.transforms import read_transforms
from pytest_bfcl.extensions.formats.hub import read_template
from pytest_bfcl.extensions.own.log_entries import entries_of_log
from pytest_bfcl.extensions.own.openapi import documents_of_openapi
from pytest_bfcl.extensions.own.sources import functions_in_json
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.official import read_manifest
from pytest_bfcl.fetching.texts import FILE, FormatTexts, Texts
from pytest_bfcl.models import create_model, parse_spec
from pytest_bfcl.run_options.profiles import read_profile
from pytest_bfcl.run_options.reading import model_info_of
from pytest_bfcl.scoring.model_info import read_model_info
from pytest_bfcl.selection.selection import read_ids
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.spread_json import json_file, toml_file

DOORS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "json_file": ("any.json", json_file),
    "tools": ("tools.json", functions_in_json),
    "manifest": ("manifest.json", lambda path: read_manifest(path.parent)),
    "texts": ("texts.json", Texts.load),
    "texts of templates": (FILE, lambda path: FormatTexts.beside(path.parent)),
}
DAMAGE = {
    "cut": (b'{"a": [1, 2', "not JSON"),
    "a broken text": (b'{"a": "b\n"}', "not JSON: Invalid control character at column 9"),
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


TEXT_DOORS: dict[str, Callable[[Path], object]] = {
    "ids": lambda path: read_ids(path, open_data("bundled")),
    "log": lambda path: list(entries_of_log(path)),
    "model info": lambda path: model_info_of(str(path)),
    "model info of a verb": read_model_info,
    "openapi": documents_of_openapi,
    "profile": lambda path: read_profile(str(path)),
    "script": lambda path: create_model(parse_spec(f"scripted:{path}"), Settings()),
    "template": read_template,
    "transform": lambda path: read_transforms([str(path)]),
}


@pytest.mark.parametrize("damage", ["missing", "a folder", "not UTF-8", "nested"])
@pytest.mark.parametrize("door", TEXT_DOORS)
def test_a_text_that_cannot_be_read_is_one_sentence(door: str, damage: str, tmp_path: Path) -> None:
    ending = {"log": ".jsonl", "openapi": ".json", "script": ".jsonl", "template": ".jinja", "transform": ".jsonl"}
    path = tmp_path / f"any{ending.get(door, '.toml')}"
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes(b'"\xff"' if damage == "not UTF-8" else b"a = " + b"[" * 100_000)
    if door == "template" and damage == "nested":
        return  # a text like any other
    with pytest.raises(UsageError) as told:
        TEXT_DOORS[door](path)
    assert "any" in str(told.value)
    assert len(str(told.value).splitlines()) == 1
    assert len(str(told.value)) < 500


def test_a_mark_of_byte_order_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert json_file(tmp_path / "a.json") == {"a": 1}
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert toml_file(tmp_path / "a.toml") == {"a": 1}


def test_a_missing_file_is_named_with_the_advice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.json: No such file or directory; fetch it"):
        json_file(tmp_path / "none.json", "fetch it")
