"""What the documentation shows is run, what it names exists.

``python -m tests.test_docs`` writes the README's example anew.
"""

from __future__ import annotations

import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bfcl.checkers.corrected import CORRECTED_RULES
from pytest_bfcl.cli import available
from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.scoring.aggregate import FORMULAS
from pytest_bfcl.scoring.model_info import find_info, read_model_info
from pytest_bfcl.scoring.statistics import Z95, PairTally
from pytest_bfcl.simulators import execution

ROOT = Path(__file__).resolve().parents[1]
TOP = sorted((ROOT / "docs").glob("*.md"))
SECTIONS = [
    page for name in ("tutorials", "how-to", "explanation") for page in sorted((ROOT / "docs" / name).glob("*.md"))
]
PAGES = [ROOT / "README.md", *TOP, *SECTIONS]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")), 1)
]


QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore")
MODEL = ("--model", "lexical:")


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *QUIET, *arguments]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that begins with ``# conftest.py`` serves a run, one with tests is tested, any other is a script."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(execution, "_registered", dict(execution._registered))
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    if block.startswith("# conftest.py"):
        pytester.makeconftest(block)
        named = {"parrot": "parrot:grey@prompt", "bfcl_model": "lexical:@fc"}
        model = next((spec for word, spec in named.items() if word in block), "openai:mine")
        chosen = f"--model {model} --bfcl-data bundled --bfcl-out run".split()
        chosen += ["--bfcl-categories", "simple_python,irrelevance", "--bfcl-report", "none"]
        chosen += ["-k", "simple_python_0 or irrelevance_1"]
        assert_answered(pytester, pytester.runpytest_inprocess(*QUIET, *chosen))
    elif "def test_" in block:
        (pytester.path / "test_block.py").write_text(block)
        assert pytester.runpytest_inprocess(*QUIET, "test_block.py", *MODEL * ("ask(" in block)).ret == 0
    else:
        (pytester.path / "block.py").write_text(block)
        with open(os.devnull) as nothing:  # what a server of tools is told
            monkeypatch.setattr(sys, "stdin", nothing)
            runpy.run_path(str(pytester.path / "block.py"), run_name="__main__")


def assert_answered(pytester: pytest.Pytester, done: pytest.RunResult) -> None:
    """No entry of the run ended in an error, and some passed."""
    lines = [json.loads(line) for line in (pytester.path / "run" / "results.jsonl").read_text().splitlines()]
    assert lines
    assert not [line for line in lines if line["outcome"] == "error"], done.outlines
    assert any(line["outcome"] == "passed" for line in lines), done.outlines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_and_verbs_on_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    options = {"--bfcl-help", *(f"--bfcl-{option.name}" for option in OPTIONS)}
    assert set(re.findall(r"--bfcl-[a-z-]+[a-z]", text)) - options == set()
    verbs = set(re.findall(r"(?:^    |`|&& )pytest-bfcl ([a-z]+)", text, re.MULTILINE))
    assert verbs - set(available()) == set()


def test_the_model_information_file_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"^```toml\n(\[models.*?)^```", (ROOT / "docs/models.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "info.toml").write_text(block)
    infos = read_model_info(tmp_path / "info.toml")
    assert find_info(infos, "openai:my-model@fc") == replace(infos["openai:my-model"], name="My Model 8B (FC)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


def test_every_option_has_a_page_that_says_when_to_use_it() -> None:
    missing = [
        option.name
        for option in OPTIONS
        if not option.use or not re.search(rf"--(bfcl-)?{option.name}\b", (ROOT / f"docs/{option.page}.md").read_text())
    ]
    assert missing == []


def test_the_site_leads_to_every_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    names = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]]
    assert [name for name in names if not re.search(rf"[ :]{re.escape(name)}$", site, re.MULTILINE)] == []


