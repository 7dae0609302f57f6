"""What other packages offer: names of a closed form only, and a part that cannot be loaded is one sentence."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats import table
from pytest_bfcl.models import registry as models
from pytest_bfcl.reporting.sources import tell_listeners
from pytest_bfcl.simulators import execution as simulators

ODD = ("a b", "x\n::error::y", "\x1b[31mred", "../up", "", "-x", "n" * 65, "é", "a/b", "a:b", "a@b", "a\x00")


def offer(monkeypatch: pytest.MonkeyPatch, *names: str, value: str = "json:dumps") -> None:
    points = [EntryPoint(name, value, "pytest_bfcl.any") for name in names]
    monkeypatch.setattr(entry_points, "_every", lambda path: SimpleNamespace(select=lambda group: points))
    monkeypatch.setattr(entry_points, "_offered", entry_points._offered.__wrapped__)


def test_odd_names_are_offered_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, *ODD, "good", "good")
    assert [point.name for point in entry_points.offered("models").values()] == ["good"]
    assert not {*ODD} & {info.name for info in models.list_providers()}
    assert not {*ODD} & {*simulators.simulator_names()}


def test_what_is_required_is_there_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "good")
    assert entry_points.require("apis", "good", "the good one")([1]) == "[1]"
    with pytest.raises(UsageError, match=r"^the bad one is not in .*: no package offers 'bad' as pytest_bfcl\.apis$"):
        entry_points.require("apis", "bad", "the bad one")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    (tmp_path / "bad_part.py").write_text("raise ValueError('\\x1b[31mred\\n::error::' + 'x' * 9999)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    offer(monkeypatch, "bad_part", value="bad_part:x")
    return r"bad_part of an unnamed package \(bad_part:x\) cannot be loaded: ValueError: \\x1b\[31mred\\n::error::x+…$"


def test_a_part_that_cannot_be_loaded_is_one_sentence(broken: str) -> None:
    from pytest_bfcl.models import create_model
    from pytest_bfcl.settings import Settings

    for asked in (
        lambda: table.find_decoder("bad_part"),
        lambda: simulators.create_simulator("bad_part"),
        lambda: create_model("bad_part:m", Settings()),
    ):
        with pytest.raises(UsageError, match=broken):
            asked()
    (told,) = tell_listeners(Path(), {})  # type: ignore[typeddict-item]
    assert told.isprintable()
