"""Shared fixtures: where the recorded reference data and the official data set are, if they are."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.extensions.vector_memory.embedding import weights_folder
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.official import cache_root, fetch, fetched_folder

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).resolve().parents[1]

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Many tests start Python, and compiling everything anew is more than half of what such a process does.
    sys.dont_write_bytecode = False


# To look for garbage every 700 objects is a tenth of the suite's time.
gc.set_threshold(50_000, 20, 50)

# pytester forgets what a session in this process imported, so that each of them would import these anew.
SHARED = (
    "filelock", "statistics", "xdist.dsession", "xdist.scheduler", "xdist.remote", "aiohttp", "httpx", "jinja2",
    "httpcore",  # httpx keeps its error classes: anew, they would be others
    "numpy",  # refuses to be loaded twice in a process
)  # fmt: skip
for name in SHARED:
    with suppress(ModuleNotFoundError):  # `make bench` loads this file too, and has nothing of ours but the core
        import_module(name)

# Sessions started by tests do without the plugin of hypothesis, whose import is a third of a short session.
os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:hypothesispytest".strip()


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules stay to the end: the collector of garbage need not look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _cache_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What tests leave in the cache is not the user's; what was fetched there is seen."""
    fetched, own = {"official": fetched_folder(), "models": weights_folder()}, tmp_path_factory.mktemp("bfcl-cache")
    for name, folder in fetched.items():
        if folder is not None and folder.parents[0] == cache_root() / name:
            (own / name).symlink_to(folder.parent, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_BFCL_CACHE", str(own))
        yield own


@pytest.fixture(autouse=True)
def _home_of_pytester(request: pytest.FixtureRequest) -> None:
    """Sessions in a folder of pytester's have an empty cache there, in its home, and plugins that are named: to find
    and register all that are installed takes longer than a short session. The fixture ``every_plugin`` has them found.
    """
    if "pytester" in request.fixturenames:
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.delenv("PYTEST_BFCL_CACHE")
        monkeypatch.delenv("CI", raising=False)  # with it pytest writes every message twice
        if "every_plugin" not in request.fixturenames:
            monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            monkeypatch.setenv("PYTEST_PLUGINS", "pytest_bfcl.plugin,xdist.plugin,pytest_asyncio.plugin")


@pytest.fixture
def every_plugin() -> None:
    """Sessions find plugins as they are installed."""


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks() -> Iterator[None]:
    """Runs in this process need not survive a loss of power; those in processes of their own do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


TIERS = {"slow": "make slow", "official": "make fetch test-official"}
"""Marks of tests that run only where the mark expression names them (``-m slow``), and the command that runs them."""
FETCHED = {"official", "official_dir", "official_wheel", "fetched_weights"}
"""Fixtures of what `pytest-bfcl fetch` brings; a test that uses one is of the tier ``official``."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tiers that the mark expression does not name."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", ())  # a parameter of that name is no fixture
        if FETCHED.intersection(getattr(item, "fixturenames", ())).difference(given):
            item.add_marker("official")
    left_out = [tier for tier in TIERS if tier not in config.option.markexpr]
    dropped = [item for item in items if any(map(item.get_closest_marker, left_out))]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        gone = set(dropped)
        items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what did not run, and why: no test is left out silently."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in terminalreporter.stats.get("skipped", ())
    )
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} skipped: {reason}")
    for tier in (tier for tier in TIERS if tier not in config.option.markexpr):
        terminalreporter.line(f"not run: the tests marked {tier} ({TIERS[tier]} runs them)")


@pytest.fixture
def no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip and uv without index, links and what they downloaded before."""
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_CONFIG_FILE", os.devnull), ("UV_OFFLINE", "1")):
        monkeypatch.setenv(name, value)
    for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "no-packages"))
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """Recorded outputs with the reference's verdicts: ``PYTEST_BFCL_GOLDEN``, else beside the repository."""
    folder = Path(os.environ.get("PYTEST_BFCL_GOLDEN") or REPOSITORY.parent / "shared" / "golden")
    if not folder.is_dir():
        pytest.skip(f"no recorded reference data at {folder} (name it with PYTEST_BFCL_GOLDEN)")
    return folder


@pytest.fixture(scope="session")
def official_wheel() -> Path:
    """The bfcl-eval wheel on this machine: ``PYTEST_BFCL_WHEEL``."""
    named = os.environ.get("PYTEST_BFCL_WHEEL")
    if not named or not Path(named).is_file():
        pytest.skip("no bfcl-eval wheel (name it with PYTEST_BFCL_WHEEL)")
    return Path(named)


@pytest.fixture(scope="session")
def official_dir(_cache_of_tests: Path) -> Path:
    """A fetched official set: the cache's, else fetched once a session from ``PYTEST_BFCL_WHEEL`` or (when
    ``PYTEST_BFCL_FETCH=1``) downloaded; otherwise the test is skipped.
    """
    present = fetched_folder()
    if present is not None:
        return present
    wheel = os.environ.get("PYTEST_BFCL_WHEEL")
    if not wheel and os.environ.get("PYTEST_BFCL_FETCH") != "1":
        pytest.skip("no official data: run `pytest-bfcl fetch`, or set PYTEST_BFCL_WHEEL or PYTEST_BFCL_FETCH=1")
    try:
        return fetch(wheel or None)
    except UsageError as error:
        pytest.skip(f"the official data cannot be fetched: {error}")


@pytest.fixture(scope="session")
def fetched_weights() -> Path:
    """The folder of the embedding model's weights, where they were fetched."""
    folder = weights_folder()
    if folder is None:
        pytest.skip("no embedding weights: run `pytest-bfcl fetch --embeddings`")
    return folder


@pytest.fixture(scope="session")
def official(official_dir: Path) -> DataSet:
    """The official data set."""
    return open_dataset("official")