def test_the_table_of_detectable_losses_is_what_gates_reckon_with() -> None:
    page = (ROOT / "docs/gates.md").read_text(encoding="utf-8").split("## How many entries for which loss")[1]
    rows = re.findall(r"^\| ([\d,]+)[^|]*\| ± ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 8
    for entries, *told in rows:
        n = int(entries.replace(",", ""))
        spreads = [PairTally() for _ in range(3)]
        for tally, share in zip(spreads, (0.05, 0.1, 0.0), strict=True):
            for number in range(n):
                changed = number < round(n * share)
                tally.add(str(number), changed and number % 2 == 0, changed and number % 2 == 1, str(number))
        seen = [100 * Z95 * math.sqrt(0.7 * 0.3 / n), *(100 * Z95 * math.sqrt(each.independent()) for each in spreads)]
        assert [float(each) for each in told[:3]] == pytest.approx(seen[:3], abs=0.07)
        assert seen[3] <= float(told[3]) + 0.01 <= seen[3] + 0.12


def test_every_gate_of_the_table_is_one() -> None:
    (row,) = [line for line in (ROOT / "docs" / "gates.md").read_text().splitlines() if "GROUP is" in line]
    named = re.findall(r"`([a-z_]+3?)`", row.split("GROUP is", 1)[1].split(")", 1)[0])
    assert len(named) > 10
    assert set(named) <= {"overall", "overall_v3", *FORMULAS, *GROUPS, *CATEGORIES}


def test_every_corrected_rule_is_explained() -> None:
    rows = re.findall(r"^\| (C\d+) ", (ROOT / "docs" / "fidelity.md").read_text(), re.MULTILINE)
    assert rows == [*CORRECTED_RULES, "C19", "C20"]


def test_every_formula_is_written_down() -> None:
    text = (ROOT / "docs" / "statistics.md").read_text()
    assert all(f"`{name}`" in text for name in (*FORMULAS, "overall", "overall_v3") if name != "relevance")


BEGIN, END = "<!-- example: begin -->", "<!-- example: end -->"
EXAMPLE = 'pytest --model lexical: --bfcl-data bundled -m "single_turn or multi_turn"'
SHOWN = "simple_python_1"
"""The failure the example shows."""


def example(folder: Path) -> str:
    """The command's output: one failure, and the last lines of the summary."""
    quiet = ("--bfcl-out", "reports/example", "--bfcl-report", "none", "-r", "N")
    command = pytest_command(*shlex.split(EXAMPLE)[1:], *quiet)
    environment = os.environ | {"COLUMNS": "90"}
    output = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout
    lines = output.splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip("_ ") == SHOWN)
    after = next(number for number in range(first + 1, len(lines)) if lines[number].startswith("___"))
    summary = next(number for number, line in enumerate(lines) if set(line) == {"-"})
    run = next(number for number, line in enumerate(lines) if line.startswith("run: "))
    place = re.sub(r"^run: .*/reports", "run: reports", lines[run])
    shown = [f"$ {EXAMPLE}", "…", *lines[first:after], "…", *lines[summary + 1 : run], place]
    return "\n".join(f"    {line}".rstrip() for line in shown)


@pytest.mark.slow
def test_the_example_of_the_readme_looks_like_the_output(tmp_path: Path) -> None:
    """Numbers and hashes may differ, everything else is what the command prints."""
    text = PAGES[0].read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip("\n")

    def shape(example: str) -> list[str]:
        lines = (re.sub(r"\([0-9a-f]{8}\)|\d+(?:\.\d+)?", "#", line) for line in example.splitlines())
        return [re.sub(r"[ =_-]{2,}", "  ", line) for line in lines if "most often:" not in line]

    assert shape(shown) == shape(example(tmp_path))


if __name__ == "__main__":
    readme = PAGES[0]
    text = readme.read_text(encoding="utf-8")
    head, tail = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    with tempfile.TemporaryDirectory() as name:
        readme.write_text(f"{head}\n\n{example(Path(name))}\n\n{tail}", encoding="utf-8")
