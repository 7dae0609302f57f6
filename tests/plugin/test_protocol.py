"""Entries run by a protocol of their own or pytest's way: the same lines, reports and output, whatever the command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_bfcl.plugin import protocol
from pytest_bfcl.plugin.nodes import EntryItem

from .conftest import Project

HOOK = "def pytest_runtest_setup(item): pass\n"
PROVIDER = """
import logging
def pytest_bfcl_register_models(register):
    def loud(request):
        print("asked for", request.entry.id)
        logging.getLogger("model").warning("asked")
        if request.entry.id.endswith("3"): raise RuntimeError("broken")
        return {"get_weather": {"city": "Oslo" if request.entry.id.endswith("1") else "Rome"}}
    register("loud", lambda spec, settings, mode: loud)
"""


@pytest.fixture
def own_way(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The ids of the entries that are run by their own protocol."""
    ids: list[str] = []
    run = protocol.ItemProtocol._run

    def noted(self: protocol.ItemProtocol, item: EntryItem, *more: Any) -> None:
        ids.append(item.ref.id)
        run(self, item, *more)

    monkeypatch.setattr(protocol.ItemProtocol, "_run", noted)
    return ids


def shown(result: pytest.RunResult) -> list[str]:
    """What is printed, times and folders aside."""
    lines = [re.sub(r"\d+\.\d+ ?m?s\b|\d+(\.\d+)?/s|run[AB]\b", "#", line).rstrip("= ") for line in result.outlines]
    return sorted(line for line in lines if "s setup" not in line and "latency" not in line)


def test_output_and_logs_of_a_model_stand_in_the_report_of_its_entry(project: Project, own_way: list[str]) -> None:
    told = []
    for conftest in (PROVIDER, PROVIDER + HOOK):
        (project.path / "conftest.py").write_text(conftest)
        how = ("--bfcl-concurrency=1", "--bfcl-report=none")
        result = project.run("-m", "simple_python", *how, model="loud:x", out=None)
        assert (len(own_way) > 0) == (conftest == PROVIDER)
        own_way.clear()
        text = result.stdout.str()
        result.assert_outcomes(passed=1, failed=2, errors=1, deselected=7)
        told.append([text.count(each) for each in ("asked for", "WARNING  model:", "Captured stdout", "Captured log")])
    assert told[0] == told[1]
    assert told[0][0] > 2


STAND_ASIDE = {
    "a hook": (HOOK, ()),
    "a wrapper": (
        "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_protocol(item): return (yield)\n",
        (),
    ),
    "a fixture of every test": ("@pytest.fixture(autouse=True)\ndef watched(): yield\n", ()),
    "a transcript": ("@pytest.fixture\ndef bfcl_transcript(bfcl_transcript): return bfcl_transcript\n", ()),
    "a model": ("@pytest.fixture(scope='session')\ndef model(bfcl_model): return bfcl_model\n", ()),
    "marks": (
        "def pytest_collection_modifyitems(items):\n    for item in items: item.add_marker(pytest.mark.xfail)\n",
        (),
    ),
    "fixtures shown": ("", ("--setup-show",)),
    "a debugger": ("", ("--pdb",)),
}


@pytest.mark.parametrize(("conftest", "more"), STAND_ASIDE.values(), ids=STAND_ASIDE)
def test_where_others_take_part_it_is_pytests(
    project: Project, own_way: list[str], conftest: str, more: tuple[str, ...]
) -> None:
    (project.path / "conftest.py").write_text("import pytest\n" + conftest)
    result = project.run("-m", "multiple", "--bfcl-report=none", *more)
    assert result.ret == 0
    assert len(project.records()) == 2
    assert own_way == []
