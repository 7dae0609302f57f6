"""Conftests as public projects write them: beside the installed plugin their suite is green, and so are our entries."""

from __future__ import annotations

import textwrap

import pytest

from tests.plugin.conftest import Project

THEIRS = """
import pytest

@pytest.mark.theirs
def test_theirs(request): assert not request.config.getoption("bfcl_nothing", None)
"""

CONFTESTS = {
    "skips what its option does not select": """
        def pytest_addoption(parser):
            parser.addoption("--run-slow", action="store_true")
        def pytest_collection_modifyitems(config, items):
            for item in items:
                if item.get_closest_marker("slow") and not config.getoption("--run-slow"):
                    item.add_marker(pytest.mark.skip(reason="slow"))
    """,
    "sorts items by file and line": """
        def pytest_collection_modifyitems(items):
            items.sort(key=lambda item: (str(item.path), item.location[1] or 0, item.name))
    """,
    "looks at functions, modules and fixtures of items": """
        def pytest_itemcollected(item):
            item.user_properties.append(("module", getattr(getattr(item, "module", None), "__name__", "")))
            item.user_properties.append(("fixtures", len(getattr(item, "fixturenames", ()))))
            item.user_properties.append(("function", getattr(item, "function", None) is not None))
    """,
    "has fixtures of our names": """
        @pytest.fixture
        def client(): return object()
        @pytest.fixture
        def conversation(): return None
        @pytest.fixture
        def entry(): return None
    """,
    "has autouse fixtures": """
        @pytest.fixture(autouse=True)
        def seeded(monkeypatch): monkeypatch.setenv("SEED", "1")
        @pytest.fixture(autouse=True, scope="session")
        def whole(tmp_path_factory): yield tmp_path_factory.mktemp("whole")
    """,
    "registers marks of our names": """
        def pytest_configure(config):
            for name in ("live", "multi_turn", "slow", "theirs"):
                config.addinivalue_line("markers", f"{name}: theirs")
    """,
    "parametrises by its option": """
        def pytest_addoption(parser): parser.addoption("--sizes", default="1,2")
        def pytest_generate_tests(metafunc):
            if "size" in metafunc.fixturenames:
                metafunc.parametrize("size", metafunc.config.getoption("sizes").split(","))
    """,
    "keeps reports of phases": """
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            setattr(item, f"report_{report.when}", report)
            return report
        @pytest.fixture(autouse=True)
        def looks(request):
            yield
            assert request.node.report_setup.passed
    """,
    "wraps every test": """
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(item, nextitem): return (yield)
        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_call(item): return (yield)
    """,
    "collects files of its own": """
        class Lines(pytest.File):
            def collect(self): return []
        def pytest_collect_file(file_path, parent):
            return Lines.from_parent(parent, path=file_path) if file_path.suffix in (".yaml", ".txt") else None
    """,
    "ignores folders": """
        collect_ignore_glob = ["build/*", "*.yaml"]
        def pytest_ignore_collect(collection_path): return True if collection_path.name == "vendored" else None
    """,
    "writes a summary and a header": """
        def pytest_report_header(config): return ["device: cpu", f"root: {config.rootpath.name}"]
        def pytest_terminal_summary(terminalreporter, exitstatus, config):
            terminalreporter.write_line(f"their {len(terminalreporter.stats.get('passed', []))}")
    """,
    "counts in the session": """
        def pytest_sessionstart(session): session.config.theirs = 0
        def pytest_runtest_logreport(report): assert report.nodeid
        def pytest_sessionfinish(session, exitstatus): assert session.config.theirs == 0
    """,
    "names parameters": """
        def pytest_make_parametrize_id(config, val, argname): return f"{argname}={val}"
        def pytest_assertrepr_compare(op, left, right): return None
    """,
    "turns warnings into errors": """
        def pytest_configure(config):
            config.addinivalue_line("filterwarnings", "error")
    """,
    "knows only its marks": """
        def pytest_configure(config):
            config.addinivalue_line("markers", "theirs: of this project")
            config.option.strict_markers = True
    """,
    "picks by an environment variable": """
        import os
        def pytest_collection_modifyitems(config, items):
            wanted = os.environ.get("ONLY_THESE")
            gone = [item for item in items if wanted and wanted not in item.nodeid]
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if item not in gone]
    """,
    "looks into markers' arguments, names and sources of items": """
        import inspect
        def pytest_collection_modifyitems(items):
            for item in items:
                limit = next((mark.args[0] for mark in item.iter_markers("timeout") if mark.args), 30)
                inspect.getsource(item.function)
                item.user_properties.append((f"{item.cls}.{item.originalname}.{item.name}", limit))
    """,
    "groups by module and reorders": """
        def pytest_collection_modifyitems(session, config, items):
            groups = {}
            for item in items:
                groups.setdefault(item.module.__file__, []).append(item)
            items[:] = [item for name in sorted(groups, reverse=True) for item in groups[name]]
    """,
    "makes a fixture for what an item closes over": """
        @pytest.fixture(autouse=True)
        def named(request, monkeypatch, tmp_path):
            monkeypatch.setenv("CURRENT_TEST", request.node.name)
            assert request.function and request.module and request.path and request.keywords
            request.addfinalizer(lambda: None)
            yield
            assert not request.node.get_closest_marker("never")
    """,
    "counts outcomes through a wrapped report": """
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            report = (yield).get_result()
            setattr(item, f"rep_{report.when}", report)
            report.description = str(item.function.__doc__)
            report.extras = [*getattr(report, "extras", []), item.nodeid]
    """,
    "numbers seeds in the items' stash": """
        SEED = pytest.StashKey()
        def pytest_runtest_setup(item):
            import random
            item.stash[SEED] = random.getrandbits(8)
            random.seed(item.stash[SEED])
        def pytest_runtest_teardown(item, nextitem): assert item.stash[SEED] >= 0
    """,
    "has an event loop and an anyio backend": """
        import asyncio
        @pytest.fixture(scope="session")
        def event_loop():
            loop = asyncio.new_event_loop()
            yield loop
            loop.close()
        @pytest.fixture(scope="session")
        def anyio_backend(): return "asyncio"
    """,
    "brings a plugin class of its own": """
        class Slowest:
            def __init__(self): self.durations = {}
            @pytest.hookimpl(trylast=True)
            def pytest_runtest_logreport(self, report): self.durations[report.nodeid, report.when] = report.duration
            def pytest_sessionfinish(self): assert all(each >= 0 for each in self.durations.values())
        def pytest_configure(config): config.pluginmanager.register(Slowest(), "slowest")
    """,
    "forbids the network and threads left behind": """
        import socket, threading
        @pytest.fixture(autouse=True, scope="session")
        def offline():
            real = socket.create_connection
            socket.create_connection = None
            yield
            socket.create_connection = real
        @pytest.fixture(autouse=True)
        def no_threads():
            before = threading.active_count()
            yield
            assert threading.active_count() <= before + 4
    """,
}


@pytest.mark.parametrize("conftest", CONFTESTS.values(), ids=CONFTESTS)
def test_a_hosts_suite_and_our_entries_are_green_together(project: Project, conftest: str) -> None:
    (project.path / "conftest.py").write_text("import pytest\n" + textwrap.dedent(conftest))
    (project.path / "test_theirs.py").write_text(THEIRS)
    alone = project.run("test_theirs.py", model=None, data=None, out=None)
    alone.assert_outcomes(passed=1)
    assert alone.ret == 0
    together = project.run("test_theirs.py", "bench/multiple.jsonl", data=None)
    together.assert_outcomes(passed=3)
    assert together.ret == 0
