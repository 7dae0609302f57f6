"""pytest-html: our columns, the link to an entry's page, and the report the session writes itself."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.distributed import WORKERS
from tests.plugin.conftest import FULL, Project


def rows(report: Path) -> dict[str, list[str]]:
    """Node id → the cells of its row, from the JSON pytest-html embeds."""
    found = re.search(r'data-jsonblob="([^"]*)"', report.read_text(encoding="utf-8"))
    assert found
    tests = json.loads(html.unescape(found.group(1)))["tests"]
    return {name: cells[-1]["resultsTableRow"] for name, cells in tests.items()}


@pytest.mark.parametrize("distribution", WORKERS)
def test_columns_and_links(every_plugin: None, project: Project, distribution: tuple[str, ...]) -> None:
    project.fail("simple_python_1")
    project.run("--html=out/report.html", "--self-contained-html", FULL, *distribution, subprocess=True)
    report = project.path / "out" / "report.html"
    found = rows(report)
    (name,) = [name for name in found if name.endswith("simple_python_1")]
    cells = " ".join(found[name])
    assert ">simple_python<" in cells
    assert ">WRONG_ANSWER<" in cells
    assert ">value_error:string<" in cells
    (link,) = re.findall(r'href="([^"]*)">page', cells)
    page = report.parent / link
    assert page.is_file()
    assert "The argument “city” is &#34;Rome&#34;; accepted is &#34;Oslo&#34;." in page.read_text(encoding="utf-8")
    for cells in map(" ".join, found.values()):
        (link,) = re.findall(r'href="([^"]*)">page', cells)
        assert (report.parent / link.partition("#")[0]).is_file()


@pytest.mark.slow
def test_other_tests_have_empty_cells(every_plugin: None, project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_own(): pass")
    project.run("test_own.py", "bench/irrelevance.jsonl", "--html=report.html", subprocess=True)
    own = next(cells for name, cells in rows(project.path / "report.html").items() if "test_own" in name)
    assert '<td class="col-category"></td>' in own
