"""The linter of our prose: every rule finds the sentence that was planted for it, and leaves plain ones alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.style import READERS, Prose, Style, files, main

STYLE = Style.read()
PLANTED = """\
the key is told | it comes to nothing | scores stand beside names | a failed one is asked again | it was asked anew
a stopped run is gone on with | a seventeenth of the entries | relatives are one witness | it puts otherwise
otherwise put | put otherwise | only news is red | options have twins | what your server breaks | about its manners
a run is held against another | hold runs against it | where Ray is not to be had | a key is to be had
a file is mended | trouble that is not the model's | trouble of its own | there and then | whoever sends it
nobody answers | of its own. | the file says so | it gives way | a reply on its way | a call is due | the run parted
entered once | it leads to nowhere | a stranger | other people's | it speaks for itself | beside it | tried anew
as it stands | it stands in a file | what came of it | it came about | nothing is said | it cannot be asked
a model is asked twice | put down to chance | hold of every run | the model hears of it | told of errors
it tells the score | while the run goes on | a run is going on | it cannot be told | files of others
so many entries | whatever it says | wherever it is | handed on | carried out | an option of ours
somebody sends it | a text for people | what was looked at | the file is not there. | knows nothing of it
its trouble | it goes on | takes out thoughts | takes part in it | it lies in a folder | nothing but calls
once more | all the same | in vain | reckoned | dealt to parts | where there is none | some dozens | what is no text
makes of it | lets nothing pass | a room of its | first of all | at hand"""


@pytest.mark.parametrize("sentence", [text.strip() for text in PLANTED.replace("\n", "|").split("|")])
def test_a_planted_sentence_is_found(sentence: str) -> None:
    assert list(STYLE.findings(Prose(Path("x.md"), 1, sentence)))


def test_every_rule_has_a_planted_sentence() -> None:
    assert [better for pattern, better in STYLE.phrases if not pattern.search(PLANTED)] == []


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
