"""The garbage collector is let alone by whoever is not running, and comes back as it was."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from pytest_bfcl import collector
from pytest_bfcl.collector import Leftovers, fewer_collections, no_collections


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process without a run that froze nothing; what the suite froze is frozen again."""
    monkeypatch.setattr(collector, "_leftovers", Leftovers())
    gc.unfreeze()
    yield
    gc.freeze()


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.disable()
    try:
        with fewer_collections():
            assert gc.get_threshold() == before
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_process_that_ends_with_the_run_lets_be_what_was_there() -> None:
    before = gc.get_threshold()
    with fewer_collections(to_the_end=True):
        pass
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold() == before


def test_what_a_run_made_is_not_searched_when_it_ends() -> None:
    searched: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        searched.append(info["generation"])

    gc.callbacks.append(count)
    try:
        with fewer_collections():
            made = [[number] for number in range(5_000)]
        made += [[number] for number in range(10)]
        assert not searched
    finally:
        gc.callbacks.remove(count)


class Knot:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


kept: list[list[int]] = []


def left_by_a_run(beside: int = 0) -> weakref.ref[Knot]:
    """A cycle that a run leaves, in a program that has ``beside`` more objects."""
    with fewer_collections():
        knot = weakref.ref(Knot())
    kept.extend([number] for number in range(beside))
    return knot


def test_what_many_runs_leave_in_cycles_does_not_pile_up() -> None:
    """A search before the second run, then whenever there is a quarter more."""
    gc.collect()
    try:
        first = left_by_a_run()
        assert first() is not None
        second = left_by_a_run()
        assert first() is None
        third = left_by_a_run(beside=sys.getallocatedblocks() // 4)
        assert second() is not None
        assert third() is not None
        left_by_a_run()
        assert second() is None
        assert third() is None
    finally:
        kept.clear()


def test_nothing_is_collected_while_modules_load() -> None:
    with pytest.raises(ImportError), no_collections():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


FREEZES = """
import gc
import subprocess
import sys
import pytest

@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    print("frozen", gc.get_freeze_count() > 10_000, gc.isenabled())
"""


@pytest.mark.parametrize("args", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_session_of_its_own_process_is_spared_the_last_searches(
    pytester: pytest.Pytester, args: tuple[str, ...]
) -> None:
    pytester.makeconftest(FREEZES)
    command = (*args, "--model", "oracle:", "--bfcl-data", "bundled", "--bfcl-categories", "simple_java")
    result = pytester.runpytest_subprocess(*command, "-s")
    result.stdout.fnmatch_lines(["*frozen True True*"])


@pytest.mark.slow
def test_a_program_that_calls_pytest_gets_its_collector_back(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        program="""
        import gc, pytest
        command = ["-q", "--model", "oracle:", "--bfcl-data", "bundled", "--bfcl-categories", "simple_java"]
        assert pytest.main(command) == 0
        print("frozen", gc.get_freeze_count(), gc.isenabled())
        """
    )
    result = pytester.runpython("program.py")
    result.stdout.fnmatch_lines(["*frozen 0 True*"])


@pytest.mark.parametrize(("how", "frozen"), [("main()", True), ("main(['models'])", False)])
def test_a_verb_that_is_its_process_leaves_its_modules_alone(how: str, frozen: bool) -> None:
    code = (
        "import gc, sys; sys.argv = ['pytest-bfcl', 'models']; from pytest_bfcl.cli import main; "
        f"{how}; print('frozen', gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"frozen {frozen}"
