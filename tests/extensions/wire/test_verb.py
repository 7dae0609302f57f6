"""``pytest-bfcl doctor wire``: every check explained, the page of a run written again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.wire.checks import all_checks, checks_for
from pytest_bfcl.extensions.wire.outcome import LINES_FILE, PAGE_FILE
from tests.extensions.wire.test_page import records


def test_every_check_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "wire", "--list"]) == 0
    said = capsys.readouterr().out
    for check in all_checks():
        assert f"  {check.name}  (" in said
    assert max(map(len, said.splitlines())) <= 120
    assert main(["doctor", "wire", "--list", "--api", "chat"]) == 0
    assert f"{len(checks_for('chat'))} checks" in (told := capsys.readouterr().out)
    assert "events_sequence" not in told


def test_the_page_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LINES_FILE).write_text("".join(f"{record.line}\n" for record in records("id per chunk")))
    assert main(["doctor", "wire", str(tmp_path)]) == 1
    assert (tmp_path / PAGE_FILE).is_file()
    assert main(["doctor", "wire", str(tmp_path / "nowhere")]) == 2
    assert main(["doctor", "wire"]) == 2
    assert "no wire checks" in capsys.readouterr().err
