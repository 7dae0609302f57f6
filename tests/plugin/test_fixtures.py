"""Users' own models: sync, async, of every scope, with and without pytest-asyncio."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("scope", ["session", "function"])
@pytest.mark.parametrize(
    ("decorator", "options"),
    [
        ("pytest_asyncio.fixture", ()),
        ("pytest.fixture", ("--asyncio-mode=auto",)),
        ("pytest.fixture", ("--asyncio-mode=strict",)),
        ("pytest.fixture", ("-p", "no:asyncio")),
    ],
)
@pytest.mark.parametrize("loop_scope", ["session", "function"])
def test_an_async_model_stays_in_its_loop(
    project: Project, scope: str, decorator: str, options: tuple[str, ...], loop_scope: str
) -> None:
    if scope == "session" and loop_scope == "function" and (decorator != "pytest.fixture" or "auto" in str(options)):
        pytest.skip("pytest-asyncio forbids a loop of narrower scope than the fixture")
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


def test_the_fixtures_are_there_for_ordinary_tests(project: Project) -> None:
    project.pytester.makepyfile(test_m="def test_m(model): assert model.spec == 'scripted:script.json@fc'")
    project.run("test_m.py").assert_outcomes(passed=1)


def test_the_whole_run_switches_to_prompting_when_tools_are_refused(project: Project) -> None:
    for number in range(4):
        project.script[f"simple_python_{number}"] = {
            "error": "tools_refused", "times": 1, "then": '[get_weather(city="Oslo")]',
        }  # fmt: skip
    result = project.run("-m", "simple_python", "--bfcl-concurrency", "2")
    outcomes = {(record["mode"], record["outcome"]) for record in project.records()}
    assert {mode for mode, _ in outcomes} == {"prompt"}, outcomes
    result.stdout.fnmatch_lines(["bfcl: scripted:script.json refuses tools*"])
