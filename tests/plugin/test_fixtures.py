"""Users' own models: sync, async, of every scope, with and without pytest-asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pytest_bfcl.plugin.conversations import Loop

from .conftest import Project

ANSWER = """
    def answer(messages, tools):
        return [{"name": "get_weather", "arguments": '{"city": "Oslo"}'}]
"""


@pytest.mark.parametrize("scope", ["session", "module", "function"])
def test_a_sync_model_of_any_scope(project: Project, scope: str) -> None:
    project.pytester.makeconftest(
        f"""
    import pytest
    {ANSWER}
    @pytest.fixture(scope="{scope}")
    def model():
        return answer
    """
    )
    result = project.run("-m", "simple_python or multiple", model="fixture:mine")
    result.assert_outcomes(passed=6)
    slow = f"the model fixture has {scope} scope" in result.stdout.str()
    assert slow == (scope != "session")
    assert {record["model"] for record in project.records()} == {"fixture:mine@fc"}


ASYNC = """
    import asyncio, pytest
    {imports}
    class Bound:
        def __init__(self):
            self.loop = asyncio.get_running_loop()
            self.open = True
        async def generate(self, request):
            assert self.open and asyncio.get_running_loop() is self.loop
            await asyncio.sleep(0.001)
            return [{{"name": "get_weather", "arguments": '{{"city": "Oslo"}}'}}]

    @{decorator}(scope="{scope}")
    async def model():
        bound = Bound()
        yield bound
        assert asyncio.get_running_loop() is bound.loop
        bound.open = False
        print("closed", flush=True)
"""


@pytest.mark.parametrize(
    ("scope", "decorator", "options", "loop_scope"),
    [
        ("session", "pytest_asyncio.fixture", (), "session"),
        ("function", "pytest_asyncio.fixture", (), "function"),
        ("function", "pytest.fixture", ("--asyncio-mode=auto",), "session"),
        ("session", "pytest.fixture", ("--asyncio-mode=strict",), "function"),
        ("session", "pytest.fixture", ("-p", "no:asyncio"), "function"),
    ],
)
def test_an_async_model_stays_in_its_loop(
    project: Project, scope: str, decorator: str, options: tuple[str, ...], loop_scope: str
) -> None:
    imports = "import pytest_asyncio" if "asyncio" in decorator else ""
    project.pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = {loop_scope}\n")
    project.pytester.makeconftest(ASYNC.format(imports=imports, decorator=decorator, scope=scope))
    result = project.run("-m", "multiple", "-s", *options, model="fixture:mine")
    result.assert_outcomes(passed=2)
    assert result.stdout.str().count("closed") == (1 if scope == "session" else 2)


@pytest.mark.parametrize("options", [(), ("-p", "no:asyncio"), ("-n1",)])
def test_a_broken_model_fixture_stops_after_the_first(project: Project, options: tuple[str, ...]) -> None:
    project.pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def model():
            raise RuntimeError("no weights here")
        """
    )
    result = project.run("-m", "simple_python", *options, model="fixture:mine")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*RuntimeError: no weights here*", "stopped: the model fixture failed*"])
    (record,) = project.records()
    assert (record["tag"], record["reason"]) == ("ADAPTER_ERROR", "adapter:fixture")


def test_a_fixture_may_wrap_the_one_it_overrides(project: Project) -> None:
    project.pytester.makeconftest(
        """
        import pytest
        class Counting:
            def __init__(self, inner):
                self.inner, self.count = inner, 0
            spec = property(lambda self: self.inner.spec)
            mode = property(lambda self: self.inner.mode)
            underscore_names = property(lambda self: self.inner.underscore_names)
            async def generate(self, request):
                self.count += 1
                return await self.inner.generate(request)
            async def aclose(self): pass
        @pytest.fixture(scope="session")
        def model(model):
            counting = Counting(model)
            yield counting
            print("asked", counting.count)
        """
    )
    result = project.run("-m", "simple_python", "-s")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*asked 4"])
    assert {record["model"] for record in project.records()} == {"scripted:script.json@fc"}


def test_entries_have_their_transcript_as_a_fixture(project: Project) -> None:
    project.pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(autouse=True)
        def seen(bfcl_entry, bfcl_transcript, transcript):
            assert bfcl_transcript is transcript and transcript.entry_id == bfcl_entry.id
        """
    )
    project.run("-m", "multiple").assert_outcomes(passed=2)


def test_another_plugins_fixtures_keep_their_short_names(project: Project) -> None:
    project.pytester.makepyfile(
        theirs="""
        import pytest
        @pytest.fixture
        def transcript():
            return "theirs"
        @pytest.fixture
        def model():
            return "a database table"
        """,
        test_theirs="def test_theirs(transcript, model): assert (transcript, model) == ('theirs', 'a database table')",
    )
    project.pytester.syspathinsert()
    result = project.run("-p", "theirs", "test_theirs.py", "bench/multiple.jsonl")
    result.assert_outcomes(passed=3)


NETWORK = """
    import pytest
    class Network:
        layers = 3
    @pytest.fixture(scope="session")
    def model():
        return Network()
"""
KEEP = """
    @pytest.fixture(scope="session")
    def bfcl_model(bfcl_model): return bfcl_model
"""


@pytest.mark.parametrize("options", [(), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_an_unrelated_model_fixture_is_named_with_the_way_out(project: Project, options: tuple[str, ...]) -> None:
    project.pytester.makeconftest(NETWORK)
    result = project.run("-m", "multiple", *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = result.stdout.str()
    assert "the fixture model of conftest.py:" in text
    assert "Network" in text
    assert "if it is not the model under test, keep scripted:script.json: add to that conftest.py" in text
    assert "Traceback" not in text
    project.pytester.makeconftest(NETWORK + KEEP)
    project.pytester.makepyfile(test_net="def test_net(model): assert model.layers == 3")
    project.run("-m", "multiple", *options, out="kept").assert_outcomes(passed=2)
    assert {record["model"] for record in project.records("kept")} == {"scripted:script.json@fc"}
    project.run("test_net.py", *options, out="other").assert_outcomes(passed=1)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def test_ctrl_c_in_a_wait_does_not_stop_what_runs_next(loop: asyncio.AbstractEventLoop) -> None:
    driver, awaited = Loop(loop), loop.create_future()

    def interrupted() -> None:
        awaited.set_result(None)  # its callback is scheduled, and will run in the next turn of the loop
        raise KeyboardInterrupt

    loop.call_soon(interrupted)
    with pytest.raises(KeyboardInterrupt):
        driver.wait(awaited)
    driver.run(asyncio.sleep(0.001))
