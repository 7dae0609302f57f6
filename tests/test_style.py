"""The linter of our prose: which texts it reads in which files, and how long a sentence may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.style import READERS, Prose, Style, files, main

STYLE = Style.read()


def test_plain_sentences_pass_and_long_ones_do_not() -> None:
    plain = "Run about 100 protocol checks against a server. You can set every option in the ini file."
    assert not list(STYLE.findings(Prose(Path("x.md"), 1, plain)))
    (found,) = STYLE.findings(Prose(Path("x.md"), 3, "word " * 31))
    assert str(found) == "x.md:3: a sentence of 31 words (at most 30)"
    assert not list(STYLE.findings(Prose(Path("x.md"), 1, "word " * 30)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "# A title\n\nOne paragraph\nthat is told.\n\n```sh\nit is told\n```\n\n| a | is told |\n"),
        (
            "module.py",
            '"""A docstring that is told."""\nraise UsageError(f"{x} is told")\nsay("is told")\nother("is told")\n',
        ),
        ("page.html.jinja", "<p>It is told</p>\n{# is told #}<style>is told</style>\nIt is {{ told }}\nis told\n"),
        ("reasons.toml", 'a = "it is told to you"\nwhere = "it is told there"\nb = {rule = "it is told twice"}\n'),
    ],
)
def test_prose_is_taken_out_of_every_kind_of_file(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two or three findings a file: code, markup, other calls and the titles of others are left out."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "other.toml").write_text('a = "it is told to you"\n', encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert len(found) == (3 if name == "module.py" else 2)
    assert all(line.startswith(f"{tmp_path / name}:") for line in found)
    assert {path.suffix for path in files([tmp_path])} <= READERS.keys()
